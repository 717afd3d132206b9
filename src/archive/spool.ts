/**
 * A block on its way in: hashed while it arrives, kept in memory while it is small, in a file when it is not (I9). Its payload is identified
 * before a byte of it is written to a segment.
 */
import { createReadStream } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { fileError } from '../base/index.ts';
import { type BlockFacts, BlockScanner, RecordHead } from '../warc/index.ts';

const MEMORY_BYTES_MAX = 4 * 1024 * 1024;

export type BlockSource = Uint8Array | AsyncIterable<Uint8Array>;

export class Spool {
  readonly length: number;
  readonly facts: BlockFacts;
  readonly #head: RecordHead;
  readonly #bytes: Uint8Array | undefined;
  readonly #path: string;

  private constructor(head: RecordHead, facts: BlockFacts, bytes: Uint8Array | undefined, path: string) {
    this.length = facts.blockBytes;
    this.facts = facts;
    this.#head = head;
    this.#bytes = bytes;
    this.#path = path;
  }

  /** Takes in a block: an HTTP head, if there is one, and a body. `path` is where it may be put when it is large. */
  static async take(
    kind: { type: string; url: string; contentType: string },
    start: Uint8Array,
    body: BlockSource,
    path: string,
  ): Promise<Spool> {
    const fields = [
      { name: 'WARC-Type', value: kind.type },
      { name: 'WARC-Target-URI', value: kind.url },
      { name: 'Content-Type', value: kind.contentType },
    ];
    const head = new RecordHead('warc', '1.1', fields, new Uint8Array(0));
    const scanner = new BlockScanner(head, { payload: ['sha256'], block: ['sha256'] });
    let parts: Uint8Array[] = [];
    let held = 0;
    let file: FileHandle | undefined;
    try {
      for await (const piece of pieces(start, body)) {
        if (piece.length === 0) continue;
        scanner.push(piece);
        parts.push(Buffer.from(piece));
        held += piece.length;
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
    return new Spool(head, scanner.end(), file ? undefined : Buffer.concat(parts), path);
  }

  /** The whole block, when it is small enough to be in memory. */
  get bytes(): Uint8Array | undefined {
    return this.#bytes;
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    if (this.#bytes) yield this.#bytes;
    else yield* createReadStream(this.#path, { highWaterMark: 256 * 1024 });
  }

  async *payload(): AsyncGenerator<Uint8Array> {
    let held: Uint8Array[] = [];
    const scanner = new BlockScanner(this.#head, { onPayload: (bytes) => held.push(Buffer.from(bytes)) });
    for await (const piece of this.stream()) {
      scanner.push(piece);
      yield* held;
      held = [];
    }
    scanner.end();
    yield* held;
  }

  async discard(): Promise<void> {
    if (!this.#bytes) await unlink(this.#path).catch(() => {});
  }
}

async function* pieces(start: Uint8Array, body: BlockSource): AsyncGenerator<Uint8Array> {
  yield start;
  if (body instanceof Uint8Array) yield body;
  else yield* body;
}

/** Whether two streams are the same bytes. Reads both only as far as they are. */
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
