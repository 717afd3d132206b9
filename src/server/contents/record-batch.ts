/**
 * Adds a batch of WARC records that a client has read from a file. The records of contents that the archive lacks
 * arrive as the members they are in; of the others only the heads arrive, and the members are made again here with the
 * content that is held. The batch is then added as a file is, so the same file gives the same captures, sent or not.
 *
 * ```
 *   W   bytes of the file: whole members, or a piece of one
 *   M   JSON { digest, size }: bytes of the file that were sent before, as a content
 *   H   the head of a record with its empty line, and the HTTP head of its block
 *   P   JSON { digest, size }: the payload that completes the record of the last H
 *   I   JSON { digest, url, time, id }: what a record among the W is, for clients that may read some collections only
 * ```
 */
import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type AddReport, type Archive, type NotedCapture, recordHash, soundPayload } from '../../archive/index.ts';
import { fromHex, PinakesError, readFrames, toHex } from '../../base/index.ts';
import { urlKey } from '../../url/index.ts';
import { badRequest } from '../http/problem.ts';
import type { Access } from '../tokens/access.ts';
import type { TokenStore } from '../tokens/token-store.ts';
import { chargeTo, ownerOf, readableBy } from './content-access.ts';
import type { StagedContents } from './staged-contents.ts';

export type RecordBatch = {
  readonly collection: string;
  /** The end of the name of the file, by which its kind is found: `.warc.gz`. */
  readonly extension: string;
  readonly frames: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
};

/** Without a report: the contents of these P frames are missing, and nothing was added. */
export type RecordOutcome = { readonly missing: number[] } | { readonly report: AddReport };

type Services = { readonly archive: Archive; readonly staged: StagedContents; readonly tokens: TokenStore };

type Named = { readonly digest: string; readonly size: number };

const TRAILER = Buffer.from('\r\n\r\n');
const DIGEST = /^[0-9a-f]{64}$/;
let spools = 0;

export async function addRecords(services: Services, access: Access, batch: RecordBatch): Promise<RecordOutcome> {
  const { archive, staged, tokens } = services;
  const { collection, extension, signal } = batch;
  const path = join(archive.scratch, `records-${process.pid}-${spools++}${extension}`);
  const spool = new RecordSpool(services, access, path);
  try {
    await spool.receive(batch.frames);
    if (spool.missing.length > 0) return { missing: spool.missing };
    await chargeTo(tokens, access, spool.ownBytes);
    const shares = access.collections ? (digest: Uint8Array) => spool.referred.has(toHex(digest)) : undefined;
    const report = await archive.add([path], { collection, shares, signal });
    if (access.collections) await note(archive, collection, spool.hints);
    for (const { digest } of spool.members) await staged.remove(ownerOf(access), digest);
    return { report };
  } finally {
    await unlink(path).catch(() => {});
  }
}

type Hint = { readonly digest: string; readonly url: string; readonly time: number; readonly id: string };

async function note(archive: Archive, collection: string, hints: readonly Hint[]): Promise<void> {
  const number = await archive.collections.find(collection);
  if (number === undefined) return;
  const noted = hints.map(
    ({ digest, url, time, id }): NotedCapture => ({
      urlKey: urlKey(url),
      time,
      hash: recordHash(id),
      collection: number,
      digest: fromHex(digest)!,
    }),
  );
  await archive.held.note(noted);
}

/** The file that is made from the frames. */
class RecordSpool {
  /** Indexes of the P frames whose contents are missing. */
  readonly missing: number[] = [];
  /** Digests of the contents that P frames refer to. */
  readonly referred = new Set<string>();
  readonly members: Named[] = [];
  readonly hints: Hint[] = [];
  /** Bytes that the client has sent. */
  ownBytes = 0;
  readonly #services: Services;
  readonly #access: Access;
  readonly #path: string;
  #payloads = 0;

  constructor(services: Services, access: Access, path: string) {
    this.#services = services;
    this.#access = access;
    this.#path = path;
  }

  async receive(frames: AsyncIterable<Uint8Array>): Promise<void> {
    const { archive, staged } = this.#services;
    const owner = ownerOf(this.#access);
    const readable = await readableBy(archive, this.#access);
    await using file = await open(this.#path, 'wx', 0o600);
    const append = async (pieces: AsyncIterable<Uint8Array>) => {
      for await (const piece of pieces) await file.appendFile(piece);
    };
    let head: Buffer | undefined;
    try {
      for await (const { kind, bytes } of readFrames(frames)) {
        if (head && kind !== 'P') throw badFrames('a head without its payload');
        if (kind === 'W') {
          this.ownBytes += bytes.length;
          await file.appendFile(bytes);
        } else if (kind === 'M') {
          const { digest, size } = namedIn(bytes);
          if (staged.size(owner, digest) !== size) throw badFrames('a piece of the file was not sent');
          this.ownBytes += size;
          this.members.push({ digest, size });
          await append(staged.read(owner, digest));
        } else if (kind === 'H') head = Buffer.from(bytes);
        else if (kind === 'P') {
          if (!head) throw badFrames('a payload without its head');
          this.ownBytes += head.length;
          const index = this.#payloads++;
          const { digest, size } = namedIn(bytes);
          const [block] = await archive.held.find([{ digest: fromHex(digest)!, overflow: 0 }], readable);
          if (block?.size !== size || this.missing.length > 0) {
            if (block?.size !== size) this.missing.push(index);
          } else if (!(await this.#appendRecord(append, head, digest))) this.missing.push(index);
          this.referred.add(digest);
          head = undefined;
        } else if (kind === 'I') this.hints.push(hintIn(bytes));
        else throw badFrames(`a frame of the unknown kind ${kind}`);
      }
    } catch (error) {
      throw error instanceof RangeError ? badFrames(error.message) : error;
    }
    if (head) throw badFrames('a head without its payload');
  }

  /** Returns false when the content cannot be read. Then the spool is not used. */
  async #appendRecord(
    append: (pieces: AsyncIterable<Uint8Array>) => Promise<void>,
    head: Buffer,
    digest: string,
  ): Promise<boolean> {
    const { archive } = this.#services;
    try {
      const content = await archive.content(`sha256:${digest}`, { checksDigest: true });
      const payload = soundPayload({ ...content, isSound: false, damage: () => content.damage() });
      const record = async function* () {
        yield head;
        yield* copied(payload);
        yield TRAILER;
      };
      // Nearly every such record becomes a revisit, so it is not worth compressing well.
      if (this.#path.endsWith('.gz')) await pipeline(record(), createGzip({ level: 1 }), append);
      else await append(record());
      return true;
    } catch (error) {
      if (error instanceof PinakesError && (error.code === 'RECORD_DAMAGED' || error.code === 'CONTENT_MISSING'))
        return false;
      throw error;
    }
  }
}

/** Copies pieces, which the source may reuse. */
async function* copied(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield Buffer.from(piece);
}

function namedIn(bytes: Buffer): Named {
  const { digest, size } = jsonIn(bytes);
  if (typeof digest !== 'string' || !DIGEST.test(digest) || !Number.isSafeInteger(size))
    throw badFrames('a digest is wrong');
  return { digest, size: size as number };
}

function hintIn(bytes: Buffer): Hint {
  const { digest, url, time, id } = jsonIn(bytes);
  const isText = typeof digest === 'string' && typeof url === 'string' && typeof id === 'string';
  if (!isText || !DIGEST.test(digest) || typeof time !== 'number') throw badFrames('a hint is wrong');
  return { digest, url, time, id };
}

function jsonIn(bytes: Buffer): Record<string, unknown> {
  try {
    return (JSON.parse(bytes.toString()) ?? {}) as Record<string, unknown>;
  } catch {
    throw badFrames('a frame is not JSON');
  }
}

function badFrames(detail: string) {
  return badRequest(`the frames cannot be read: ${detail}`, 'docs/contents.md describes the frames.', 'body');
}
