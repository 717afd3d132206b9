/**
 * Takes content codings off a body, piece by piece, in bounded memory: gzip, deflate (with and without its zlib head), br, zstd.
 *
 * Codings lie. When the first piece does not decode, the body is taken as it stands; when a later piece does not, decoding stops
 * there; both set `broken`. `deflate` is tried with its head first, then without, as browsers do.
 */

import { constants } from 'node:zlib';
import { READ_CHUNK_BYTES, ZSTD_WINDOW_LOG_MAX } from '../base/index.ts';
import {
  brotliDecompressHandle,
  type CodecHandle,
  inflateHandle,
  inflateRawHandle,
  zstdDecompressHandle,
} from './codec-handle.ts';
import { gzipHeadLength } from './gzip-member.ts';

type Emit = (bytes: Uint8Array) => void;

/** Whether a coding can be taken off here. */
export function isKnownCoding(coding: string): boolean {
  return ['gzip', 'x-gzip', 'deflate', 'br', 'zstd'].includes(coding);
}

/** One stage of decoding: bytes go in, decoded bytes come out through `emit`. */
export class ContentDecoder {
  broken = false;
  readonly #coding: string;
  readonly #emit: Emit;
  #engine: CodecHandle | undefined;
  #triedRaw = false;
  #began = false;
  #state: 'head' | 'stream' | 'ended' | 'identity' = 'head';
  #held: Buffer = Buffer.alloc(0);
  readonly #output = Buffer.allocUnsafe(READ_CHUNK_BYTES);

  constructor(coding: string, emit: Emit) {
    this.#coding = coding === 'x-gzip' ? 'gzip' : coding;
    this.#emit = emit;
    if (!isKnownCoding(coding)) {
      this.broken = true;
      this.#state = 'identity';
    }
  }

  push(bytes: Uint8Array): void {
    if (this.#state === 'identity') {
      this.#emit(bytes);
      return;
    }
    if (this.#state === 'ended') return;
    if (this.#state === 'head') {
      this.#held = this.#held.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#held, bytes]);
      this.#begin(false);
      return;
    }
    this.#decode(bytes);
  }

  end(): void {
    if (this.#state === 'head' && this.#held.length > 0) this.#begin(true);
    if (this.#state === 'stream' && this.#isUnfinished()) this.broken = true;
    this.#engine?.close();
    this.#engine = undefined;
  }

  #begin(isWhole: boolean): void {
    let skip = 0;
    if (this.#coding === 'gzip') {
      skip = gzipHeadLength(this.#held, 0, this.#held.length);
      if (skip === 0 && !isWhole) return;
      if (skip <= 0) {
        this.#giveUp(this.#held);
        return;
      }
    }
    this.#engine = openEngine(this.#coding);
    this.#state = 'stream';
    this.#decode(this.#held.subarray(skip));
  }

  #decode(bytes: Uint8Array): void {
    const engine = this.#engine!;
    const output = this.#output;
    let at = 0;
    for (;;) {
      engine.write(bytes, at, bytes.length, output, 0, output.length);
      if (engine.failure !== undefined) {
        this.#fail(bytes);
        return;
      }
      at += engine.consumed;
      if (engine.produced > 0) {
        this.#began = true;
        this.#emit(output.subarray(0, engine.produced));
      }
      if (engine.produced === output.length) continue;
      const isStreamEnd = at < bytes.length || (engine.consumed === 0 && engine.produced === 0 && bytes.length > 0);
      if (isStreamEnd) this.#state = 'ended';
      return;
    }
  }

  /** An engine told that nothing more will come complains when its stream is not over. */
  #isUnfinished(): boolean {
    const engine = this.#engine!;
    const isZlib = this.#coding === 'gzip' || this.#coding === 'deflate';
    const flush = isZlib ? constants.Z_FINISH : constants.BROTLI_OPERATION_FINISH;
    engine.write(new Uint8Array(0), 0, 0, this.#output, 0, this.#output.length, flush);
    return engine.failure !== undefined;
  }

  #fail(bytes: Uint8Array): void {
    this.#engine?.close();
    if (this.#began) {
      this.broken = true;
      this.#state = 'ended';
      return;
    }
    if (this.#coding === 'deflate' && !this.#triedRaw) {
      this.#triedRaw = true;
      this.#engine = inflateRawHandle();
      this.#decode(this.#held.length > 0 ? this.#held : bytes);
      return;
    }
    this.#giveUp(this.#held.length > 0 ? this.#held : bytes);
  }

  #giveUp(bytes: Uint8Array): void {
    this.broken = true;
    this.#state = 'identity';
    this.#emit(bytes);
  }
}

function openEngine(coding: string): CodecHandle {
  if (coding === 'br') return brotliDecompressHandle();
  if (coding === 'deflate') return inflateHandle();
  if (coding === 'zstd') {
    return zstdDecompressHandle({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } });
  }
  return inflateRawHandle();
}

/** Takes off all codings of a message, last applied first. */
export class ContentDecoders {
  readonly #stages: ContentDecoder[] = [];
  readonly #first: Emit;

  constructor(codings: readonly string[], emit: Emit) {
    let next = emit;
    for (const coding of codings) {
      const stage = new ContentDecoder(coding, next);
      this.#stages.unshift(stage);
      next = (bytes) => stage.push(bytes);
    }
    this.#first = next;
  }

  get broken(): boolean {
    return this.#stages.some((stage) => stage.broken);
  }

  push(bytes: Uint8Array): void {
    this.#first(bytes);
  }

  end(): void {
    for (const stage of this.#stages) stage.end();
  }
}
