/**
 * Scans the block of a record while it passes: HTTP head, payload, digests.
 *
 * ```
 *   block   = HTTP head + body            body of an HTTP message: `framed` (as stored)
 *   payload = body without chunk framing  content coding kept; for other records, the block
 *   decoded = payload without its content codings
 * ```
 * Pinakes identifies a content by the SHA-256 of its payload (see the design's section on identity). Digests declared
 * in real archives cover the payload, the framed body or the decoded body. A scanner can hash all three.
 */
import {
  type Digest,
  type DigestAlgorithm,
  digestOf,
  HTTP_HEAD_BYTES_MAX,
  RunningDigest,
  view,
} from '../../base/index.ts';
import { ChunkedBody, onlyChunk } from '../http/chunked-body.ts';
import { ContentDecoders } from '../http/content-coding.ts';
import { type HttpHead, httpHeadLength, type MessageKind, parseHttpHead } from '../http/http-head.ts';
import type { RecordHead } from '../record/record-head.ts';

export type BlockScanOptions = {
  readonly block?: readonly DigestAlgorithm[];
  readonly payload?: readonly DigestAlgorithm[];
  readonly framed?: readonly DigestAlgorithm[];
  readonly decoded?: readonly DigestAlgorithm[];
  /** The HTTP head, if the caller has already read it from the same bytes. */
  readonly http?: HttpHead | undefined;
  /** Called with each piece of the payload. The view is valid only during the call. */
  readonly onPayload?: (bytes: Uint8Array) => void;
};

export type BlockFacts = {
  /** The HTTP head, when the block is an HTTP message. */
  readonly http: HttpHead | undefined;
  /** Whether the block should be an HTTP message and is not. */
  readonly isHttpMissing: boolean;
  readonly blockBytes: number;
  readonly payloadBytes: number;
  readonly isChunked: boolean;
  readonly isChunkingBroken: boolean;
  readonly isCodingBroken: boolean;
  readonly blockDigests: readonly Digest[];
  readonly payloadDigests: readonly Digest[];
  readonly framedDigests: readonly Digest[];
  readonly decodedDigests: readonly Digest[];
};

/** Digests of one sequence of bytes. A sequence in one piece is hashed in one call. */
class Digests {
  readonly #algorithms: readonly DigestAlgorithm[];
  #running: RunningDigest[] | undefined;
  #done: Digest[] | undefined;

  constructor(algorithms: readonly DigestAlgorithm[]) {
    this.#algorithms = algorithms;
  }

  update(bytes: Uint8Array, isAll: boolean): void {
    if (this === NONE) return;
    if (isAll && !this.#running) {
      this.#done = this.#algorithms.map((algorithm) => digestOf(algorithm, bytes));
      return;
    }
    this.#running ??= this.#algorithms.map((algorithm) => new RunningDigest(algorithm));
    for (const digest of this.#running) digest.update(bytes);
  }

  finish(): readonly Digest[] {
    if (this === NONE) return NO_DIGESTS;
    if (this.#done) return this.#done;
    if (this.#running) return this.#running.map((digest) => digest.finish());
    return this.#algorithms.map((algorithm) => digestOf(algorithm, new Uint8Array(0)));
  }
}

const NONE = new Digests([]);
const NO_DIGESTS: readonly Digest[] = [];

/** Whether the block of this record is an HTTP message. */
export function holdsHttp(head: RecordHead): boolean {
  if (head.type !== 'response' && head.type !== 'request' && head.type !== 'revisit') return false;
  const contentType = head.contentType;
  if (contentType !== undefined && !/^(application|message)\/http\b/i.test(contentType)) return false;
  return /^https?:/i.test(head.targetUri ?? '');
}

export class BlockScanner {
  readonly #options: BlockScanOptions;
  readonly #total: number;
  #seenBytes = 0;
  #held: Buffer | undefined;
  readonly #kind: MessageKind;
  #isInHead: boolean;
  #http: HttpHead | undefined;
  #isHttpMissing = false;
  #payloadBytes = 0;
  #chunked: ChunkedBody | undefined;
  #decoders: ContentDecoders | undefined;
  readonly #block: Digests;
  #payload: Digests;
  readonly #framed: Digests;
  readonly #decoded: Digests;

  constructor(head: RecordHead, options: BlockScanOptions) {
    this.#options = options;
    this.#total = head.contentLength ?? Number.POSITIVE_INFINITY;
    this.#kind = head.type === 'request' ? 'request' : 'response';
    this.#isInHead = holdsHttp(head);
    this.#block = options.block?.length ? new Digests(options.block) : NONE;
    this.#payload = options.payload?.length ? new Digests(options.payload) : NONE;
    this.#framed = options.framed?.length ? new Digests(options.framed) : NONE;
    this.#decoded = options.decoded?.length ? new Digests(options.decoded) : NONE;
  }

  push(chunk: Uint8Array): void {
    const isFirst = this.#seenBytes === 0;
    this.#seenBytes += chunk.length;
    const isLast = this.#seenBytes >= this.#total;
    this.#block.update(chunk, isFirst && isLast);
    if (!this.#isInHead) {
      this.#body(chunk, isFirst && isLast);
      return;
    }
    const start: Buffer = this.#held ? Buffer.concat([this.#held, chunk]) : view(chunk);
    const length = httpHeadLength(start, this.#kind, isLast);
    if (length < 0 && start.length <= HTTP_HEAD_BYTES_MAX) {
      this.#held = this.#held ? start : Buffer.from(start);
      return;
    }
    this.#held = undefined;
    this.#beginBody(start, Math.max(0, length), isLast);
  }

  /** Whether the HTTP head, if there is one, has been read. */
  get isHeadKnown(): boolean {
    return !this.#isInHead;
  }

  get http(): HttpHead | undefined {
    return this.#http;
  }

  /** Called at the end of the block, whether it was complete or not. */
  end(): BlockFacts {
    if (this.#isInHead) {
      const held = this.#held ?? Buffer.alloc(0);
      this.#held = undefined;
      this.#beginBody(held, Math.max(0, httpHeadLength(held, this.#kind, true)), true);
    }
    this.#chunked?.end();
    this.#decoders?.end();
    return {
      http: this.#http,
      isHttpMissing: this.#isHttpMissing,
      blockBytes: this.#seenBytes,
      payloadBytes: this.#payloadBytes,
      isChunked: this.#chunked !== undefined,
      isChunkingBroken: this.#chunked?.isBroken ?? false,
      isCodingBroken: this.#decoders?.isBroken ?? false,
      blockDigests: this.#block.finish(),
      payloadDigests: this.#payload.finish(),
      framedDigests: this.#framed.finish(),
      decodedDigests: this.#decoded.finish(),
    };
  }

  #beginBody(start: Buffer, headLength: number, isLast: boolean): void {
    this.#isInHead = false;
    if (headLength > 0) {
      const { http } = this.#options;
      this.#http = http?.bytes.length === headLength ? http : parseHttpHead(Buffer.from(start.subarray(0, headLength)));
      if (this.#http.isChunked) {
        this.#chunked = new ChunkedBody((bytes) => this.#payloadPiece(bytes, false));
      }
      const codings = this.#options.decoded?.length ? this.#http.contentCodings : [];
      if (codings.length > 0) {
        this.#decoders = new ContentDecoders(codings, (bytes) => this.#decoded.update(bytes, false));
      }
    } else {
      this.#isHttpMissing = this.#seenBytes > 0;
    }
    if (start.length > headLength) this.#body(start.subarray(headLength), isLast);
  }

  #body(bytes: Uint8Array, isAll: boolean): void {
    this.#framed.update(bytes, isAll);
    const only = this.#chunked && isAll ? onlyChunk(bytes) : undefined;
    if (only) this.#payloadPiece(only, true);
    else if (this.#chunked) this.#chunked.push(bytes);
    else this.#payloadPiece(bytes, isAll);
  }

  #payloadPiece(bytes: Uint8Array, isAll: boolean): void {
    if (bytes.length === 0) return;
    this.#payloadBytes += bytes.length;
    this.#payload.update(bytes, isAll);
    if (this.#decoders) this.#decoders.push(bytes);
    else this.#decoded.update(bytes, false);
    this.#options.onPayload?.(bytes);
  }
}
