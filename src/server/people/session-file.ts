/**
 * Sessions in a file of the archive's directory, which only its user can read. One server at a time has the archive
 * open, so the file is read once. Sign-ins and sign-outs are in the file when they are acknowledged; the times of the
 * last use are at most a minute behind.
 *
 *     sessions.json     { "version": 1, "sessions": [{ hash, kind, parent, person?, sealed?, created, used, ends }] }
 */
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type EpochMs, Exclusive, fileError, syncDirectory } from '../../base/index.ts';
import { newSecretBytes } from './secret.ts';
import { parentOf, type Session, type SessionStore } from './session-store.ts';

const NAME = 'sessions.json';
const PRIVATE_MODE = 0o600;
const TOUCH_DELAY_MS = 60_000;
const KEY_BYTES = 32;

export class SessionFile implements SessionStore {
  readonly #directory: string;
  readonly #sessions: Map<string, Session>;
  readonly #changes = new Exclusive();
  /** A sign-in that a restart interrupts begins again, so the key need not be kept. */
  readonly #key = newSecretBytes(KEY_BYTES);
  #writing: NodeJS.Timeout | undefined;

  private constructor(directory: string, sessions: readonly Session[]) {
    this.#directory = directory;
    this.#sessions = new Map(sessions.map((session) => [session.hash, session]));
  }

  /** A file that cannot be read signs everybody out, and is replaced at the next sign-in. */
  static async open(directory: string): Promise<SessionFile> {
    const text = await readFile(join(directory, NAME), 'utf8').catch(() => '');
    return new SessionFile(directory, sessionsIn(text));
  }

  async add(session: Session, { endedBefore, usedBefore }: { endedBefore: EpochMs; usedBefore: EpochMs }) {
    for (const { hash, ends, used } of this.#sessions.values())
      if (ends < endedBefore || used < usedBefore) this.#sessions.delete(hash);
    this.#sessions.set(session.hash, session);
    await this.#write();
  }

  async find(hash: string): Promise<Session | undefined> {
    return this.#sessions.get(hash);
  }

  async touch(hash: string, used: EpochMs): Promise<void> {
    const session = this.#sessions.get(hash);
    if (!session) return;
    this.#sessions.set(hash, { ...session, used });
    this.#writing ??= setTimeout(() => {
      this.#writing = undefined;
      this.#write().catch(() => {});
    }, TOUCH_DELAY_MS).unref();
  }

  async take(hash: string): Promise<Session | undefined> {
    const session = this.#sessions.get(hash);
    if (!session) return undefined;
    this.#sessions.delete(hash);
    await this.#write();
    return session;
  }

  async remove(hash: string): Promise<void> {
    this.#sessions.delete(hash);
    for (const one of this.#sessions.values()) if (one.parent === parentOf(hash)) this.#sessions.delete(one.hash);
    await this.#write();
  }

  async key(): Promise<Uint8Array> {
    return this.#key;
  }

  async close(): Promise<void> {
    if (!this.#writing) return;
    clearTimeout(this.#writing);
    this.#writing = undefined;
    await this.#write().catch(() => {});
  }

  #write(): Promise<void> {
    return this.#changes.run(async () => {
      const path = join(this.#directory, NAME);
      const text = JSON.stringify({ version: 1, sessions: [...this.#sessions.values()] });
      try {
        await using file = await open(`${path}.tmp`, 'w', PRIVATE_MODE);
        await file.chmod(PRIVATE_MODE);
        await file.writeFile(`${text}\n`);
        await file.sync();
        await rename(`${path}.tmp`, path);
        await syncDirectory(this.#directory);
      } catch (cause) {
        throw fileError(cause, path, 'writing');
      }
    });
  }
}

function sessionsIn(text: string): Session[] {
  try {
    const { version, sessions } = JSON.parse(text) as { version: unknown; sessions: Session[] };
    return version === 1 && Array.isArray(sessions) ? sessions : [];
  } catch {
    return [];
  }
}
