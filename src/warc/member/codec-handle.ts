/**
 * A decompressor or compressor that is used again and again, in buffers the caller owns.
 *
 * The one-call functions of node:zlib make a new engine and new output buffers for every member; on web pages that
 * costs as much as the inflating itself. This class keeps one engine, resets it between members, and calls it
 * synchronously, which doubles the speed of the reader and lets members of any size pass through fixed buffers (I9).
 *
 * It leans on the engine's handle (`_handle.writeSync`, `_writeState`), the same part that npm's own tar reader leans
 * on. The shape is checked once at start so that a Node without it is refused in words; tests run it against the public
 * functions.
 */
import {
  type BrotliOptions,
  constants,
  createBrotliDecompress,
  createDeflateRaw,
  createInflate,
  createInflateRaw,
  createZstdCompress,
  createZstdDecompress,
  type ZlibOptions,
  type ZstdOptions,
} from 'node:zlib';
import { assert } from '../../base/index.ts';

type NativeHandle = {
  writeSync(
    flush: number,
    input: Uint8Array,
    inputStart: number,
    inputLength: number,
    output: Uint8Array,
    outputStart: number,
    outputLength: number,
  ): void;
  reset(): void;
  close(): void;
  onerror: (message: string, errno: number, code: string) => void;
};

type Engine = { _handle: NativeHandle; _writeState: Uint32Array };

/** Engines that nobody uses, for the next who needs one of their kind. */
class Spares {
  readonly #engines: Engine[] = [];

  take(): Engine | undefined {
    const engine = this.#engines.pop();
    engine?._handle.reset();
    return engine;
  }

  /** Says whether there is room for it. */
  keep(engine: Engine): boolean {
    return this.#engines.length < SPARES_MAX && this.#engines.push(engine) > 0;
  }
}

const SPARES_MAX = 4;
const GIVEN_BACK = 'an engine that was given back is not used';

export class CodecHandle {
  /** Input bytes taken by the last write. */
  consumed = 0;
  /** Output bytes made by the last write. */
  produced = 0;
  /** What the engine said when the last write failed; undefined when it did not. */
  failure: string | undefined;
  readonly #engine: Engine;
  readonly #handle: NativeHandle;
  readonly #state: Uint32Array;
  readonly #spares: Spares | undefined;
  #hasFailed = false;
  #isClosed = false;

  /** `spares` gets the engine when it is closed, unless it has failed. */
  constructor(engine: unknown, spares?: Spares) {
    const { _handle: handle, _writeState: state } = engine as Engine;
    assert(
      typeof handle?.writeSync === 'function' && typeof handle.reset === 'function' && state instanceof Uint32Array,
      'the zlib of this Node has another shape; use the Node that the package brings',
    );
    this.#engine = engine as Engine;
    this.#handle = handle;
    this.#state = state;
    this.#spares = spares;
    handle.onerror = (message) => {
      this.failure = message;
      this.#hasFailed = true;
    };
  }

  /**
   * Begins anew. Only deflate engines can be used again after a failure; of the others a fresh one must take its place.
   */
  reset(): void {
    assert(!this.#isClosed, GIVEN_BACK);
    this.failure = undefined;
    this.#handle.reset();
  }

  /** Frees the engine's memory now, unless it is spare; the garbage collector does not see how much that is. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#hasFailed || !this.#spares?.keep(this.#engine)) this.#handle.close();
  }

  /** Moves what it can from input[from, to) to output[at, room); see `consumed`, `produced` and `failure`. */
  write(
    input: Uint8Array,
    from: number,
    to: number,
    output: Uint8Array,
    at: number,
    room: number,
    flush: number = constants.Z_NO_FLUSH,
  ): void {
    assert(!this.#isClosed, GIVEN_BACK);
    this.failure = undefined;
    this.#handle.writeSync(flush, input, from, to - from, output, at, room - at);
    if (this.failure !== undefined) {
      this.consumed = 0;
      this.produced = 0;
      return;
    }
    this.produced = room - at - this.#state[0]!;
    this.consumed = to - from - this.#state[1]!;
  }
}

const PREFIX_PIECE_BYTES = 1024;
const PREFIX_PASSES = [
  { inputBytes: Number.POSITIVE_INFINITY, room: PREFIX_PIECE_BYTES, filling: 0 },
  { inputBytes: 1, room: 1, filling: 0 },
  { inputBytes: 1, room: 1, filling: 0xff },
];

/**
 * Every byte that can be decoded of input[from, to), a stream that is known to be broken, without the first `known`
 * ones.
 *
 * A failing engine does not say how much it had decoded before it failed. Offered little at a time it stops short of
 * the fault: first with little room, and past the last whole piece byte by byte. Of the very last byte, which can come
 * with the failure, only a change in the room tells; two fillings are tried, because it can be the same as one of them.
 */
export function decodePrefix(
  openEngine: () => CodecHandle,
  input: Uint8Array,
  from: number,
  to: number,
  known: number,
  emit: (bytes: Uint8Array) => void,
): void {
  const piece = new Uint8Array(PREFIX_PIECE_BYTES);
  let decoded = 0;
  for (const { inputBytes, room, filling } of PREFIX_PASSES) {
    const engine = openEngine();
    let at = from;
    let again = 0;
    for (;;) {
      const isAgain = again < decoded;
      const wanted = isAgain ? Math.min(PREFIX_PIECE_BYTES, decoded - again) : room;
      const end = isAgain ? to : Math.min(to, at + inputBytes);
      piece[0] = filling;
      engine.write(input, at, end, piece, 0, wanted);
      if (engine.failure !== undefined) {
        if (isAgain || room > 1 || piece[0] === filling) break;
        if (again >= known) emit(piece.subarray(0, 1));
        decoded = again + 1;
        break;
      }
      at += engine.consumed;
      again += engine.produced;
      const fresh = Math.min(engine.produced, again - Math.max(decoded, known));
      if (fresh > 0) emit(piece.subarray(engine.produced - fresh, engine.produced));
      decoded = Math.max(decoded, again);
      if (engine.produced === 0 && (engine.consumed === 0 || at === to)) break;
    }
    engine.close();
  }
}

const spareInflaters = new Spares();

/**
 * These are used again, since a thread that is ended while it makes an engine takes the whole program with it: Node
 * asserts that an engine which it clears away was made to its end (nodejs `CompressionStream::Close`). A thread that
 * scans would make some for every range of a file.
 */
export function inflateRawHandle(): CodecHandle {
  return new CodecHandle(spareInflaters.take() ?? createInflateRaw(), spareInflaters);
}

export function inflateHandle(options: ZlibOptions = {}): CodecHandle {
  return new CodecHandle(createInflate(options));
}

export function deflateRawHandle(options: ZlibOptions): CodecHandle {
  return new CodecHandle(createDeflateRaw(options));
}

export function brotliDecompressHandle(options: BrotliOptions = {}): CodecHandle {
  return new CodecHandle(createBrotliDecompress(options));
}

export function zstdDecompressHandle(options: ZstdOptions): CodecHandle {
  return new CodecHandle(createZstdDecompress(options));
}

export function zstdCompressHandle(options: ZstdOptions): CodecHandle {
  return new CodecHandle(createZstdCompress(options));
}
