/**
 * An exchange: one request and what came back, while it is coming.
 *
 * The response is kept as it was on the reader. Interim responses (1xx) are read past. An HTTP/2 response has no such
 * bytes: it is written as HTTP/1.1, and `WARC-Protocol` says what it was.
 */
import type { EpochMs } from '../../base/index.ts';
import type { Field, HttpHead } from '../../warc/index.ts';

/** Why a body is not whole, in the words of `WARC-Truncated`. */
export type Truncation = 'length' | 'time' | 'disconnect';

export type FetchRequest = {
  readonly url: string;
  /**
   * Further fields of the request, such as `If-None-Match`; one that the fetcher would send of itself is sent as given
   * here.
   */
  readonly fields?: readonly Field[];
  /** `GET` unless told. Never `HEAD`: a response is read as one that has a body. */
  readonly method?: string;
  readonly body?: Uint8Array;
};

export type Exchange = {
  readonly kind: 'exchange';
  readonly url: string;
  /** When the request was sent. */
  readonly time: EpochMs;
  /** From then to the first byte of the response. */
  readonly latencyMs: number;
  readonly request: Uint8Array;
  readonly head: HttpHead;
  readonly status: number;
  /** The body as received, transfer coding included. To be read to its end, or given up with `abandon`. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Set once the body has been read, when it is not whole. */
  truncated(): Truncation | undefined;
  /**
   * What is known of the exchange beside the messages, once the body has been read: address, protocols, cipher,
   * truncation.
   */
  fields(): Field[];
  abandon(): void;
};

export type FailureReason =
  | 'address-refused'
  | 'bad-url'
  | 'certificate'
  | 'connection'
  | 'dns'
  | 'head-too-large'
  | 'no-response'
  | 'not-http'
  | 'timeout'
  | 'tls';

export type FetchFailure = {
  readonly kind: 'failure';
  readonly url: string;
  readonly time: EpochMs;
  readonly reason: FailureReason;
  readonly detail: string;
  /** Whether there was no connection at all. */
  readonly isUnconnected: boolean;
};

export type Fetcher = {
  fetch(request: FetchRequest, options?: { signal?: AbortSignal }): Promise<Exchange | FetchFailure>;
  close(): Promise<void>;
};

/** Reasons that another try may not meet. */
const TRANSIENT: ReadonlySet<FailureReason> = new Set(['connection', 'dns', 'no-response', 'timeout', 'tls']);

export function isTransient(reason: FailureReason): boolean {
  return TRANSIENT.has(reason);
}

/** What an error of the platform says, in one line, without places in its TLS library and advice for programmers. */
export function errorText(error: Error): string {
  const { code, reason } = error as { code?: unknown; reason?: unknown };
  const said = typeof reason === 'string' ? reason : error.message.replace(/; if the root CA .*$/s, '');
  return typeof code !== 'string' || said.includes(code) ? said.trim() : `${code} ${said}`.trim();
}

export class FetchError extends Error {
  readonly reason: FailureReason;

  constructor(reason: FailureReason, detail: string, cause?: unknown) {
    super(detail, { cause });
    this.reason = reason;
  }
}

/**
 * The server has not looked at the request, since it closes the connection or has too many at a time on it: it may be
 * sent again, whatever it is (RFC 9113, 8.7).
 */
export class RequestUnprocessed extends FetchError {}

/** The server answers this only over HTTP/1.1, as one that asks for client certificates here and there has to. */
export class Http1Required extends RequestUnprocessed {}

/** Whether a body lacks what another try may bring. */
export function isIncomplete(truncated: string | undefined): boolean {
  return truncated === 'time' || truncated === 'disconnect';
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Where a response leads, if it does. */
export function redirectTarget(url: string, status: number, head: HttpHead): string | undefined {
  const location = REDIRECTS.has(status) ? head.get('location') : undefined;
  return location === undefined ? undefined : URL.parse(location, url)?.href;
}
