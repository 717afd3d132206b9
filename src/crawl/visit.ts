/**
 * One visit: fetches a URL and stores the answer while it arrives. When the answer is stored, it draws conclusions from
 * it.
 *
 * If an earlier process stored a capture without logging the visit, that capture is found in the archive, and the visit
 * is not repeated. When a server reports a page as unchanged, a revisit of the capture whose validators were sent is
 * stored.
 */
import type { Archive, Capture } from '../archive/index.ts';
import { type EpochMs, PinakesError } from '../base/index.ts';
import type { Field, HttpHead } from '../warc/index.ts';
import type { CrawlCaptures } from './crawl-captures.ts';
import {
  type Exchange,
  type FailureReason,
  type Fetcher,
  type FetchFailure,
  type FetchRequest,
  isIncomplete,
  isTransient,
  redirectTarget,
  type Truncation,
} from './fetch/exchange.ts';
import { ReceivedBody } from './fetch/received-body.ts';
import {
  isGoneStatus,
  isPageRole,
  type QueuedUrl,
  READ_AGAIN,
  type Settlement,
  STATE_DONE,
  STATE_DROPPED,
  STATE_GONE,
  STATE_UNVERIFIED,
} from './frontier/known-url.ts';
import type { PageFindings, UnreadPage } from './links/link-batch.ts';
import type { LinkReader } from './links/link-reader.ts';
import { mayHaveLinks, responseMime } from './links/page-links.ts';
import { failedSettlement, type Visited, type VisitOutcome } from './outcome.ts';
import { BUSY_STATUSES, retryAfterMs } from './politeness/host-delay.ts';
import type { RedirectCookies } from './politeness/redirect-cookies.ts';
import { type CrawlSettings, depthMatters } from './settings.ts';

type LinkSource = Pick<UnreadPage, 'head' | 'bytes' | 'isDecoded' | 'isWhole'>;

export type VisitOptions = {
  readonly signal?: AbortSignal | undefined;
  /** Whether the request may still be sent; see `FetchOptions`. */
  readonly mayBeSent?: (() => boolean) | undefined;
  readonly isLastTry: boolean;
  /** Who may have made this visit before: an interrupted process, or a rendered page of this process. */
  readonly mayBeDoneBy: 'earlier-process' | 'rendered-page' | undefined;
  /** Further fields of the request (`fields`) and of the WARC record (`recordFields`). */
  readonly fields?: readonly Field[];
  readonly recordFields?: readonly Field[];
  /** Called when the whole response has been received. Storing it may take longer. */
  readonly onReceived: (exchange: Exchange | undefined, bytes: number) => void;
  /** Called with the reason when the host could not be connected to. */
  readonly onUnconnected?: (reason: FailureReason) => void;
};

/** The stored answer to a request of a script. */
export type ScriptAnswer = {
  readonly kind: 'answered';
  readonly capture: Capture;
  readonly isNew: boolean;
  readonly bytes: number;
  /** Whether the host asked for a pause, and for how long. */
  readonly isBusy: boolean;
  readonly waitMs: number | undefined;
};

const HTML_MIMES = new Set(['text/html', 'application/xhtml+xml']);
const DIGEST_BYTES = 8;

export type VisitorOptions = {
  readonly archive: Archive;
  readonly captures: CrawlCaptures;
  readonly fetcher: Fetcher;
  readonly links: LinkReader;
  readonly settings: CrawlSettings;
  readonly cookies: RedirectCookies;
  /** Whether this is a recrawl, which reads links of changed pages only. */
  readonly isAgain: boolean;
};

export class Visitor {
  readonly #options: VisitorOptions;
  /** Running visits by URL. It is used when pages are rendered. */
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(options: VisitorOptions) {
    this.#options = options;
  }

  async visit(item: QueuedUrl, options: VisitOptions): Promise<VisitOutcome> {
    if (this.#options.settings.browser === 'none') return this.#visitAlone(item, options);
    // The crawl and a rendered page may visit the same URL at the same time. The second visit waits, and finds the
    // capture of the first.
    for (let other = this.#running.get(item.url); other; other = this.#running.get(item.url))
      await other.catch(() => {});
    const visit = this.#visitAlone(item, options);
    this.#running.set(item.url, visit);
    try {
      return await visit;
    } finally {
      this.#running.delete(item.url);
    }
  }

  async #visitAlone(item: QueuedUrl, options: VisitOptions): Promise<VisitOutcome> {
    const isReadAgain = item.tries === READ_AGAIN;
    if (options.mayBeDoneBy || isReadAgain) {
      const capture = await this.#options.captures.findDone(
        item.url,
        isReadAgain ? undefined : this.#visitedWithoutCookieAt(item),
      );
      const recovered = capture && (await this.#recover(item, capture, options.mayBeDoneBy === 'rendered-page'));
      if (recovered) return isReadAgain ? readAgain(recovered) : recovered;
    }
    const earlier = item.captured === undefined ? undefined : await this.#options.captures.validatorCapture(item);
    const fields = [...(options.fields ?? []), ...(earlier ? validatorFields(item) : [])];
    const cookie = this.#options.cookies.fieldFor(item.url, item.hops > 0);
    // A rendered page may send its own cookies.
    if (cookie !== undefined && !fields.some(({ name }) => /^cookie$/i.test(name)))
      fields.push({ name: 'Cookie', value: cookie });
    const fetched = await this.#options.fetcher.fetch(
      { url: item.url, fields },
      { signal: options.signal, mayBeSent: options.mayBeSent },
    );
    if (fetched.kind === 'failure') {
      const { reason, detail } = fetched;
      if (fetched.isUnconnected && isTransient(reason)) options.onUnconnected?.(reason);
      if (isTransient(reason) && !options.isLastTry)
        return {
          kind: 'retry',
          isBusy: false,
          waitMs: undefined,
          why: `${reason}: ${detail}`,
          failure: { reason, detail },
        };
      return { kind: 'failed', settlement: failedSettlement(item), reason, detail };
    }
    if (BUSY_STATUSES.has(fetched.status) && !options.isLastTry) {
      fetched.abandon();
      const waitMs = retryAfterMs(fetched.head.get('retry-after'), this.#options.archive.clock());
      return { kind: 'retry', isBusy: true, waitMs, why: `status ${fetched.status}` };
    }
    if (
      this.#options.settings.htmlOnly &&
      isPageRole(item.role) &&
      fetched.status === 200 &&
      !HTML_MIMES.has(responseMime(fetched.head))
    ) {
      fetched.abandon();
      return {
        kind: 'skipped',
        settlement: { ...failedSettlement(item), state: STATE_DROPPED, status: fetched.status },
      };
    }
    return this.#keep(item, fetched, earlier, options);
  }

  /**
   * The time of the last visit, if it got a redirect and a cookie for the URL was set since. Captures up to this time
   * do not count.
   */
  #visitedWithoutCookieAt({ url, status, verified = 0 }: QueuedUrl): EpochMs | undefined {
    const since = status >= 300 && status < 400 ? this.#options.cookies.newestFor(url) : undefined;
    return since !== undefined && verified <= since ? verified : undefined;
  }

  async #keep(
    item: QueuedUrl,
    exchange: Exchange,
    earlier: Capture | undefined,
    { onReceived, recordFields }: VisitOptions,
  ): Promise<Visited> {
    const isRead = hasContent(exchange.status) && (item.role === 'sitemap' || mayHaveLinks(item.url, exchange.head));
    const body = await ReceivedBody.receive(exchange, (bytes) => onReceived(exchange, bytes));
    const notModified = exchange.status === 304 ? earlier : undefined;
    const { capture, isNew } = await this.#options.captures.store(exchange, body, notModified, recordFields);
    const isUnmodified = isConfirmation(capture);
    const digest = capture.block?.digest.subarray(0, DIGEST_BYTES);
    const isSame = isUnmodified || isSameDigest(digest, item.digest);
    const truncated = exchange.truncated();
    const readsLinks = (isRead || isUnmodified) && !(isSame && this.#options.isAgain);
    const kept = isRead && readsLinks ? body.whole : undefined;
    const { head } = exchange;
    const redirect = redirectTarget(item.url, exchange.status, head);
    if (redirect !== undefined) this.#options.cookies.collect(item.url, head, this.#options.archive.clock());
    const source = async () =>
      kept ? { head, bytes: kept, isDecoded: false, isWhole: true } : this.#sourceOf(capture);
    return {
      kind: 'visited',
      capture,
      settlement: this.#settlement(item, exchange.status, exchange.head, capture, { digest, isSame, truncated }),
      novelty: isNew ? 'new' : isSame ? 'unchanged' : 'duplicate',
      isNotModified: isUnmodified,
      mime: responseMime(exchange.head),
      bytes: body.bytes,
      truncated,
      redirect,
      findLinks: readsLinks ? (omitsReported) => this.#findLinks(item, source, truncated, omitsReported) : findNothing,
      isInMemory: kept !== undefined || !readsLinks,
      isRecovered: false,
      isCounted: false,
    };
  }

  /** Sends the request of a script and stores the answer. Unlike a visit, it draws no conclusions from the answer. */
  async fetchForScript(
    request: FetchRequest,
    { signal, recordFields, onReceived }: Pick<VisitOptions, 'signal' | 'recordFields' | 'onReceived'>,
  ): Promise<ScriptAnswer | FetchFailure> {
    const fetched = await this.#options.fetcher.fetch(request, signal && { signal });
    if (fetched.kind === 'failure') return fetched;
    const body = await ReceivedBody.receive(fetched, (bytes) => onReceived(fetched, bytes));
    const { capture, isNew } = await this.#options.captures.store(fetched, body, undefined, recordFields);
    const waitMs = retryAfterMs(fetched.head.get('retry-after'), this.#options.archive.clock());
    return { kind: 'answered', capture, isNew, bytes: body.bytes, isBusy: BUSY_STATUSES.has(fetched.status), waitMs };
  }

  #settlement(
    item: QueuedUrl,
    status: number,
    head: HttpHead | undefined,
    capture: Capture,
    {
      digest,
      isSame,
      truncated,
    }: { digest: Uint8Array | undefined; isSame: boolean; truncated: Truncation | undefined },
  ): Settlement {
    const isUnmodified = isConfirmation(capture);
    const isSure = !isRefusal(status) && !isIncomplete(truncated) && (status !== 304 || isUnmodified);
    // The validators of a cut body are not kept, because the server would confirm the cut body with a 304.
    const keepsValidators = truncated === undefined && (status === 200 || isUnmodified);
    // The answer of a failing server says nothing about the page, so the earlier validators stay.
    const earlier = isUnmodified || isRefusal(status) ? item : undefined;
    const etag = keepsValidators ? head?.get('etag') : undefined;
    const modified = keepsValidators ? head?.get('last-modified') : undefined;
    return {
      item,
      state: isGoneStatus(status) ? STATE_GONE : isSure ? STATE_DONE : STATE_UNVERIFIED,
      status: isUnmodified ? item.status : status,
      verified: isSure ? capture.time : undefined,
      captured: keepsValidators ? capture.time : undefined,
      etag: etag ?? earlier?.etag,
      modified: modified ?? earlier?.modified,
      digest: isSure ? digest : undefined,
      isChanged: item.digest === undefined || !isSure ? undefined : !isSame,
    };
  }

  async #findLinks(
    item: QueuedUrl,
    open: () => Promise<LinkSource | undefined>,
    truncated: Truncation | undefined,
    omitsReported = false,
  ): Promise<PageFindings> {
    let source: LinkSource | undefined;
    try {
      source = await open();
    } catch (error) {
      // The capture may have been deleted meanwhile. That must not end the crawl.
      if (!(error instanceof PinakesError) || error.retryable) throw error;
      return { unreadReason: `the capture cannot be read: ${error.code}` };
    }
    if (!source) return {};
    const { head, bytes, isDecoded, isWhole: hasAll } = source;
    const isSitemap = item.role === 'sitemap';
    const findings: PageFindings = await this.#options.links.read({
      url: item.url,
      head,
      bytes,
      isDecoded,
      isWhole: hasAll,
      isSitemap,
      omitsReported,
      depth: depthMatters(this.#options.settings) ? item.depth : 0,
    });
    if (findings.unreadReason !== undefined) return findings;
    const isWhole = findings.sitemap?.isWhole ?? findings.reading!.isWhole;
    if (truncated && mayHaveLinks(item.url, source.head))
      return { ...findings, unreadReason: `the body was cut: ${truncated}` };
    return isWhole ? findings : { ...findings, unreadReason: 'it is larger than the part that is read' };
  }

  async #recover(item: QueuedUrl, capture: Capture, isCounted: boolean): Promise<Visited> {
    const { http, head } = await this.#options.archive.open(capture);
    const isUnmodified = isConfirmation(capture);
    const digest = capture.block?.digest.subarray(0, DIGEST_BYTES);
    const isSame = isUnmodified || isSameDigest(digest, item.digest);
    const mark = capture.kind === 'revisit' ? undefined : head.get('warc-truncated');
    const truncated = mark === 'length' || mark === 'time' || mark === 'disconnect' ? mark : undefined;
    const redirect = http && redirectTarget(item.url, capture.status, http);
    if (redirect !== undefined) this.#options.cookies.collect(item.url, http!, this.#options.archive.clock());
    const isRead = hasContent(capture.status) || isUnmodified;
    const readsLinks = isRead && !(isSame && this.#options.isAgain);
    return {
      kind: 'visited',
      capture,
      settlement: this.#settlement(item, capture.status, http, capture, { digest, isSame, truncated }),
      novelty: isSame ? 'unchanged' : capture.kind === 'revisit' ? 'duplicate' : 'new',
      isNotModified: isUnmodified,
      mime: capture.mime,
      bytes: 0,
      truncated,
      redirect,
      findLinks: readsLinks ? () => this.#findLinks(item, () => this.#sourceOf(capture), truncated) : findNothing,
      isInMemory: !readsLinks,
      isRecovered: !isCounted,
      isCounted,
    };
  }

  async #sourceOf(capture: Capture): Promise<LinkSource | undefined> {
    const stored = await this.#options.captures.readResponse(capture);
    return stored && { head: stored.head, ...stored.content, isDecoded: true };
  }
}

/** Whether links are read from a response. They are read for 2xx, and for 300, whose body lists choices. */
function hasContent(status: number): boolean {
  return status >= 200 && status <= 300;
}

/** Whether a server confirmed earlier content. A 304 to a request without validators confirms nothing. */
function isConfirmation({ status, kind }: Capture): boolean {
  return status === 304 && kind === 'revisit';
}

function isSameDigest(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a !== undefined && b !== undefined && Buffer.compare(a, b) === 0;
}

/** Whether a status says nothing about the page. */
function isRefusal(status: number): boolean {
  return status >= 429 || status === 408;
}

/** Returns the visit of a page that is only read again. It does not count as a change of the page. */
function readAgain(visited: Visited): Visited {
  return { ...visited, settlement: { ...visited.settlement, isChanged: undefined }, isReadAgain: true };
}

async function findNothing(): Promise<PageFindings> {
  return {};
}

function validatorFields({ etag, modified }: QueuedUrl): Field[] {
  const fields: Field[] = [];
  if (etag !== undefined) fields.push({ name: 'If-None-Match', value: etag });
  if (modified !== undefined) fields.push({ name: 'If-Modified-Since', value: modified });
  return fields.filter(({ value }) => /^[\x20-\x7e]+$/.test(value));
}
