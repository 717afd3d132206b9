/**
 * A decompressor or compressor that is used many times, with buffers that the caller owns.
 *
 * The one-call functions of node:zlib make a new engine and new output buffers for every member. For archived web
 * pages, that costs as much as inflating them. This class keeps one engine, resets it between members and calls it
 * synchronously. That doubles the speed of the reader, and lets members of any size pass through fixed buffers (I9).
 *
 * It uses the engine's handle (`_handle.writeSync`, `_writeState`), which npm's own tar reader uses too. The
 * constructor checks the shape of the handle, so that a Node without it is refused with a clear message. Tests compare
 * the results with the public functions.
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

/** Idle engines of one kind, for reuse. */
class Spares {
  readonly #engines: Engine[] = [];

  take(): Engine | undefined {
    const engine = this.#engines.pop();
    engine?._handle.reset();
    return engine;
  }

  /** Returns whether the engine was kept. */
  keep(engine: Engine): boolean {
    return this.#engines.length < SPARES_MAX && this.#engines.push(engine) > 0;
  }
}

const SPARES_MAX = 4;
const USED_CLOSED = 'a closed engine is not used';

export class CodecHandle {
  /** Input bytes that the last write consumed. */
  consumed = 0;
  /** Output bytes that the last write produced. */
  produced = 0;
  /** The error message of the last write; undefined when it succeeded. */
  failure: string | undefined;
  readonly #engine: Engine;
  readonly #handle: NativeHandle;
  readonly #state: Uint32Array;
  readonly #spares: Spares | undefined;
  #hasFailed = false;
  #isClosed = false;

  /** A closed engine goes to `spares`, unless it has failed. */
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

  /** Starts a new stream. After a failure, a deflate engine can be reset; any other engine must be replaced. */
  reset(): void {
    assert(!this.#isClosed, USED_CLOSED);
    this.failure = undefined;
    this.#handle.reset();
  }

  /**
   * Frees the engine's memory now, unless the engine is kept as a spare. The garbage collector does not know how large
   * that memory is.
   */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#hasFailed || !this.#spares?.keep(this.#engine)) this.#handle.close();
  }

  /**
   * Decodes as much as possible from input[from, to) to output[at, room). Sets `consumed`, `produced` and `failure`.
   */
  write(
    input: Uint8Array,
    from: number,
    to: number,
    output: Uint8Array,
    at: number,
    room: number,
    flush: number = constants.Z_NO_FLUSH,
  ): void {
    assert(!this.#isClosed, USED_CLOSED);
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
 * Emits every byte that can be decoded of input[from, to), a stream that is known to be broken, except the first
 * `known` bytes.
 *
 * A failing engine does not report how much it had decoded before it failed. In calls with little input and little
 * room, it stops just before the fault: the first pass uses pieces of 1024 bytes, the later passes single bytes. The
 * last byte can be written by the call that fails; then only a change in the output buffer shows the byte. Two fill
 * values are tried, because the byte can be equal to one of them.
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
 * Inflaters are reused because of a bug in Node: terminating a thread while it creates an engine aborts the whole
 * program (an assertion in `CompressionStream::Close`). Without reuse, a scanning thread would create several engines
 * for every range of a file.
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
