/**
 * Handles the requests of one page while it is rendered: captures the response to each request that is allowed, and
 * answers the browser from that capture.
 *
 * ```
 *   the page itself                       answered from the capture of its visit
 *   navigation to another page, popups    refused, and added to `links`
 *   images, styles, scripts, frames...    visited once in a run like URLs of the crawl; later from the archive
 *   prefetches                            added to `links`
 *   requests of scripts, preflights       each sent at most REPEATS_MAX times, unchanged; HEAD is sent as GET
 *   forms                                 refused, and counted
 *   sockets, event streams                refused, and counted
 * ```
 * Handling ends at the time limit of the page. Running requests are still captured completely, and requests that wait
 * for a turn are left to the crawl. `finish` throws the first failure of the archive.
 */
import { hash } from 'node:crypto';
import type { Archive, Capture } from '../../archive/index.ts';
import type { Link, LinkKind } from '../../page/index.ts';
import type { Field } from '../../warc/index.ts';
import { type CrawlCaptures, RESOURCE_TYPE_FIELD, SCRIPT_TYPES } from '../crawl-captures.ts';
import type { Frontier } from '../frontier/frontier.ts';
import { frontierUrl, originOf } from '../frontier/frontier-url.ts';
import type { QueuedUrl } from '../frontier/known-url.ts';
import type { Scope } from '../frontier/scope.ts';
import { failedSettlement, forbidden, type Settled, type Unreachable } from '../outcome.ts';
import type { HostTurns } from '../politeness/host-turns.ts';
import type { CrawlTally } from '../report.ts';
import { steadyClock } from '../steady-clock.ts';
import type { Visitor } from '../visit.ts';
import { NOT_AWAITED, PageActivity } from './browser-activity.ts';
import { browserAnswer } from './browser-answer.ts';
import type { BrowserAnswer, PausedRequest } from './browser-process.ts';

/** How many requests a page may make, and how many bytes the body of a request may have. */
const REQUESTS_MAX = 5000;
const BODY_BYTES_MAX = 1024 * 1024;
/** How often a page may load itself again. */
const RELOADS_MAX = 3;
/** How many answers are made at a time. */
const ANSWERS_MAX = 4;
/** How often an identical request of a script is sent. Further identical requests get the last answer again. */
const REPEATS_MAX = 3;
const METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'POST']);

/**
 * Fields that the fetcher sets itself, and fields about the connection or the browser, which do not apply to its
 * requests.
 */
const DROPPED_FIELDS =
  /^(?:accept-encoding|connection|content-length|host|keep-alive|proxy-.*|sec-ch-.*|te|trailer|transfer-encoding|upgrade|user-agent)$/;

export type PageRequestsOptions = {
  readonly archive: Archive;
  readonly visitor: Visitor;
  readonly captures: CrawlCaptures;
  readonly frontier: Frontier;
  readonly scope: Scope;
  readonly turns: HostTurns;
  readonly tally: CrawlTally;
  /** Aborted when the crawl stops. */
  readonly signal: AbortSignal;
  /** Adds the outcome of a visit to the visit log. */
  readonly note: (item: QueuedUrl, outcome: Settled) => Promise<void>;
  /** Why the robots.txt of an origin could not be fetched; undefined when it was fetched. */
  readonly unreachable: (origin: string) => Unreachable | undefined;
  /**
   * By URL, the visits that rendered pages are making now. A visit returns undefined when it is left to the crawl, for
   * example because its page ended.
   */
  readonly runningVisits: Map<string, Promise<Capture | 'none' | undefined>>;
};

export class PageRequests {
  readonly #options: PageRequestsOptions;
  readonly #page: QueuedUrl;
  readonly #capture: Capture;
  readonly #ended = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  readonly activity: PageActivity;
  /** URLs that are left to the crawl, as links of the page. */
  readonly links: Link[] = [];
  /** Both are set when the browser opens the page: its main frame, and a test for the main frames of popups. */
  mainFrame = '';
  isWindow: (frame: string) => boolean = () => false;
  #failure: unknown;
  /**
   * By URL and variant of a script request, how often it was made, and its last answer. REQUESTS_MAX bounds the
   * entries.
   */
  readonly #repeated = new Map<string, { times: number; last: Promise<Capture | undefined> | undefined }>();
  #requestCount = 0;
  #loads = 0;
  #answering: Promise<unknown>[] = [];

  constructor(options: PageRequestsOptions, page: QueuedUrl, capture: Capture) {
    this.#options = options;
    this.#page = page;
    this.#capture = capture;
    this.activity = new PageActivity(steadyClock(() => options.archive.clock()));
  }

  /** Answers the browser. Never throws. */
  async answer(request: PausedRequest): Promise<BrowserAnswer | undefined> {
    const isFromScript = isScriptRequest(request);
    const end = this.activity.begin(request.url, isFromScript, requestVariant(request));
    try {
      const capture = await this.#captureFor(request, isFromScript, end !== NOT_AWAITED);
      if (!capture || this.#ended.signal.aborted) return undefined;
      return await this.#limitAnswers(() => browserAnswer(this.#options.archive, capture, request.method === 'HEAD'));
    } catch (error) {
      this.#fail(error);
      return undefined;
    } finally {
      end();
    }
  }

  /** Stops answering the browser, waits for running requests, and throws the first failure. */
  async finish(): Promise<void> {
    this.#ended.abort();
    while (this.#running.size > 0) await Promise.allSettled([...this.#running]);
    if (this.#failure !== undefined) throw this.#failure;
  }

  #fail(error: unknown): void {
    const isStopped = this.#options.signal.aborted || error === this.#ended.signal.reason;
    if (!isStopped) this.#failure ??= error;
  }

  async #captureFor(request: PausedRequest, isFromScript: boolean, isAwaited: boolean): Promise<Capture | undefined> {
    const { scope, tally } = this.#options;
    const url = frontierUrl(request.url);
    const isForm = request.type === 'Document' && request.method !== 'GET';
    const isBodyAllowed = !request.hasBody || (request.body?.length ?? Number.POSITIVE_INFINITY) <= BODY_BYTES_MAX;
    const isOverLimit = ++this.#requestCount > REQUESTS_MAX || !isBodyAllowed;
    if (url === undefined || isOverLimit || isForm || isStream(request) || !METHODS.has(request.method)) {
      tally.counts.refused++;
      return undefined;
    }
    if (request.type === 'Document') {
      if (request.frame === this.mainFrame) return this.#ownDocument(url);
      if (this.isWindow(request.frame)) return this.#leaveToCrawl(url, 'anchor', false);
    }
    if (!scope.hasRequest(url)) {
      tally.counts.outOfScope++;
      return undefined;
    }
    // The page does not need this resource, so the crawl fetches it once for all pages.
    if (isPrefetch(request)) return this.#leaveToCrawl(url, 'data', true);
    return isFromScript ? this.#fetchForScript(request, url, isAwaited) : this.#visit(request, url);
  }

  /**
   * Answers a navigation of the main frame. The page may reload itself up to RELOADS_MAX times. Navigation to another
   * page is refused, and that page is left to the crawl.
   */
  #ownDocument(url: string): Capture | undefined {
    if (url !== this.#page.url) return this.#leaveToCrawl(url, 'refresh', false);
    return this.#loads++ <= RELOADS_MAX ? this.#capture : undefined;
  }

  /** Adds a URL to the links of the page, so that the crawl visits it. */
  #leaveToCrawl(url: string, kind: LinkKind, isEmbed: boolean): undefined {
    this.links.push({ url, kind, text: '', isNofollow: false, isEmbed });
  }

  /** Fetches a resource once in a run, for the page that requests it first. Later pages get that capture. */
  async #visit(request: PausedRequest, url: string): Promise<Capture | undefined> {
    const { runningVisits, captures } = this.#options;
    // If another page is visiting the URL, wait. If that visit was left to the crawl, this page tries again.
    let found = await runningVisits.get(url)?.catch(() => undefined);
    if (found) return found === 'none' ? undefined : found;
    const visit = (async () => (await captures.findDone(url)) ?? (await this.#visitNow(request, url)))();
    runningVisits.set(url, visit);
    this.#track(visit);
    try {
      found = await visit;
      return found === 'none' ? undefined : found;
    } finally {
      runningVisits.delete(url);
    }
  }

  async #visitNow(request: PausedRequest, url: string): Promise<Capture | 'none' | undefined> {
    const { turns, visitor, frontier, note, signal, scope, tally } = this.#options;
    const isPage = request.type === 'Document' && scope.hasPage(url, this.#page.depth);
    const { depth, hops } = this.#page;
    const { isSettled, ...item } = await frontier.lookUp({ url, role: 'embed', depth, hops: hops + 1 });
    // A settled URL without a capture failed or was forbidden in this run. It is not tried again for each page.
    if (isSettled) return 'none';
    let turn: Awaited<ReturnType<HostTurns['take']>>;
    try {
      turn = await turns.take(url, this.#ended.signal);
    } catch (error) {
      if (error !== this.#ended.signal.reason) throw error;
      return this.#leaveToCrawl(url, request.type === 'Document' ? 'frame' : 'image', true);
    }
    if (!turn) {
      // A frame that is also a page of the crawl is settled later, when it is visited as a page.
      if (!isPage) await note(item, this.#forbidden(item));
      return 'none';
    }
    try {
      const outcome = await visitor.visit(item, {
        signal,
        isLastTry: false,
        mayBeDoneBy: 'rendered-page',
        fields: requestFields(request),
        recordFields: resourceTypeField(request),
        onReceived: (exchange) => turn.end(exchange),
      });
      if (outcome.kind === 'retry') {
        if (outcome.isBusy) turn.noteRefusal(outcome.waitMs);
        // The crawl tries again later: it can wait longer than a page.
        return this.#leaveToCrawl(url, request.type === 'Document' ? 'frame' : 'image', true);
      }
      // A frame that is also a page of the crawl is settled later, when its visit as a page finds this capture.
      if (isPage && outcome.kind === 'visited') tally.add({ ...outcome, settlement: { ...outcome.settlement, item } });
      else if (!isPage) await note(item, outcome);
      return outcome.kind === 'visited' ? outcome.capture : 'none';
    } finally {
      turn.end(undefined);
    }
  }

  #forbidden(item: QueuedUrl): Settled {
    return forbidden(item, this.#options.unreachable(originOf(item.url)));
  }

  /** Sends a request of a script as it is, up to REPEATS_MAX times. */
  async #fetchForScript(request: PausedRequest, url: string, isAwaited: boolean): Promise<Capture | undefined> {
    const name = `${url} ${requestVariant(request)}`;
    const repeated = this.#repeated.get(name) ?? { times: 0, last: undefined };
    if (++repeated.times > REPEATS_MAX) return repeated.last;
    this.#repeated.set(name, repeated);
    return (repeated.last = this.#fetchForScriptNow(request, url, isAwaited));
  }

  async #fetchForScriptNow(request: PausedRequest, url: string, isAwaited: boolean): Promise<Capture | undefined> {
    const { turns, visitor, signal, tally, frontier } = this.#options;
    const { body, method } = request;
    const { depth, hops } = this.#page;
    const { isSettled: _, ...item } = await frontier.lookUp({ url, role: 'embed', depth, hops: hops + 1 });
    let turn: Awaited<ReturnType<HostTurns['take']>>;
    try {
      turn = await turns.take(url, this.#ended.signal);
    } catch (error) {
      if (error !== this.#ended.signal.reason) throw error;
      // The page has ended, so the crawl fetches the URL, without the other fields of the request.
      return isAwaited && method === 'GET' ? this.#leaveToCrawl(url, 'data', true) : undefined;
    }
    if (!turn) {
      tally.add(this.#forbidden(item));
      return undefined;
    }
    const answering = visitor.fetchForScript(
      {
        url,
        fields: requestFields(request),
        ...(method === 'POST' && { method, body: body ?? new Uint8Array(0) }),
        ...(method === 'OPTIONS' && { method }),
      },
      { signal, recordFields: resourceTypeField(request), onReceived: (exchange) => turn.end(exchange) },
    );
    this.#track(answering);
    try {
      const answered = await answering;
      if (answered.kind === 'failure') {
        const { reason, detail } = answered;
        tally.add({ kind: 'failed', settlement: failedSettlement(item), reason, detail });
        return undefined;
      }
      const { counts } = tally;
      counts.captures++;
      counts.bytes += answered.bytes;
      counts[answered.isNew ? 'new' : 'duplicate']++;
      if (answered.isBusy) turn.noteRefusal(answered.waitMs);
      return answered.capture;
    } finally {
      turn.end(undefined);
    }
  }

  #track(work: Promise<unknown>): void {
    this.#running.add(work);
    work.then(
      () => this.#running.delete(work),
      (error: unknown) => {
        this.#fail(error);
        this.#running.delete(work);
      },
    );
  }

  /** Makes at most ANSWERS_MAX answers at a time, because each answer is completely in memory. */
  async #limitAnswers<T>(work: () => Promise<T>): Promise<T> {
    while (this.#answering.length >= ANSWERS_MAX) await Promise.race(this.#answering);
    const answering = work();
    const settled = answering.then(
      () => {},
      () => {},
    );
    this.#answering.push(settled);
    void settled.then(() => {
      this.#answering = this.#answering.filter((one) => one !== settled);
    });
    return answering;
  }
}

function isScriptRequest({ type, method }: PausedRequest): boolean {
  return SCRIPT_TYPES.has(type.toLowerCase()) || method === 'POST' || method === 'OPTIONS';
}

/** The method, range and body of a request, which distinguish it from others for the same URL. */
function requestVariant({ method, body, fields }: PausedRequest): string {
  return [method, requestField(fields, 'range') ?? '', body ? hash('sha256', body) : ''].join(' ');
}

/** Chromium reports a prefetch as a request of a script, but scripts cannot set this field. */
function isPrefetch({ fields }: PausedRequest): boolean {
  return /^prefetch\b/.test(requestField(fields, 'sec-purpose') ?? '');
}

/** An event stream never ends, so it cannot be captured. */
function isStream({ type, fields }: PausedRequest): boolean {
  return type === 'EventSource' || requestField(fields, 'accept') === 'text/event-stream';
}

function requestField(fields: PausedRequest['fields'], lowerName: string): string | undefined {
  return Object.entries(fields).find(([name]) => name.toLowerCase() === lowerName)?.[1];
}

/**
 * The fields to send. Range fields are removed from requests of a page, so the whole resource is fetched. Scripts get
 * the range that they request.
 */
function requestFields(request: PausedRequest): Field[] {
  const isWhole = !isScriptRequest(request);
  return Object.entries(request.fields)
    .filter(([name, value]) => {
      const lower = name.toLowerCase();
      if (/^(?:if-)?range$/.test(lower) && (isWhole || value === 'bytes=0-')) return false;
      return !DROPPED_FIELDS.test(lower) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
    })
    .map(([name, value]) => ({ name, value }));
}

function resourceTypeField(request: PausedRequest): Field[] {
  const type = request.type.toLowerCase();
  const resourceType =
    request.method === 'OPTIONS' ? 'preflight' : isScriptRequest(request) && !SCRIPT_TYPES.has(type) ? 'fetch' : type;
  return [{ name: RESOURCE_TYPE_FIELD, value: resourceType }];
}
