/**
 * Contents that clients have sent and that no capture refers to yet. Receiving one never looks at the archive, so its
 * answer tells nothing about what the archive holds. A staged content is not stored: only a capture that refers to it
 * is acknowledged. What is lost here by a power cut is asked for again.
 *
 * ```
 *   staged/<owner>-<hex digest>        a whole content, checked
 *   staged/<owner>-<hex digest>.part   the beginning of one, as it was sent, still compressed
 * ```
 * The owner is the beginning of the hash of the token, so that clients with other tokens cannot refer to the content.
 * What was not touched for a day is removed.
 */
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, stat, statfs, unlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import {
  type Clock,
  type EpochMs,
  PinakesError,
  RunningDigest,
  toHex,
  whenAborted,
  writingFile,
} from '../../base/index.ts';
import { badRequest, HttpProblem } from '../http/problem.ts';
import { type BodyCoding, decodedBody } from './content-body.ts';

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
const PART = '.part';
const LIFE_MS = 24 * 3600 * 1000;
/** Space on the disk that is left free for the archive. */
const RESERVE_BYTES = 64 * 1024 * 1024;
/** A request that has sent nothing for this long may have lost its client. */
const STALLED_MS = 2000;
/** The most contents that one client may have staged. */
const STAGED_MAX = 20_000;

export type SentContent = {
  /** The digest of the decoded content, in hexadecimal. */
  readonly digest: string;
  /** The size of the decoded content. */
  readonly size: number;
  readonly coding: BodyCoding;
  /** The length of the content as it is sent, and where in it this body begins. */
  readonly bytes: number;
  readonly offset: number;
};

type StagedOptions = { readonly directory: string; readonly clock: Clock; readonly bytesMax: number | undefined };

/** A request that is sending a content. */
type Receiving = { readonly abort: AbortController; readonly ended: Promise<void>; lastAt: EpochMs };

export class StagedContents {
  readonly #options: StagedOptions;
  /** Sizes of whole contents by name. */
  readonly #sizes = new Map<string, number>();
  readonly #receiving = new Map<string, Set<Receiving>>();
  #drafts = 0;
  #sweptAt = 0;

  private constructor(options: StagedOptions) {
    this.#options = options;
  }

  static async open(options: StagedOptions): Promise<StagedContents> {
    const staged = new StagedContents(options);
    await writingFile(options.directory, () => mkdir(options.directory, { recursive: true, mode: DIRECTORY_MODE }));
    await staged.#sweep();
    for (const name of await readdir(options.directory)) {
      const path = staged.#path(name);
      if (/^[0-9a-z]+-[0-9a-f]{64}$/.test(name)) staged.#sizes.set(name, (await stat(path)).size);
      else if (!name.endsWith(PART)) await unlink(path).catch(() => {});
    }
    return staged;
  }

  /**
   * How many bytes of a content have arrived, as they were sent. Undefined: all of it. A request that hangs, because
   * its client is gone, is ended first.
   */
  async received(owner: string, digest: string): Promise<number | undefined> {
    const name = nameOf(owner, digest);
    const stalledAt = this.#options.clock() - STALLED_MS;
    const stalled = [...(this.#receiving.get(name) ?? [])].filter(({ lastAt }) => lastAt <= stalledAt);
    for (const { abort } of stalled) abort.abort();
    await Promise.all(stalled.map(({ ended }) => ended));
    return this.#sizes.has(name) ? undefined : sizeAt(this.#path(name + PART));
  }

  /**
   * Receives a content, or the next part of one. Returns how many bytes have arrived; undefined: all. Several clients
   * with one token may send the same content at the same time, so each request has a file of its own.
   */
  async receive(owner: string, sent: SentContent, body: Readable, signal: AbortSignal): Promise<number | undefined> {
    const { size, bytes, digest } = sent;
    const { bytesMax = Number.POSITIVE_INFINITY, clock } = this.#options;
    if (Math.max(size, bytes) > bytesMax) throw tooLarge(bytesMax);
    const name = nameOf(owner, digest);
    await this.#sweep();
    await this.#checkRoom(owner, size + bytes - sent.offset);
    const draft = this.#path(`draft-${this.#drafts++}`);
    await this.#takePart(name, draft, sent.offset);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const receiving: Receiving = { abort: new AbortController(), ended, lastAt: clock() };
    const others = this.#receiving.get(name) ?? new Set();
    this.#receiving.set(name, others.add(receiving));
    try {
      const at = await this.#append(draft, sent, body, AbortSignal.any([signal, receiving.abort.signal]), receiving);
      if (at < bytes) return await this.#keepPart(name, draft);
      await this.#complete(name, draft, sent);
      return undefined;
    } catch (error) {
      if (!(error instanceof HttpProblem)) await this.#keepPart(name, draft);
      if (receiving.abort.signal.aborted) throw wrongOffset(await sizeAt(this.#path(name + PART)));
      throw error;
    } finally {
      await unlink(draft).catch(() => {});
      others.delete(receiving);
      if (others.size === 0) this.#receiving.delete(name);
      resolve();
    }
  }

  /** The size of a whole content. */
  size(owner: string, digest: string): number | undefined {
    return this.#sizes.get(nameOf(owner, digest));
  }

  read(owner: string, digest: string): Readable {
    return createReadStream(this.#path(nameOf(owner, digest)), { highWaterMark: 256 * 1024 });
  }

  async remove(owner: string, digest: string): Promise<void> {
    const name = nameOf(owner, digest);
    this.#sizes.delete(name);
    await unlink(this.#path(name)).catch(() => {});
  }

  /** Takes what arrived before, so that no other request appends to it. */
  async #takePart(name: string, draft: string, offset: number): Promise<void> {
    if (offset === 0) return;
    const part = this.#path(name + PART);
    await rename(part, draft).catch(() => {});
    const size = await sizeAt(draft);
    if (size === offset) return;
    await rename(draft, part).catch(() => {});
    throw wrongOffset(size);
  }

  /** Keeps the longer of what arrived now and what arrived before. Returns its length. */
  async #keepPart(name: string, draft: string): Promise<number> {
    const part = this.#path(name + PART);
    const [now, before] = [await sizeAt(draft), await sizeAt(part)];
    if (now > before) await rename(draft, part).catch(() => {});
    return Math.max(now, before);
  }

  /** Appends the body. After a cut, what arrived of it stays. */
  async #append(
    draft: string,
    { bytes, offset }: SentContent,
    body: Readable,
    signal: AbortSignal,
    receiving: Receiving,
  ): Promise<number> {
    await using file = await writingFile(draft, () => open(draft, offset === 0 ? 'w' : 'r+', FILE_MODE));
    let at = offset;
    using _ = whenAborted(signal, () => void body.destroy());
    for await (const piece of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
      if (at + piece.length > bytes)
        throw badRequest('the body is longer than `bytes`', 'Send the length as it is sent.');
      await writeAll(file, piece, at);
      at += piece.length;
      receiving.lastAt = this.#options.clock();
    }
    return at;
  }

  /** Decodes what arrived and compares its digest. Wrong bytes are removed, so that the client begins again. */
  async #complete(name: string, sent: string, { digest, size, coding }: SentContent): Promise<void> {
    const draft = this.#path(`draft-${this.#drafts++}`);
    try {
      const hashed = new RunningDigest('sha256');
      let at = 0;
      {
        await using file = await writingFile(draft, () => open(draft, 'w', FILE_MODE));
        for await (const piece of decodedBody(createReadStream(sent), coding, size)) {
          hashed.update(piece);
          await writeAll(file, piece, at);
          at += piece.length;
        }
      }
      if (at !== size || toHex(hashed.finish().bytes) !== digest) throw wrongDigest(digest);
      const now = this.#options.clock() / 1000;
      await utimes(draft, now, now);
      await rename(draft, this.#path(name));
      this.#sizes.set(name, size);
      await unlink(this.#path(name + PART)).catch(() => {});
    } finally {
      await unlink(draft).catch(() => {});
    }
  }

  async #checkRoom(owner: string, bytes: number): Promise<void> {
    const { directory } = this.#options;
    const { bavail, bsize } = await statfs(directory);
    if (bytes + RESERVE_BYTES > bavail * bsize)
      throw new PinakesError('DISK_FULL', { where: 'content', detail: `the content needs ${bytes} bytes` });
    let count = 0;
    for (const name of this.#sizes.keys()) if (name.startsWith(`${owner}-`)) count++;
    if (count >= STAGED_MAX)
      throw new HttpProblem({
        status: 429,
        code: 'CONTENTS_WAITING',
        message: 'too many contents wait for a capture that refers to them',
        advice: 'Send the captures of the contents that were sent, then go on.',
        fields: { 'retry-after': '1' },
      });
  }

  /** Removes what was not touched for a day. */
  async #sweep(): Promise<void> {
    const now = this.#options.clock();
    if (now - this.#sweptAt < LIFE_MS / 24) return;
    this.#sweptAt = now;
    for (const name of await readdir(this.#options.directory)) {
      const info = await stat(this.#path(name)).catch(() => undefined);
      if (!info || now - info.mtimeMs < LIFE_MS || name.startsWith('draft')) continue;
      this.#sizes.delete(name);
      await unlink(this.#path(name)).catch(() => {});
    }
  }

  #path(name: string): string {
    return join(this.#options.directory, name);
  }
}

function nameOf(owner: string, digest: string): string {
  return `${owner}-${digest}`;
}

function sizeAt(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

async function writeAll(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
}

function wrongOffset(received: number): HttpProblem {
  return new HttpProblem({
    status: 409,
    code: 'UPLOAD_OFFSET',
    message: `${received} bytes of the content have arrived`,
    advice: 'Continue there, or send the content from its beginning, with the offset 0.',
  });
}

function wrongDigest(digest: string): HttpProblem {
  return new HttpProblem({
    status: 422,
    code: 'DIGEST_WRONG',
    message: 'the content has another digest or size',
    advice: 'Send the content again from its beginning.',
    where: digest,
  });
}

function tooLarge(bytesMax: number): HttpProblem {
  return new HttpProblem({
    status: 413,
    code: 'BODY_TOO_LARGE',
    message: `a content may have at most ${bytesMax} bytes`,
    advice: 'Ask the operator of the server to raise --upload-max.',
    fields: { connection: 'close' },
  });
}
