/**
 * Removes the content codings of a body, piece by piece, in bounded memory: gzip with one member or several, deflate
 * with and without its zlib head, br, zstd.
 *
 * A declared coding can be wrong. The first PROBE_BYTES of a body decide: when they do not decode, the body is kept
 * unchanged. When a later part does not decode, decoding stops there. Both set `isBroken`. A body that begins with the
 * magic number of its coding has that coding, damaged or not, and as much as possible of it is decoded. `deflate` is
 * tried with its head first, then without, as browsers do.
 *
 * A few bytes can decode to gigabytes. A caller that cannot take them all at once requests them piece by piece; each
 * piece is decoded when it is requested.
 */
import { constants } from 'node:zlib';
import { startsWith, ZSTD_WINDOW_LOG_MAX } from '../../base/index.ts';
import {
  brotliDecompressHandle,
  type CodecHandle,
  decodePrefix,
  inflateHandle,
  inflateRawHandle,
  zstdDecompressHandle,
} from '../member/codec-handle.ts';
import { GZIP_MAGIC, GZIP_TRAILER_BYTES, gzipHeadLength } from '../member/gzip-member.ts';
import { ZSTD_MAGIC } from '../member/zstd-frame.ts';

type Emit = (bytes: Uint8Array) => void;

type Engine = 'gzip' | 'zlib' | 'deflate-raw' | 'br' | 'zstd';

/** The decision uses up to this many first bytes, whatever the pieces in which the body arrives. */
const PROBE_BYTES = 4096;
/** A probe that decodes to this many bytes is accepted without decoding the rest, which can be gigabytes. */
const PROBE_OUTPUT_BYTES_MAX = 1024 * 1024;
/** Real bodies have one coding, rarely two. Each takes memory. */
const CODINGS_MAX = 5;
/** The size of the output buffer of an engine. */
const OUTPUT_BYTES = 64 * 1024;
const EMPTY_BUFFER = Buffer.alloc(0);

/** The engines to try for a coding, in order. */
function enginesOf(coding: string): Engine[] {
  if (coding === 'gzip' || coding === 'x-gzip') return ['gzip'];
  if (coding === 'deflate') return ['zlib', 'deflate-raw'];
  return coding === 'br' || coding === 'zstd' ? [coding] : [];
}

function openEngine(engine: Engine): CodecHandle {
  if (engine === 'br') return brotliDecompressHandle();
  if (engine === 'zlib') return inflateHandle();
  if (engine === 'zstd') {
    return zstdDecompressHandle({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } });
  }
  return inflateRawHandle();
}

/** Number of bytes that show whether a body begins like its coding. */
export const CODING_MAGIC_BYTES = ZSTD_MAGIC.length;

/**
 * Whether a body can have a coding, by its first CODING_MAGIC_BYTES. Codings without a magic number are not checked.
 */
export function beginsLikeCoding(coding: string, start: Uint8Array): boolean {
  if (start.length === 0) return false;
  if (coding === 'gzip' || coding === 'x-gzip') return startsWith(start, GZIP_MAGIC);
  if (coding === 'zstd') return startsWith(start, ZSTD_MAGIC);
  // RFC 1950: the method is 8, and the first two bytes are a multiple of 31.
  if (coding === 'deflate') return (start[0]! & 0x0f) === 8 && ((start[0]! << 8) | start[1]!) % 31 === 0;
  return true;
}

/** One stage of decoding: bytes go in, decoded bytes come out. */
class ContentDecoder {
  isBroken = false;
  readonly #engines: readonly Engine[];
  #engine: Engine | undefined;
  #handle: CodecHandle | undefined;
  #state: 'start' | 'stream' | 'ended' | 'identity' = 'start';
  #isStopped = false;
  #held: Buffer = EMPTY_BUFFER;
  #output: Buffer | undefined;

  constructor(coding: string) {
    this.#engines = enginesOf(coding);
    if (this.#engines.length === 0) {
      this.isBroken = true;
      this.#state = 'identity';
    }
  }

  /** Whether a part of the body was decoded, and the rest is missing or cannot be decoded. Known after `close`. */
  get isCut(): boolean {
    return this.isBroken && this.#state !== 'identity';
  }

  /** The decoded bytes, in pieces that are valid until the next is asked for. */
  *decoded(bytes: Uint8Array): Generator<Uint8Array> {
    if (this.#state === 'ended') return;
    if (this.#state === 'identity') {
      yield bytes;
    } else if (this.#state === 'stream') {
      const input = this.#held.length > 0 ? Buffer.concat([this.#held, bytes]) : bytes;
      this.#held = EMPTY_BUFFER;
      if ((yield* this.#decode(input)) !== undefined) this.#stop();
    } else {
      this.#held = Buffer.concat([this.#held, bytes]);
      yield* this.#begin(false);
    }
  }

  /** Stops decoding, including bytes passed before the call. Call `close` afterwards. */
  stop(): void {
    this.#isStopped = true;
    this.#state = 'ended';
  }

  /** Decodes the bytes that were held back to wait for more. Call `close` afterwards. */
  *rest(): Generator<Uint8Array> {
    if (this.#state === 'start' && this.#held.length > 0) yield* this.#begin(true);
  }

  close(): void {
    if (this.#state === 'stream' && this.#isUnfinished()) this.isBroken = true;
    this.#handle?.close();
    this.#handle = undefined;
  }

  *#begin(isWhole: boolean): Generator<Uint8Array> {
    const held = this.#held;
    const head = this.#engines[0] === 'gzip' ? gzipHeadLength(held, 0, held.length) : 0;
    const isHeadCut = this.#engines[0] === 'gzip' && head === 0;
    if (!isWhole && head >= 0 && (isHeadCut || held.length < head + PROBE_BYTES)) return;
    this.#held = EMPTY_BUFFER;
    const probe = held.subarray(Math.max(0, head), Math.max(0, head) + PROBE_BYTES);
    const engine = head < 0 || isHeadCut ? undefined : this.#engines.find((name) => canDecode(name, probe));
    if (engine === undefined) {
      this.isBroken = true;
      this.#state = 'identity';
      yield held;
      return;
    }
    this.#engine = engine;
    this.#handle = openEngine(engine);
    this.#output = Buffer.allocUnsafe(OUTPUT_BYTES);
    this.#state = 'stream';
    const known = yield* this.#decode(probe);
    if (known !== undefined) {
      const prefix: Uint8Array[] = [];
      decodePrefix(
        () => openEngine(engine),
        probe,
        0,
        probe.length,
        known,
        (bytes) => prefix.push(Buffer.from(bytes)),
      );
      this.#stop();
      yield* prefix;
      return;
    }
    const rest = held.subarray(Math.max(0, head) + probe.length);
    if (rest.length > 0) yield* this.decoded(rest);
  }

  /**
   * Decodes bytes. On a failure it returns the number of bytes yielded; up to one buffer of further decoded bytes is
   * lost.
   */
  *#decode(bytes: Uint8Array): Generator<Uint8Array, number | undefined> {
    const handle = this.#handle!;
    const output = this.#output!;
    let at = 0;
    let decoded = 0;
    for (;;) {
      handle.write(bytes, at, bytes.length, output, 0, output.length);
      if (handle.failure !== undefined) return decoded;
      const { consumed, produced } = handle;
      at += consumed;
      decoded += produced;
      if (produced > 0) yield output.subarray(0, produced);
      if (this.#isStopped) return undefined;
      if (produced === output.length) continue;
      if (at === bytes.length) return undefined;
      // An engine stops before the end of its input only where a stream ends. zstd and gzip bodies may have several
      // streams.
      if (this.#engine === 'zstd' && consumed > 0) continue;
      const next = at + GZIP_TRAILER_BYTES;
      const head = this.#engine === 'gzip' ? gzipHeadLength(bytes, next, bytes.length) : -1;
      if (head > 0) {
        handle.reset();
        at = next + head;
        continue;
      }
      // More bytes are needed to decide.
      if (head === 0) this.#held = Buffer.from(bytes.subarray(at));
      else this.#state = 'ended';
      return undefined;
    }
  }

  #stop(): void {
    this.isBroken = true;
    this.#state = 'ended';
  }

  /** Whether the stream of the engine is incomplete: finishing the engine then reports an error. */
  #isUnfinished(): boolean {
    const handle = this.#handle!;
    const isZlib = this.#engine !== 'br' && this.#engine !== 'zstd';
    const flush = isZlib ? constants.Z_FINISH : constants.BROTLI_OPERATION_FINISH;
    handle.write(EMPTY_BUFFER, 0, 0, this.#output!, 0, this.#output!.length, flush);
    return handle.failure !== undefined;
  }
}

/** Whether this engine can decode the beginning of a body. */
function canDecode(engine: Engine, probe: Uint8Array): boolean {
  if (engine === 'gzip') return true;
  const handle = openEngine(engine);
  const sample = new Uint8Array(PROBE_BYTES);
  let at = 0;
  for (let produced = 0; produced < PROBE_OUTPUT_BYTES_MAX; produced += sample.length) {
    handle.write(probe, at, probe.length, sample, 0, sample.length);
    if (handle.failure !== undefined || handle.produced < sample.length) break;
    at += handle.consumed;
  }
  const isDecoded = handle.failure === undefined;
  handle.close();
  return isDecoded || (engine === 'zstd' && startsWith(probe, ZSTD_MAGIC));
}

/** Removes all codings of a message, the last applied first. */
export class ContentDecoders {
  readonly #stages: readonly ContentDecoder[];
  readonly #emit: Emit;
  readonly #isTooDeep: boolean;

  /** `emit` is called with the decoded bytes of `push` and `end`. */
  constructor(codings: readonly string[], emit: Emit = () => {}) {
    this.#isTooDeep = codings.length > CODINGS_MAX;
    this.#stages = this.#isTooDeep ? [] : codings.map((coding) => new ContentDecoder(coding)).reverse();
    this.#emit = emit;
  }

  get isBroken(): boolean {
    return this.#isTooDeep || this.#stages.some((stage) => stage.isBroken);
  }

  /** Whether a part of the body is missing; false when the body is kept unchanged. Known after `end`. */
  get isCut(): boolean {
    return this.#stages.some((stage) => stage.isCut);
  }

  push(bytes: Uint8Array): void {
    for (const piece of this.decoded(bytes)) this.#emit(piece);
  }

  /** The decoded bytes, in pieces. A piece is valid until the next one is requested. An alternative to `push`. */
  decoded(bytes: Uint8Array): Iterable<Uint8Array> {
    return this.#stages.length === 0 ? [bytes] : this.#decodedFrom(0, bytes);
  }

  *#decodedFrom(first: number, bytes: Uint8Array): Generator<Uint8Array> {
    const stage = this.#stages[first];
    if (!stage) yield bytes;
    else for (const piece of stage.decoded(bytes)) yield* this.#decodedFrom(first + 1, piece);
  }

  /**
   * Stops decoding, including bytes passed before the call: a few bytes can decode to gigabytes. Call `end` afterwards.
   */
  stop(): void {
    for (const stage of this.#stages) stage.stop();
  }

  /** Decodes the bytes that were held back to wait for more. For callers of `decoded`, which call `end` afterwards. */
  *rest(): Generator<Uint8Array> {
    for (const [at, stage] of this.#stages.entries())
      for (const piece of stage.rest()) yield* this.#decodedFrom(at + 1, piece);
  }

  end(): void {
    try {
      for (const piece of this.rest()) this.#emit(piece);
    } finally {
      for (const stage of this.#stages) stage.close();
    }
  }
}
