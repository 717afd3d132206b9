/**
 * What one page asks for while it is rendered: decides on each request, has it captured, and answers the browser from
 * the capture.
 *
 * ```
 *   the page itself                       its capture, which the visit made before
 *   another page in its place, a popup    refused, and offered as a link
 *   images, styles, scripts, frames...    once a run: from the archive, or by a visit like the crawl's own
 *   prefetches                            left to the crawl
 *   what scripts send and fetch           as they fetchForScript for it, a few times anew; preflights too; but HEAD as GET
 *   forms                                 not sent
 *   sockets, event streams                refused, and counted
 * ```
 * What has begun when the page's time is over is captured to its end; what still waits for its turn is left to the
 * crawl. Nothing that goes wrong here is lost: a failure of the archive is kept, and ends the crawl by `finish`.
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
import type { Tally } from '../report.ts';
import { steadyClock } from '../steady-clock.ts';
import type { Visitor } from '../visit.ts';
import { browserAnswer } from './browser-answer.ts';
import { NOT_AWAITED, PageIdle } from './browser-idle.ts';
import type { BrowserAnswer, PausedRequest } from './browser-process.ts';

/** Requests that a page may make, and what one may send. */
const REQUESTS_MAX = 5000;
const BODY_BYTES_MAX = 1024 * 1024;
/** How often a page may fetchForScript for itself. */
const RELOADS_MAX = 3;
const ANSWERS_MAX = 4;
/** How often a script gets a new answer to the very same request; then it gets the last one again. */
const REPEATS_MAX = 3;
const METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'POST']);

/**
 * Fields that the fetcher sends of itself, or that speak of a connection which is not there, or of a browser that the
 * user agent is not.
 */
const LEFT_OUT =
  /^(?:accept-encoding|connection|content-length|host|keep-alive|proxy-.*|sec-ch-.*|te|trailer|transfer-encoding|upgrade|user-agent)$/;

export type PageRequestsOptions = {
  readonly archive: Archive;
  readonly visitor: Visitor;
  readonly captures: CrawlCaptures;
  readonly frontier: Frontier;
  readonly scope: Scope;
  readonly turns: HostTurns;
  readonly tally: Tally;
  /** Ends with the crawl. */
  readonly signal: AbortSignal;
  /** Notes what a visit for a page brought. */
  readonly note: (item: QueuedUrl, outcome: Settled) => Promise<void>;
  /** Why the rules of an origin could not be had, when they could not. */
  readonly unreachable: (origin: string) => Unreachable | undefined;
  /**
   * Visits for pages that are under way, by URL, over all pages. They give nothing when the page's time was over
   * before.
   */
  readonly visiting: Map<string, Promise<Capture | 'none' | undefined>>;
};

export class PageRequests {
  readonly #options: PageRequestsOptions;
  readonly #page: QueuedUrl;
  readonly #capture: Capture;
  readonly #over = new AbortController();
  readonly #begun = new Set<Promise<unknown>>();
  readonly idle: PageIdle;
  /** What was named and not captured here. */
  readonly links: Link[] = [];
  /** The page's own frame, and whether a frame is that of another window. */
  mainFrame = '';
  isWindow: (frame: string) => boolean = () => false;
  #failure: unknown;
  /** By what was asked; no more than there are requests. */
  readonly #repeated = new Map<string, { times: number; last: Promise<Capture | undefined> | undefined }>();
  #count = 0;
  #loads = 0;
  #answering: Promise<unknown>[] = [];

  constructor(options: PageRequestsOptions, page: QueuedUrl, capture: Capture) {
    this.#options = options;
    this.#page = page;
    this.#capture = capture;
    this.idle = new PageIdle(steadyClock(() => options.archive.clock()));
  }

  /** For the browser: never throws. */
  async answer(request: PausedRequest): Promise<BrowserAnswer | undefined> {
    const isOfScript = isScript(request);
    const end = this.idle.begin(request.url, isOfScript, requestVariant(request));
    try {
      const capture = await this.#captureFor(request, isOfScript, end !== NOT_AWAITED);
      if (!capture || this.#over.signal.aborted) return undefined;
      return await this.#inTurn(() => browserAnswer(this.#options.archive, capture, request.method === 'HEAD'));
    } catch (error) {
      this.#fail(error);
      return undefined;
    } finally {
      end();
    }
  }

  /** No more answers. Waits for what has begun, and gives what went wrong. */
  async finish(): Promise<void> {
    this.#over.abort();
    while (this.#begun.size > 0) await Promise.allSettled([...this.#begun]);
    if (this.#failure !== undefined) throw this.#failure;
  }

  #fail(error: unknown): void {
    const isStopped = this.#options.signal.aborted || error === this.#over.signal.reason;
    if (!isStopped) this.#failure ??= error;
  }

  async #captureFor(request: PausedRequest, isOfScript: boolean, isAwaited: boolean): Promise<Capture | undefined> {
    const { scope, tally } = this.#options;
    const url = frontierUrl(request.url);
    const isForm = request.type === 'Document' && request.method !== 'GET';
    const isBodyAllowed = !request.hasBody || (request.body?.length ?? Number.POSITIVE_INFINITY) <= BODY_BYTES_MAX;
    const isTooMuch = ++this.#count > REQUESTS_MAX || !isBodyAllowed;
    if (url === undefined || isTooMuch || isForm || isStream(request) || !METHODS.has(request.method)) {
      tally.counts.refused++;
      return undefined;
    }
    if (request.type === 'Document') {
      if (request.frame === this.mainFrame) return this.#ownDocument(url);
      if (this.isWindow(request.frame)) return this.#leave(url, 'anchor', false);
    }
    if (!scope.hasRequest(url)) {
      tally.counts.outOfScope++;
      return undefined;
    }
    // A hint for later, without which the page is shown as well: the crawl asks for it once, however many pages give
    // it.
    if (isPrefetch(request)) return this.#leave(url, 'data', true);
    return isOfScript ? this.#ask(request, url, isAwaited) : this.#visit(request, url);
  }

  /** The page may fetchForScript for itself, and for no other in its place: that is a page of its own. */
  #ownDocument(url: string): Capture | undefined {
    if (url !== this.#page.url) return this.#leave(url, 'refresh', false);
    return this.#loads++ <= RELOADS_MAX ? this.#capture : undefined;
  }

  /** Leaves a URL to the crawl. */
  #leave(url: string, kind: LinkKind, isEmbed: boolean): undefined {
    this.links.push({ url, kind, text: '', isNofollow: false, isEmbed });
  }

  /** What a page needs to be shown is asked for once a run, by whichever page is first. */
  async #visit(request: PausedRequest, url: string): Promise<Capture | undefined> {
    const { visiting, captures } = this.#options;
    // What another page did not get to the end of is this page's to fetchForScript for.
    let gotten = await visiting.get(url)?.catch(() => undefined);
    if (gotten) return gotten === 'none' ? undefined : gotten;
    const visit = (async () => (await captures.findDone(url)) ?? (await this.#visitNow(request, url)))();
    visiting.set(url, visit);
    this.#keep(visit);
    try {
      gotten = await visit;
      return gotten === 'none' ? undefined : gotten;
    } finally {
      visiting.delete(url);
    }
  }

  async #visitNow(request: PausedRequest, url: string): Promise<Capture | 'none' | undefined> {
    const { turns, visitor, frontier, note, signal, scope, tally } = this.#options;
    const isPage = request.type === 'Document' && scope.hasPage(url, this.#page.depth);
    const { depth, hops } = this.#page;
    const { isSettled, ...item } = frontier.lookUp({ url, role: 'embed', depth, hops: hops + 1 });
    // What this run could not get or may not have is not tried for every page that wants it.
    if (isSettled) return 'none';
    let turn: Awaited<ReturnType<HostTurns['take']>>;
    try {
      turn = await turns.take(url, this.#over.signal);
    } catch (error) {
      if (error !== this.#over.signal.reason) throw error;
      return this.#leave(url, request.type === 'Document' ? 'frame' : 'image', true);
    }
    if (!turn) {
      // A frame that is a page of the crawl is told of when its turn as a page comes.
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
        // The crawl itself tries it again, with more patience than a page has.
        return this.#leave(url, request.type === 'Document' ? 'frame' : 'image', true);
      }
      // A frame that is a page of the crawl is visited as one later; then what was captured here is found.
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

  /** What a script asks for is asked for as it says, and each time. */
  async #ask(request: PausedRequest, url: string, isAwaited: boolean): Promise<Capture | undefined> {
    const name = `${url} ${requestVariant(request)}`;
    const repeated = this.#repeated.get(name) ?? { times: 0, last: undefined };
    if (++repeated.times > REPEATS_MAX) return repeated.last;
    this.#repeated.set(name, repeated);
    return (repeated.last = this.#askNow(request, url, isAwaited));
  }

  async #askNow(request: PausedRequest, url: string, isAwaited: boolean): Promise<Capture | undefined> {
    const { turns, visitor, signal, tally, frontier } = this.#options;
    const { body, method } = request;
    const { depth, hops } = this.#page;
    const { isSettled: _, ...item } = frontier.lookUp({ url, role: 'embed', depth, hops: hops + 1 });
    let turn: Awaited<ReturnType<HostTurns['take']>>;
    try {
      turn = await turns.take(url, this.#over.signal);
    } catch (error) {
      if (error !== this.#over.signal.reason) throw error;
      // Without the page it can be asked for only by its URL, which is better than not at all.
      return isAwaited && method === 'GET' ? this.#leave(url, 'data', true) : undefined;
    }
    if (!turn) {
      tally.add(this.#forbidden(item));
      return undefined;
    }
    const asking = visitor.fetchForScript(
      {
        url,
        fields: requestFields(request),
        ...(method === 'POST' && { method, body: body ?? new Uint8Array(0) }),
        ...(method === 'OPTIONS' && { method }),
      },
      { signal, recordFields: resourceTypeField(request), onReceived: (exchange) => turn.end(exchange) },
    );
    this.#keep(asking);
    try {
      const asked = await asking;
      if (asked.kind === 'failure') {
        const { reason, detail } = asked;
        tally.add({ kind: 'failed', settlement: failedSettlement(item), reason, detail });
        return undefined;
      }
      const { counts } = tally;
      counts.captures++;
      counts.bytes += asked.bytes;
      counts[asked.isNew ? 'new' : 'duplicate']++;
      if (asked.isBusy) turn.noteRefusal(asked.waitMs);
      return asked.capture;
    } finally {
      turn.end(undefined);
    }
  }

  #keep(work: Promise<unknown>): void {
    this.#begun.add(work);
    work.then(
      () => this.#begun.delete(work),
      (error: unknown) => {
        this.#fail(error);
        this.#begun.delete(work);
      },
    );
  }

  /** Few answers at a time: each is in memory whole. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
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

function isScript({ type, method }: PausedRequest): boolean {
  return SCRIPT_TYPES.has(type.toLowerCase()) || method === 'POST' || method === 'OPTIONS';
}

/** What tells two requests for a URL apart: what they send, and which part they want. */
function requestVariant({ method, body, fields }: PausedRequest): string {
  return [method, fieldValue(fields, 'range') ?? '', body ? hash('sha256', body) : ''].join(' ');
}

/** Chromium calls it a fetch, as if scripts had asked; but those cannot set this field. */
function isPrefetch({ fields }: PausedRequest): boolean {
  return /^prefetch\b/.test(fieldValue(fields, 'sec-purpose') ?? '');
}

/** An event stream has no end, so it has no capture. */
function isStream({ type, fields }: PausedRequest): boolean {
  return type === 'EventSource' || fieldValue(fields, 'accept') === 'text/event-stream';
}

function fieldValue(fields: PausedRequest['fields'], lowerName: string): string | undefined {
  return Object.entries(fields).find(([name]) => name.toLowerCase() === lowerName)?.[1];
}

/** A part is asked for as the whole, so that the whole is what is captured; but scripts get the part that they mean. */
function requestFields(request: PausedRequest): Field[] {
  const isWhole = !isScript(request);
  return Object.entries(request.fields)
    .filter(([name, value]) => {
      const lower = name.toLowerCase();
      if (/^(?:if-)?range$/.test(lower) && (isWhole || value === 'bytes=0-')) return false;
      return !LEFT_OUT.test(lower) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
    })
    .map(([name, value]) => ({ name, value }));
}

function resourceTypeField(request: PausedRequest): Field[] {
  const type = request.type.toLowerCase();
  const told =
    request.method === 'OPTIONS' ? 'preflight' : isScript(request) && !SCRIPT_TYPES.has(type) ? 'fetch' : type;
  return [{ name: RESOURCE_TYPE_FIELD, value: told }];
}
