/**
 * An exchange: one request and its response, while the response is being received.
 *
 * The bytes of an HTTP/1.1 response are kept as they were on the wire. Interim responses (1xx) are skipped. An HTTP/2
 * response is written as HTTP/1.1, and `WARC-Protocol` names the real protocol.
 */
import type { EpochMs } from '../../base/index.ts';
import type { Field, HttpHead } from '../../warc/index.ts';

/** Why a body is not whole, in the words of `WARC-Truncated`. */
export type Truncation = 'length' | 'time' | 'disconnect';

export type FetchRequest = {
  readonly url: string;
  /** Further fields of the request, such as `If-None-Match`. They replace default fields of the same name. */
  readonly fields?: readonly Field[];
  /** `GET` by default. `HEAD` is not supported, because every response is read as one that may have a body. */
  readonly method?: string;
  readonly body?: Uint8Array;
};

export type Exchange = {
  readonly kind: 'exchange';
  readonly url: string;
  /** When the request was sent. */
  readonly time: EpochMs;
  /** Time from sending the request to receiving the head of the response. */
  readonly latencyMs: number;
  readonly request: Uint8Array;
  readonly head: HttpHead;
  readonly status: number;
  /** The body as received, with transfer coding. It must be read to its end, or given up with `abandon`. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Why the body was cut; undefined while it is read, and when it is whole. */
  truncated(): Truncation | undefined;
  /** Fields of the WARC record, known once the body has been read: address, protocols, cipher, truncation. */
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
  /** Whether no connection could be opened. */
  readonly isUnconnected: boolean;
};

export type FetchOptions = {
  readonly signal?: AbortSignal | undefined;
  /** Asked just before a request is sent. If it may not be sent, the fetch throws `NotSent`. */
  readonly mayBeSent?: (() => boolean) | undefined;
};

/** The request may not be sent any more, since another crawler may ask the host. */
export class NotSent extends Error {
  override readonly name = 'NotSent';
}

export type Fetcher = {
  fetch(request: FetchRequest, options?: FetchOptions): Promise<Exchange | FetchFailure>;
  close(): Promise<void>;
};

/** Failures that another try may not have. */
const TRANSIENT: ReadonlySet<FailureReason> = new Set(['connection', 'dns', 'no-response', 'timeout', 'tls']);

export function isTransient(reason: FailureReason): boolean {
  return TRANSIENT.has(reason);
}

/**
 * The message of a platform error in one line. Source lines of the TLS library and advice for programmers are removed.
 */
export function errorText(error: Error): string {
  const { code, reason } = error as { code?: unknown; reason?: unknown };
  const message = typeof reason === 'string' ? reason : error.message.replace(/; if the root CA .*$/s, '');
  return typeof code !== 'string' || message.includes(code) ? message.trim() : `${code} ${message}`.trim();
}

export class FetchError extends Error {
  readonly reason: FailureReason;

  constructor(reason: FailureReason, detail: string, cause?: unknown) {
    super(detail, { cause });
    this.reason = reason;
  }
}

/**
 * The server has not processed the request, because it closes the connection or has too many requests on it. Then every
 * request may be sent again, even one with a body (RFC 9113, 8.7).
 */
export class RequestUnprocessed extends FetchError {}

/** The server requires HTTP/1.1 for this request. Some servers that ask for client certificates do. */
export class Http1Required extends RequestUnprocessed {}

/** Whether a body misses bytes that another try may receive. */
export function isIncomplete(truncated: string | undefined): boolean {
  return truncated === 'time' || truncated === 'disconnect';
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The target of a redirect; undefined for other responses. */
export function redirectTarget(url: string, status: number, head: HttpHead): string | undefined {
  const location = REDIRECTS.has(status) ? head.get('location') : undefined;
  return location === undefined ? undefined : URL.parse(location, url)?.href;
}
