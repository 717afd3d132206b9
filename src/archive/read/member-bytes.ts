/**
 * The decoded bytes of a member, unchanged: heads, blocks and everything after them. Short members are decoded at once,
 * long ones in pieces (I9).
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createZstdDecompress } from 'node:zlib';
import { PinakesError, ZSTD_WINDOW_LOG_MAX } from '../../base/index.ts';
import type { SegmentBytes, SegmentStore } from '../../ledger/index.ts';
import { codingOf, RecordDecoder } from '../../warc/index.ts';

/** Members up to this size are read and decoded at once. */
const WHOLE_BYTES_MAX = 1024 * 1024;

export type Member = { readonly offset: number; readonly length: number };

/** Reads members of one segment. */
export class MemberBytes implements Disposable {
  readonly #store: Pick<SegmentStore, 'read' | 'stream'>;
  readonly #segment: SegmentBytes;
  readonly #dictionary: Uint8Array | undefined;
  readonly #decoder = new RecordDecoder();

  constructor(store: Pick<SegmentStore, 'read' | 'stream'>, segment: SegmentBytes, dictionary: Uint8Array | undefined) {
    this.#store = store;
    this.#segment = segment;
    this.#dictionary = dictionary;
  }

  [Symbol.dispose](): void {
    this.#decoder.close();
  }

  /** All bytes of a member. Undefined when the member is larger than WHOLE_BYTES_MAX. */
  async whole(member: Member): Promise<Uint8Array | undefined> {
    if (member.length > WHOLE_BYTES_MAX) return undefined;
    const [packed] = await this.#store.read(this.#segment, [member]);
    return this.#decoder.decodeMember(packed!, this.#dictionary);
  }

  async *pieces(member: Member): AsyncGenerator<Uint8Array> {
    const end = member.offset + member.length;
    const [start] = await this.#store.read(this.#segment, [{ offset: member.offset, length: 4 }]);
    const packed = copies(this.#store.stream(this.#segment, member.offset, end));
    const engine = this.#engine(codingOf(start!));
    if (!engine) {
      yield* packed;
      return;
    }
    const decoding = pipeline(Readable.from(packed), engine).catch(() => {});
    try {
      yield* engine as AsyncIterable<Uint8Array>;
    } catch (cause) {
      throw damaged(cause, `${this.#segment.name}:${member.offset}`);
    } finally {
      engine.destroy();
      await decoding;
    }
  }

  #engine(coding: ReturnType<typeof codingOf>) {
    if (coding === 'none') return undefined;
    if (coding === 'gzip') return createGunzip();
    const params = { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX };
    return createZstdDecompress({ params, ...(this.#dictionary && { dictionary: Buffer.from(this.#dictionary) }) });
  }
}

/** Copies the pieces, since a pipeline reads ahead, and a piece is valid only until the next one is read. */
async function* copies(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield Buffer.from(piece);
}

function damaged(cause: unknown, where: string): unknown {
  if (cause instanceof PinakesError) return cause;
  return new PinakesError('OBJECT_CHANGED', { where, detail: 'a member does not decode to its end', cause });
}
