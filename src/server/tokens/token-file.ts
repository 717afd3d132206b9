/**
 * Tokens in files of the archive's directory, which only its user can read.
 *
 * ```
 *   tokens.json        { "version": 1,
 *                        "tokens": [{ name, hash, rights, collections?, created, expires?, quotaBytes? }] }
 *   token-usage.json   { "version": 1, "bytes": { <hash>: bytes stored } }; written by the server
 * ```
 * The command line changes the first file, also while a server runs. The server reads it again when it has changed. A
 * file that cannot be read refuses every named token. The second file is at most a second behind; a killed server
 * forgets what was counted in that second.
 */
import { readFileSync, statSync } from 'node:fs';
import { type FileHandle, open, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Exclusive, fileError, PinakesError, syncDirectory } from '../../base/index.ts';
import { isRight } from './right.ts';
import type { NamedToken, TokenStore } from './token-store.ts';

const TOKENS_NAME = 'tokens.json';
const USAGE_NAME = 'token-usage.json';
const PRIVATE_MODE = 0o600;
const WRITE_DELAY_MS = 1000;
const LOCK_WAIT_MS = 50;
const LOCK_WAITS_MAX = 100;

export class TokenFile implements TokenStore {
  readonly #directory: string;
  readonly #changes = new Exclusive();
  #seen = '';
  #tokens: readonly NamedToken[] = [];
  #byHash = new Map<string, NamedToken>();
  #used: Map<string, number> | undefined;
  #writing: NodeJS.Timeout | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async find(hash: string): Promise<NamedToken | undefined> {
    this.#refresh();
    return this.#byHash.get(hash);
  }

  async list(): Promise<readonly NamedToken[]> {
    this.#refresh();
    return this.#tokens;
  }

  add(token: NamedToken): Promise<void> {
    return this.#change((tokens) => {
      if (tokens.some(({ name }) => name === token.name)) throw new PinakesError('TOKEN_EXISTS', { where: token.name });
      return [...tokens, token];
    });
  }

  revoke(name: string): Promise<void> {
    return this.#change((tokens) => {
      const left = tokens.filter((token) => token.name !== name);
      if (left.length === tokens.length) throw new PinakesError('TOKEN_UNKNOWN', { where: name });
      return left;
    });
  }

  async usedBytes({ hash }: NamedToken): Promise<number> {
    return this.#usage().get(hash) ?? 0;
  }

  async charge({ hash, quotaBytes = Number.POSITIVE_INFINITY }: NamedToken, bytes: number): Promise<boolean> {
    const usage = this.#usage();
    const used = (usage.get(hash) ?? 0) + bytes;
    if (bytes > 0 && used > quotaBytes) return false;
    usage.set(hash, Math.max(0, used));
    this.#writing ??= setTimeout(() => {
      this.#writing = undefined;
      this.#writeUsage().catch(() => {});
    }, WRITE_DELAY_MS).unref();
    return true;
  }

  /** Writes what was counted last. */
  async close(): Promise<void> {
    if (!this.#writing) return;
    clearTimeout(this.#writing);
    this.#writing = undefined;
    await this.#writeUsage().catch(() => {});
  }

  /** Reads the tokens again if the file has changed. A look at the file costs less than a hundredth of a request. */
  #refresh(): void {
    const path = join(this.#directory, TOKENS_NAME);
    const info = statSync(path, { throwIfNoEntry: false, bigint: true });
    const seen = info ? `${info.ino} ${info.mtimeNs} ${info.size}` : '';
    if (seen === this.#seen) return;
    this.#tokens = info ? tokensIn(readFileSync(path, 'utf8'), path) : [];
    this.#byHash = new Map(this.#tokens.map((token) => [token.hash, token]));
    this.#seen = seen;
  }

  #change(change: (tokens: readonly NamedToken[]) => readonly NamedToken[]): Promise<void> {
    return this.#changes.run(async () => {
      const path = join(this.#directory, TOKENS_NAME);
      const draft = `${path}.tmp`;
      const file = await lockedDraft(draft);
      try {
        // Only the holder of the draft replaces the file.
        this.#refresh();
        const tokens = change(this.#tokens);
        await file.writeFile(`${JSON.stringify({ version: 1, tokens }, undefined, 2)}\n`);
        await file.sync();
      } catch (error) {
        await file.close();
        await unlink(draft);
        throw error;
      }
      await file.close();
      await rename(draft, path);
      await syncDirectory(this.#directory);
    });
  }

  #usage(): Map<string, number> {
    if (this.#used) return this.#used;
    const path = join(this.#directory, USAGE_NAME);
    const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined;
    this.#used = isThere ? usageIn(readFileSync(path, 'utf8'), path) : new Map();
    return this.#used;
  }

  #writeUsage(): Promise<void> {
    return this.#changes.run(async () => {
      const path = join(this.#directory, USAGE_NAME);
      const file = await open(`${path}.tmp`, 'w', PRIVATE_MODE);
      const bytes = Object.fromEntries(this.#usage());
      await file.writeFile(`${JSON.stringify({ version: 1, bytes })}\n`).finally(() => file.close());
      await rename(`${path}.tmp`, path);
    });
  }
}

/** Creates the draft, which one process at a time can do. A draft that stays for seconds is of a killed process. */
async function lockedDraft(draft: string): Promise<FileHandle> {
  const inode = () =>
    stat(draft).then(
      ({ ino }) => ino,
      () => undefined,
    );
  let held = await inode();
  for (let waits = 0; ; waits++) {
    try {
      return await open(draft, 'wx', PRIVATE_MODE);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw fileError(cause, draft, 'writing');
    }
    await wait(LOCK_WAIT_MS);
    const now = await inode();
    if (now !== held) waits = 0;
    else if (waits >= LOCK_WAITS_MAX) await unlink(draft).catch(() => {});
    held = now;
  }
}

function tokensIn(text: string, path: string): NamedToken[] {
  const { tokens } = parsed(text, path) as { tokens?: unknown };
  if (!Array.isArray(tokens) || !tokens.every(isToken)) throw damaged(path);
  return tokens;
}

function isToken(value: unknown): value is NamedToken {
  const { name, hash, rights, collections = [] } = (value ?? {}) as Partial<NamedToken>;
  const isText = (one: unknown) => typeof one === 'string';
  if (!isText(name) || !isText(hash) || !Array.isArray(rights) || !Array.isArray(collections)) return false;
  return rights.every(isRight) && collections.every(isText);
}

function usageIn(text: string, path: string): Map<string, number> {
  const { bytes } = parsed(text, path) as { bytes?: Record<string, number> };
  return new Map(Object.entries(bytes ?? {}).filter(([, count]) => Number.isSafeInteger(count)));
}

function parsed(text: string, path: string): object {
  try {
    return (JSON.parse(text) ?? {}) as object;
  } catch (cause) {
    throw damaged(path, cause);
  }
}

function damaged(path: string, cause?: unknown): PinakesError {
  return new PinakesError('TOKENS_DAMAGED', { where: path, cause });
}
