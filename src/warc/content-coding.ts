/**
 * Takes content codings off a body, piece by piece, in bounded memory: gzip, deflate (with and without its zlib head), br, zstd.
 *
 * Codings lie. The first PROBE_BYTES of a body decide: when they do not decode, the body is taken as it stands; when something further on does not,
 * decoding stops there. Both set `broken`. A body that begins with the magic of its coding is what it says, damaged or not, and gives what can be
 * decoded of it. `deflate` is tried with its head first, then without, as browsers do.
 */
import { constants } from 'node:zlib';
import { startsWith, ZSTD_WINDOW_LOG_MAX } from '../base/index.ts';
import {
  brotliDecompressHandle,
  type CodecHandle,
  decodePrefix,
  inflateHandle,
  inflateRawHandle,
  zstdDecompressHandle,
} from './codec-handle.ts';
import { gzipHeadLength } from './gzip-member.ts';
import { ZSTD_MAGIC } from './zstd-frame.ts';

type Emit = (bytes: Uint8Array) => void;

type Engine = 'gzip' | 'zlib' | 'deflate-raw' | 'br' | 'zstd';

/** Decided on always the same bytes, whatever the pieces they come in. */
const PROBE_BYTES = 4096;
/** What decodes to so many is what it says; a few bytes can go on for gigabytes. */
const PROBE_OUTPUT_BYTES_MAX = 1024 * 1024;
/** Real bodies have one coding, seldom two; each takes memory. */
const CODINGS_MAX = 5;
/** How much decoded room is offered to an engine at once. */
const OUTPUT_BYTES = 64 * 1024;
const EMPTY_INPUT = new Uint8Array(0);

/** What to try for a coding, in order. */
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

/** One stage of decoding: bytes go in, decoded bytes come out through `emit`. */
export class ContentDecoder {
  broken = false;
  readonly #engines: readonly Engine[];
  readonly #emit: Emit;
  #engine: Engine | undefined;
  #handle: CodecHandle | undefined;
  #state: 'start' | 'stream' | 'ended' | 'identity' = 'start';
  #isStopped = false;
  #held: Buffer = Buffer.alloc(0);
  #output: Buffer | undefined;

  constructor(coding: string, emit: Emit) {
    this.#engines = enginesOf(coding);
    this.#emit = emit;
    if (this.#engines.length === 0) {
      this.broken = true;
      this.#state = 'identity';
    }
  }

  push(bytes: Uint8Array): void {
    if (this.#state === 'ended') return;
    if (this.#state === 'identity') {
      this.#emit(bytes);
    } else if (this.#state === 'stream') {
      if (!this.#decode(bytes)) this.#stop();
    } else {
      this.#held = Buffer.concat([this.#held, bytes]);
      this.#begin(false);
    }
  }

  /** Nothing more is wanted, not even of the bytes at hand; to be ended afterwards. */
  stop(): void {
    this.#isStopped = true;
    this.#state = 'ended';
  }

  end(): void {
    if (this.#state === 'start' && this.#held.length > 0) this.#begin(true);
    if (this.#state === 'stream' && this.#isUnfinished()) this.broken = true;
    this.#handle?.close();
    this.#handle = undefined;
  }

  #begin(isWhole: boolean): void {
    const held = this.#held;
    const head = this.#engines[0] === 'gzip' ? gzipHeadLength(held, 0, held.length) : 0;
    const isHeadCut = this.#engines[0] === 'gzip' && head === 0;
    if (!isWhole && head >= 0 && (isHeadCut || held.length < head + PROBE_BYTES)) return;
    this.#held = Buffer.alloc(0);
    const probe = held.subarray(Math.max(0, head), Math.max(0, head) + PROBE_BYTES);
    const engine = head < 0 || isHeadCut ? undefined : this.#engines.find((name) => canDecode(name, probe));
    if (engine === undefined) {
      this.broken = true;
      this.#state = 'identity';
      this.#emit(held);
      return;
    }
    this.#engine = engine;
    this.#handle = openEngine(engine);
    this.#output = Buffer.allocUnsafe(OUTPUT_BYTES);
    this.#state = 'stream';
    if (!this.#decode(probe)) {
      decodePrefix(() => openEngine(engine), probe, 0, probe.length, 0, this.#emit);
      this.#stop();
      return;
    }
    const rest = held.subarray(Math.max(0, head) + probe.length);
    if (rest.length > 0) this.push(rest);
  }

  /** Whether these bytes could be decoded; what was decoded before a failure is lost. */
  #decode(bytes: Uint8Array): boolean {
    const handle = this.#handle!;
    const output = this.#output!;
    let at = 0;
    for (;;) {
      handle.write(bytes, at, bytes.length, output, 0, output.length);
      if (handle.failure !== undefined) return false;
      at += handle.consumed;
      if (handle.produced > 0) this.#emit(output.subarray(0, handle.produced));
      if (this.#isStopped) return true;
      if (handle.produced === output.length) continue;
      if (at === bytes.length) return true;
      // An engine stops before its input ends only where a stream does; zstd bodies may hold several.
      if (this.#engine === 'zstd' && handle.consumed > 0) continue;
      this.#state = 'ended';
      return true;
    }
  }

  #stop(): void {
    this.broken = true;
    this.#state = 'ended';
  }

  /** An engine told that nothing more will come complains when its stream is not over. */
  #isUnfinished(): boolean {
    const handle = this.#handle!;
    const isZlib = this.#engine !== 'br' && this.#engine !== 'zstd';
    const flush = isZlib ? constants.Z_FINISH : constants.BROTLI_OPERATION_FINISH;
    handle.write(EMPTY_INPUT, 0, 0, this.#output!, 0, this.#output!.length, flush);
    return handle.failure !== undefined;
  }
}

/** Whether the beginning of a body can be what this engine decodes. */
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

/** Takes off all codings of a message, last applied first. */
export class ContentDecoders {
  readonly #stages: ContentDecoder[] = [];
  readonly #first: Emit;
  readonly #isTooDeep: boolean;

  constructor(codings: readonly string[], emit: Emit) {
    this.#isTooDeep = codings.length > CODINGS_MAX;
    let next = emit;
    for (const coding of this.#isTooDeep ? [] : codings) {
      const stage = new ContentDecoder(coding, next);
      this.#stages.unshift(stage);
      next = (bytes) => stage.push(bytes);
    }
    this.#first = next;
  }

  get broken(): boolean {
    return this.#isTooDeep || this.#stages.some((stage) => stage.broken);
  }

  push(bytes: Uint8Array): void {
    this.#first(bytes);
  }

  /** Nothing more is wanted, not even of the bytes at hand: a few of them can decode to more than anybody has time for. To be ended afterwards. */
  stop(): void {
    for (const stage of this.#stages) stage.stop();
  }

  end(): void {
    for (const stage of this.#stages) stage.end();
  }
}
