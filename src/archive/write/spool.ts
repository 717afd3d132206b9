/**
 * The block of a record that is being stored. It is hashed while it arrives. A small block is kept in memory, a larger
 * one in a file (I9). The payload is identified before the first byte is written to a segment.
 */
import { createReadStream } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { type Digest, digestOf, fileError } from '../../base/index.ts';
import type { BlockKey } from '../../catalog/index.ts';
import { type BlockFacts, BlockScanner, type HttpHead, RecordHead, type StreamedBlock } from '../../warc/index.ts';
import { payloadOfBlock } from '../read/block-payload.ts';

const MEMORY_BYTES_MAX = 4 * 1024 * 1024;
/** Blocks up to this size are hashed when they are complete, which takes half as long as piece by piece. */
const WHOLE_BYTES_MAX = 256 * 1024;

export type BlockSource = Uint8Array | AsyncIterable<Uint8Array>;

/** A payload that the archive has, in place of its bytes. */
export type HeldContent = { readonly held: BlockKey; readonly size: number };

/** The facts about a block that are known before it arrives. */
export type BlockKind = {
  readonly type: string;
  readonly url: string;
  readonly contentType: string;
  /** The HTTP head at the beginning of the block, if the caller has parsed it. */
  readonly http?: HttpHead | undefined;
};

export class Spool {
  readonly length: number;
  readonly facts: BlockFacts;
  /** Whether the payload is one that the archive has. Then the block is only the HTTP head. */
  readonly isHeld: boolean;
  readonly #head: RecordHead;
  /** The parts in memory. Undefined when the block is in the file. */
  readonly #parts: readonly Uint8Array[] | undefined;
  readonly #path: string;

  private constructor(
    head: RecordHead,
    facts: BlockFacts,
    parts: readonly Uint8Array[] | undefined,
    path: string,
    isHeld = false,
  ) {
    this.isHeld = isHeld;
    this.length = facts.blockBytes;
    this.facts = facts;
    this.#head = head;
    this.#parts = parts;
    this.#path = path;
  }

  /** Reads a block: an HTTP head, if there is one, and a body. A large block is written to `path`. */
  static async take(kind: BlockKind, start: Uint8Array, body: BlockSource | HeldContent, path: string): Promise<Spool> {
    if ('held' in body) return Spool.#ofHeld(kind, Buffer.from(start), body, path);
    if (body instanceof Uint8Array && start.length + body.length <= WHOLE_BYTES_MAX)
      return Spool.#ofWhole(kind, joined(start, body), path);
    let head = blockHead(kind);
    let scanner: BlockScanner | undefined;
    let parts: Uint8Array[] = start.length === 0 ? [] : [Buffer.from(start)];
    let held = start.length;
    let file: FileHandle | undefined;
    try {
      for await (const piece of body instanceof Uint8Array ? [body] : body) {
        if (piece.length === 0) continue;
        parts.push(Buffer.from(piece));
        held += piece.length;
        if (scanner) scanner.push(piece);
        else if (held > WHOLE_BYTES_MAX) {
          scanner = new BlockScanner(head, WANTS);
          for (const part of parts) scanner.push(part);
        }
        if (held <= MEMORY_BYTES_MAX) continue;
        file ??= await open(path, 'w');
        await file.writeFile(Buffer.concat(parts));
        parts = [];
        held = MEMORY_BYTES_MAX;
      }
      if (file && parts.length > 0) await file.writeFile(Buffer.concat(parts));
    } catch (cause) {
      await unlink(path).catch(() => {});
      throw fileError(cause, path, 'writing');
    } finally {
      await file?.close();
    }
    if (!scanner) {
      parts = [Buffer.concat(parts)];
      head = blockHead(kind, held);
      scanner = new BlockScanner(head, WANTS);
      if (held > 0) scanner.push(parts[0]!);
    }
    return new Spool(head, scanner.end(), file ? undefined : parts, path);
  }

  static #ofWhole(kind: BlockKind, block: Buffer, path: string): Spool {
    const head = blockHead(kind, block.length);
    const scanner = new BlockScanner(head, { payload: WANTS.payload, http: kind.http });
    if (block.length > 0) scanner.push(block);
    return new Spool(head, scanner.end(), [block], path);
  }

  static #ofHeld(kind: BlockKind, start: Buffer, { held, size }: HeldContent, path: string): Spool {
    const head = blockHead(kind, start.length);
    const scanner = new BlockScanner(head, { payload: WANTS.payload, http: kind.http });
    if (start.length > 0) scanner.push(start);
    const payloadDigests = [{ algorithm: 'sha256', bytes: held.digest } as const];
    return new Spool(head, { ...scanner.end(), payloadDigests, payloadBytes: size }, [start], path, true);
  }

  /** The digest of every byte of the block. */
  get blockDigest(): Digest {
    return this.facts.blockDigests[0] ?? digestOf('sha256', this.bytes!);
  }

  /** The whole block, when it is small enough to be in memory in one piece. */
  get bytes(): Uint8Array | undefined {
    return this.#parts?.length === 1 ? this.#parts[0] : undefined;
  }

  /** Bytes that are in memory. */
  get heldBytes(): number {
    return this.#parts ? this.length : 0;
  }

  get block(): StreamedBlock {
    return { length: this.length, pieces: this.stream() };
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    if (this.#parts) yield* this.#parts;
    else yield* createReadStream(this.#path, { highWaterMark: 256 * 1024 });
  }

  payload(): AsyncGenerator<Uint8Array> {
    return payloadOfBlock(this.#head, this.stream());
  }

  async discard(): Promise<void> {
    if (!this.#parts) await unlink(this.#path).catch(() => {});
  }
}

const WANTS = { payload: ['sha256'], block: ['sha256'] } as const;

/** The part of the record's head that says how to read the block, with the length of the block if it is known. */
function blockHead(kind: BlockKind, length?: number): RecordHead {
  const fields = [
    { name: 'WARC-Type', value: kind.type },
    { name: 'WARC-Target-URI', value: kind.url },
    { name: 'Content-Type', value: kind.contentType },
    ...(length === undefined ? [] : [{ name: 'Content-Length', value: String(length) }]),
  ];
  return new RecordHead('warc', '1.1', fields, new Uint8Array(0));
}

/** Head and body in one piece: without a copy when they are adjacent in memory. */
function joined(start: Uint8Array, body: Uint8Array): Buffer {
  const areJoined =
    start.length > 0 && start.buffer === body.buffer && start.byteOffset + start.length === body.byteOffset;
  if (!areJoined) return Buffer.concat([start, body]);
  return Buffer.from(start.buffer, start.byteOffset, start.length + body.length);
}

/** Whether two streams have the same bytes. Stops reading at the first difference. */
export async function sameBytes(a: AsyncIterable<Uint8Array>, b: AsyncIterable<Uint8Array>): Promise<boolean> {
  const [first, second] = [a[Symbol.asyncIterator](), b[Symbol.asyncIterator]()];
  let [left, right]: Uint8Array[] = [new Uint8Array(0), new Uint8Array(0)];
  try {
    for (;;) {
      while (left!.length === 0) {
        const next = await first.next();
        if (next.done) break;
        left = next.value;
      }
      while (right!.length === 0) {
        const next = await second.next();
        if (next.done) break;
        right = next.value;
      }
      const common = Math.min(left!.length, right!.length);
      if (common === 0) return left!.length === right!.length;
      if (Buffer.compare(left!.subarray(0, common), right!.subarray(0, common)) !== 0) return false;
      left = left!.subarray(common);
      right = right!.subarray(common);
    }
  } finally {
    await first.return?.();
    await second.return?.();
  }
}
