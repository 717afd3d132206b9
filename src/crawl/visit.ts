/**
 * One visit: a URL is fetched, what came back is stored while it comes, and only then is anything concluded from it.
 *
 * A visit that an earlier process made and could not note any more is found in the archive and not made again. A page that the server says is unchanged
 * becomes a revisit of the capture whose validators were sent.
 */
import { type Archive, type Capture, rangeOfKey } from '../archive/index.ts';
import { type EpochMs, PinakesError } from '../base/index.ts';
import { urlKey } from '../url/index.ts';
import type { Field, HttpHead } from '../warc/index.ts';
import {
  type Exchange,
  type FailureReason,
  type Fetcher,
  type FetchFailure,
  type FetchRequest,
  isPassing,
  type Truncation,
} from './exchange.ts';
import {
  isGone,
  isPageRole,
  type QueuedUrl,
  READ_AGAIN,
  type Settlement,
  STATE_DONE,
  STATE_DROPPED,
  STATE_FORBIDDEN,
  STATE_GONE,
  STATE_UNVERIFIED,
} from './known-url.ts';
import type { UnreadPage } from './link-batch.ts';
import type { LinkReader } from './link-reader.ts';
import { retryAfterMs } from './pace.ts';
import {
  type Content,
  contentOf,
  mayHaveLinks,
  mimeOf,
  READ_BYTES_MAX,
  type Reading,
  type SitemapReading,
} from './page-links.ts';
import { ReceivedBody } from './received-body.ts';
import { ROBOTS_FRESH_MS } from './robots-rules.ts';
import { type CrawlSettings, heedsDepth } from './settings.ts';

/** What a capture brought, in the words of the report. */
export type Novelty = 'new' | 'duplicate' | 'unchanged';

export type Visited = {
  readonly kind: 'visited';
  readonly capture: Capture;
  readonly settlement: Settlement;
  readonly novelty: Novelty;
  /** Whether the server said that nothing changed. */
  readonly isNotModified: boolean;
  readonly mime: string;
  readonly bytes: number;
  readonly truncated: Truncation | undefined;
  readonly redirect: string | undefined;
  /** Reads what the page names; with `onlyUntold`, links may be left out that a page named which was read so before. To be called once; its result can be large. */
  readonly learn: (onlyUntold?: boolean) => Promise<Learned>;
  /** Whether what is to be read is small and in memory. */
  readonly isAtHand: boolean;
  /** Whether the visit was one of an earlier process. */
  readonly isRecovered: boolean;
  /** Whether a page that was rendered had asked for it, and it was counted then. */
  readonly isCounted: boolean;
  /** Whether the run had visited it before, and it is only read again: everything was counted then. */
  readonly isReadAgain?: boolean;
};

/** What a page names. */
export type Learned = {
  readonly reading?: Reading;
  readonly sitemap?: SitemapReading;
  /** Why there may be links that were not read. */
  readonly unread?: string;
};

/** A response to read links from. */
export type Source = { readonly head: HttpHead; readonly content: Content };
type Unread = Pick<UnreadPage, 'head' | 'bytes' | 'isDecoded' | 'isWhole'>;

/** How a visit ended for good: it was made, could not be made, or shall not be. */
export type Settled =
  | Visited
  | ({ readonly kind: 'failed'; readonly settlement: Settlement } & Unreachable)
  | { readonly kind: 'skipped'; readonly settlement: Settlement };

/** A visit is worth another try. */
export type Retry = {
  readonly kind: 'retry';
  readonly isBusy: boolean;
  readonly waitMs: number | undefined;
  readonly why: string;
};

export type Outcome = Settled | Retry;

export type RobotsVerdict = 'rules' | 'allow' | 'forbid';

/** Why a URL could not be had. */
export type Unreachable = { readonly reason: FailureReason | 'robots-unreachable' | 'busy'; readonly detail: string };

export type RobotsOutcome = {
  readonly kind: 'robots';
  /** Set when the verdict is `forbid`. */
  readonly unreachable?: Unreachable;
  readonly verdict: RobotsVerdict;
  readonly body: Uint8Array;
  readonly time: EpochMs;
  readonly captures: number;
  readonly bytes: number;
};

/** Rules could not be had, and are worth another try. */
export type RobotsRetry = Omit<Retry, 'isBusy'>;

export type VisitOptions = {
  readonly signal?: AbortSignal | undefined;
  readonly isLastTry: boolean;
  /** Who may have made this visit before: a process that was interrupted, or a page of this one that was rendered. */
  readonly maybeDone: 'resumed' | 'asked' | undefined;
  /** Fields of the request, and of its record. */
  readonly fields?: readonly Field[];
  readonly recordFields?: readonly Field[];
  /** Called when the response is all in, and what is left is to store it. */
  readonly onReceived: (exchange: Exchange | undefined, bytes: number) => void;
};

/** What a script on a page asked for, stored. */
export type Asked = {
  readonly kind: 'asked';
  readonly capture: Capture;
  readonly isNew: boolean;
  readonly bytes: number;
  /** Whether the host asked to be left alone, and for how long. */
  readonly isBusy: boolean;
  readonly waitMs: number | undefined;
};

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Answers that say "later": not kept while there are tries left. */
export const LATER: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);
const HTML = new Set(['text/html', 'application/xhtml+xml']);
const ROBOTS_REDIRECTS_MAX = 5;
const DIGEST_BYTES = 8;

/** What a page asked for a resource as, as the field's crawlers with browsers write it. */
export const RESOURCE_TYPE_FIELD = 'WARC-Resource-Type';
/** Asked for by scripts, perhaps with something sent along: such an answer is no answer to a plain visit of the URL. */
export const SCRIPT_TYPES: ReadonlySet<string> = new Set([
  'xhr',
  'fetch',
  'ping',
  'eventsource',
  'preflight',
  'cspviolationreport',
]);

export class Visitor {
  readonly #archive: Archive;
  readonly #fetcher: Fetcher;
  readonly #links: LinkReader;
  readonly #settings: CrawlSettings;
  readonly #startedAt: EpochMs;
  readonly #isAgain: boolean;
  #collection: number | undefined;
  /** Visits by URL, where pages are rendered. */
  readonly #underWay = new Map<string, Promise<unknown>>();

  constructor(
    archive: Archive,
    fetcher: Fetcher,
    links: LinkReader,
    settings: CrawlSettings,
    run: { readonly startedAt: EpochMs; readonly isAgain: boolean },
  ) {
    this.#archive = archive;
    this.#fetcher = fetcher;
    this.#links = links;
    this.#settings = settings;
    this.#startedAt = run.startedAt;
    this.#isAgain = run.isAgain;
  }

  async visit(item: QueuedUrl, options: VisitOptions): Promise<Outcome> {
    if (this.#settings.browser === 'none') return this.#visitAlone(item, options);
    // The crawl and a page that is rendered may want the same at the same time; who comes second takes what the first got.
    for (let other = this.#underWay.get(item.url); other; other = this.#underWay.get(item.url))
      await other.catch(() => {});
    const visit = this.#visitAlone(item, options);
    this.#underWay.set(item.url, visit);
    try {
      return await visit;
    } finally {
      this.#underWay.delete(item.url);
    }
  }

  async #visitAlone(item: QueuedUrl, options: VisitOptions): Promise<Outcome> {
    const isReadAgain = item.tries === READ_AGAIN;
    if (options.maybeDone || isReadAgain) {
      const capture = await this.findDone(item.url);
      const recovered = capture && (await this.#recover(item, capture, options.maybeDone === 'asked'));
      if (recovered) return isReadAgain ? readAgain(recovered) : recovered;
    }
    const earlier = item.captured === undefined ? undefined : await this.#earlier(item);
    const fields = [...(options.fields ?? []), ...(earlier ? validatorFields(item) : [])];
    const fetched = await this.#fetcher.fetch({ url: item.url, fields }, options.signal && { signal: options.signal });
    if (fetched.kind === 'failure') {
      const { reason, detail } = fetched;
      if (isPassing(reason) && !options.isLastTry)
        return { kind: 'retry', isBusy: false, waitMs: undefined, why: `${reason}: ${detail}` };
      return { kind: 'failed', settlement: failedSettlement(item), reason, detail };
    }
    if (LATER.has(fetched.status) && !options.isLastTry) {
      fetched.abandon();
      const waitMs = retryAfterMs(fetched.head.get('retry-after'), this.#archive.clock());
      return { kind: 'retry', isBusy: true, waitMs, why: `status ${fetched.status}` };
    }
    if (this.#settings.htmlOnly && isPageRole(item.role) && fetched.status === 200 && !HTML.has(mimeOf(fetched.head))) {
      fetched.abandon();
      return {
        kind: 'skipped',
        settlement: { ...failedSettlement(item), state: STATE_DROPPED, status: fetched.status },
      };
    }
    return this.#keep(item, fetched, earlier, options);
  }

  async #keep(
    item: QueuedUrl,
    exchange: Exchange,
    earlier: Capture | undefined,
    { onReceived, recordFields }: VisitOptions,
  ): Promise<Visited> {
    const isRead = hasContent(exchange.status) && (item.role === 'sitemap' || mayHaveLinks(exchange.head));
    const body = await ReceivedBody.receive(exchange, (bytes) => onReceived(exchange, bytes));
    const notModified = exchange.status === 304 ? earlier : undefined;
    const { capture, isNew } = await this.#store(exchange, body, notModified, recordFields);
    const isUnmodified = saysUnmodified(capture);
    const digest = capture.block?.digest.subarray(0, DIGEST_BYTES);
    const isSame =
      isUnmodified || (digest !== undefined && item.digest !== undefined && Buffer.compare(digest, item.digest) === 0);
    const truncated = exchange.truncated();
    const learns = (isRead || isUnmodified) && !(isSame && this.#isAgain);
    const kept = isRead && learns ? body.whole : undefined;
    const { head } = exchange;
    const source = async () => (kept ? { head, bytes: kept, isDecoded: false, isWhole: true } : this.#unread(capture));
    return {
      kind: 'visited',
      capture,
      settlement: this.#settlement(item, exchange.status, exchange.head, capture, { digest, isSame, truncated }),
      novelty: isNew ? 'new' : isSame ? 'unchanged' : 'duplicate',
      isNotModified: isUnmodified,
      mime: mimeOf(exchange.head),
      bytes: body.bytes,
      truncated,
      redirect: redirectOf(item.url, exchange.status, exchange.head),
      learn: learns ? (onlyUntold) => this.#learn(item, source, truncated, onlyUntold) : learnNothing,
      isAtHand: kept !== undefined || !learns,
      isRecovered: false,
      isCounted: false,
    };
  }

  /** Sends what a script on a page sends, and stores what comes back. It is no visit: nothing is concluded from it. */
  async ask(
    request: FetchRequest,
    { signal, recordFields, onReceived }: Pick<VisitOptions, 'signal' | 'recordFields' | 'onReceived'>,
  ): Promise<Asked | FetchFailure> {
    const fetched = await this.#fetcher.fetch(request, signal && { signal });
    if (fetched.kind === 'failure') return fetched;
    const body = await ReceivedBody.receive(fetched, (bytes) => onReceived(fetched, bytes));
    const { capture, isNew } = await this.#store(fetched, body, undefined, recordFields);
    const waitMs = retryAfterMs(fetched.head.get('retry-after'), this.#archive.clock());
    return { kind: 'asked', capture, isNew, bytes: body.bytes, isBusy: LATER.has(fetched.status), waitMs };
  }

  #store(
    exchange: Exchange,
    body: ReceivedBody,
    notModified: Capture | undefined,
    recordFields: readonly Field[] = [],
  ) {
    return this.#archive.store(
      {
        kind: 'http',
        url: exchange.url,
        time: exchange.time,
        responseHead: body.head,
        http: exchange.head,
        body: body.source,
        request: exchange.request,
        fields: () => [...exchange.fields(), ...recordFields],
        ...(notModified && { notModified }),
      },
      { collection: this.#settings.collection },
    );
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
    const isUnmodified = saysUnmodified(capture);
    const isSure = !isRefusal(status) && !isLost(truncated) && (status !== 304 || isUnmodified);
    // Validators of a body that was cut would have the server say that the cut body is still right.
    const keepsValidators = truncated === undefined && (status === 200 || isUnmodified);
    // What a server that fails says is no content of the page; what was known of that holds still.
    const earlier = isUnmodified || isRefusal(status) ? item : undefined;
    const etag = keepsValidators ? head?.get('etag') : undefined;
    const modified = keepsValidators ? head?.get('last-modified') : undefined;
    return {
      item,
      state: isGone(status) ? STATE_GONE : isSure ? STATE_DONE : STATE_UNVERIFIED,
      status: isUnmodified ? item.status : status,
      verified: isSure ? capture.time : undefined,
      captured: keepsValidators ? capture.time : undefined,
      etag: etag ?? earlier?.etag,
      modified: modified ?? earlier?.modified,
      digest: isSure ? digest : undefined,
      isChanged: item.digest === undefined || !isSure ? undefined : !isSame,
    };
  }

  async #learn(
    item: QueuedUrl,
    open: () => Promise<Unread | undefined>,
    truncated: Truncation | undefined,
    onlyUntold = false,
  ): Promise<Learned> {
    let source: Unread | undefined;
    try {
      source = await open();
    } catch (error) {
      // What was captured a moment ago may have been deleted since; a crawl does not end for that.
      if (!(error instanceof PinakesError) || error.retryable) throw error;
      return { unread: `the capture cannot be read: ${error.code}` };
    }
    if (!source) return {};
    const { head, bytes, isDecoded, isWhole: hasAll } = source;
    const isSitemap = item.role === 'sitemap';
    const learned: Learned = await this.#links.read({
      url: item.url,
      head,
      bytes,
      isDecoded,
      isWhole: hasAll,
      isSitemap,
      onlyUntold,
      depth: heedsDepth(this.#settings) ? item.depth : 0,
    });
    if (learned.unread !== undefined) return learned;
    const isWhole = learned.sitemap?.isWhole ?? learned.reading!.isWhole;
    if (truncated && mayHaveLinks(source.head)) return { ...learned, unread: `the body was cut: ${truncated}` };
    return isWhole ? learned : { ...learned, unread: 'there is more in it than is read' };
  }

  /** The capture whose validators may be sent: the archive has to have its content still. */
  async #earlier(item: QueuedUrl): Promise<Capture | undefined> {
    if (!this.#settings.conditional || item.captured === undefined) return undefined;
    if (item.etag === undefined && item.modified === undefined) return undefined;
    const [found] = await this.#archive.catalog.findCaptures([{ urlKey: urlKey(item.url), time: item.captured }]);
    const capture = found!.find(({ url, block }) => url === item.url && block !== undefined);
    if (!capture) return undefined;
    const [block] = await this.#archive.catalog.getBlocks([capture.block!]);
    return block && capture;
  }

  /** A capture of this very crawl, that was acknowledged and not noted, or that a page had asked for. What scripts asked for is none. */
  async findDone(url: string): Promise<Capture | undefined> {
    this.#collection ??= await this.#archive.collections.number(this.#settings.collection);
    const range = { ...rangeOfKey(urlKey(url)), timeFrom: this.#startedAt };
    for await (const page of this.#archive.catalog.captures(range)) {
      for (const capture of page) {
        if (capture.url !== url || capture.collection !== this.#collection) continue;
        if (this.#settings.browser === 'none' || !(await this.#isOfScript(capture))) return capture;
      }
    }
    return undefined;
  }

  async #isOfScript({ place }: Capture): Promise<boolean> {
    const [head] = await this.#archive.access.heads([place]);
    return SCRIPT_TYPES.has(head?.get(RESOURCE_TYPE_FIELD.toLowerCase()) ?? '');
  }

  async #recover(item: QueuedUrl, capture: Capture, isCounted: boolean): Promise<Visited> {
    const { http, head } = await this.#archive.open(capture);
    const isUnmodified = saysUnmodified(capture);
    const digest = capture.block?.digest.subarray(0, DIGEST_BYTES);
    const isSame =
      isUnmodified || (digest !== undefined && item.digest !== undefined && Buffer.compare(digest, item.digest) === 0);
    const mark = capture.kind === 'revisit' ? undefined : head.get('warc-truncated');
    const truncated = mark === 'length' || mark === 'time' || mark === 'disconnect' ? mark : undefined;
    const isRead = hasContent(capture.status) || isUnmodified;
    const learns = isRead && !(isSame && this.#isAgain);
    return {
      kind: 'visited',
      capture,
      settlement: this.#settlement(item, capture.status, http, capture, { digest, isSame, truncated }),
      novelty: isSame ? 'unchanged' : capture.kind === 'revisit' ? 'duplicate' : 'new',
      isNotModified: isUnmodified,
      mime: capture.mime,
      bytes: 0,
      truncated,
      redirect: http && redirectOf(item.url, capture.status, http),
      learn: learns ? () => this.#learn(item, () => this.#unread(capture), truncated) : learnNothing,
      isAtHand: !learns,
      isRecovered: !isCounted,
      isCounted,
    };
  }

  async #unread(capture: Capture): Promise<Unread | undefined> {
    const stored = await this.stored(capture);
    return stored && { head: stored.head, ...stored.content, isDecoded: true };
  }

  /** What a capture holds, decoded, as far as links are looked for. */
  async stored(capture: Capture): Promise<Source | undefined> {
    const { http, holderHttp, payload } = await this.#archive.open(capture);
    const head = capture.status === 304 ? holderHttp : http;
    if (!head) return undefined;
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of payload) {
      bytes += piece.length;
      if (bytes > READ_BYTES_MAX) break;
      parts.push(Buffer.from(piece));
    }
    const content = contentOf(Buffer.concat(parts), holderHttp ?? head, false);
    return { head, content: bytes > READ_BYTES_MAX ? { ...content, isWhole: false } : content };
  }

  /** Fetches and keeps the robots.txt of an origin. */
  async visitRobots(origin: string, options: VisitOptions): Promise<RobotsOutcome | RobotsRetry> {
    let url = `${origin}/robots.txt`;
    let captures = 0;
    let bytes = 0;
    const forbid = (unreachable: Unreachable): RobotsOutcome => {
      const time = this.#archive.clock();
      return { kind: 'robots', verdict: 'forbid', unreachable, body: EMPTY, time, captures, bytes };
    };
    for (let redirects = 0; ; redirects++) {
      const done = options.maybeDone ? await this.#storedRobots(url) : undefined;
      const answer = done ?? (await this.#fetchRobots(url, options));
      if ('kind' in answer) return answer;
      if ('reason' in answer) return forbid(answer);
      captures += done ? 0 : 1;
      bytes += answer.bytes;
      const next = redirectOf(url, answer.status, answer.head);
      if (next !== undefined && redirects < ROBOTS_REDIRECTS_MAX) {
        url = next;
        continue;
      }
      const hasRules = answer.status >= 200 && answer.status < 300;
      const fault = isNoAnswer(answer.status) ? `answered ${answer.status}` : answer.isCut ? 'was cut' : undefined;
      if (fault !== undefined) return forbid({ reason: 'robots-unreachable', detail: `${url} ${fault}` });
      const body = hasRules ? answer.content : EMPTY;
      const { time } = answer;
      return { kind: 'robots', verdict: hasRules ? 'rules' : 'allow', body, time, captures, bytes };
    }
  }

  async #fetchRobots(url: string, options: VisitOptions): Promise<RobotsAnswer | Unreachable | RobotsRetry> {
    const fetched = await this.#fetcher.fetch({ url }, options.signal && { signal: options.signal });
    if (fetched.kind === 'failure') {
      const { reason } = fetched;
      const detail = `${url}: ${fetched.detail}`;
      if (!isPassing(reason) || options.isLastTry) return { reason, detail };
      return { kind: 'retry', waitMs: undefined, why: `${reason}: ${detail}` };
    }
    const { status, head, time } = fetched;
    if (isNoAnswer(status) && !options.isLastTry) {
      fetched.abandon();
      const waitMs = retryAfterMs(head.get('retry-after'), this.#archive.clock());
      return { kind: 'retry', waitMs, why: `${url} answered ${status}` };
    }
    const body = await ReceivedBody.receive(fetched, (bytes) => options.onReceived(fetched, bytes));
    // Rules without their end may lack those that forbid. Of a long file it is known only when it is stored.
    const isCut = () => status >= 200 && status < 300 && isLost(fetched.truncated());
    const again: RobotsRetry = { kind: 'retry', waitMs: undefined, why: `${url} was cut` };
    if (isCut() && !options.isLastTry) return again;
    const { capture } = await this.#store(fetched, body, undefined);
    if (isCut() && !options.isLastTry) return again;
    const content = body.whole ? contentOf(body.whole, head, true) : (await this.stored(capture))?.content;
    return { status, head, bytes: body.bytes, content: content?.bytes ?? EMPTY, time, isCut: isCut() };
  }

  /** What this very crawl captured; days ago, or cut, or when the host had no answer, it does not hold any more. */
  async #storedRobots(url: string): Promise<RobotsAnswer | undefined> {
    const capture = await this.findDone(url);
    if (!capture || capture.time < this.#archive.clock() - ROBOTS_FRESH_MS || isNoAnswer(capture.status))
      return undefined;
    const stored = await this.stored(capture);
    const { http, head } = await this.#archive.open(capture);
    if (!http || isLost(head.get('warc-truncated'))) return undefined;
    const content = stored?.content.bytes ?? EMPTY;
    return { status: capture.status, head: http, bytes: 0, content, time: capture.time, isCut: false };
  }
}

type RobotsAnswer = {
  readonly status: number;
  readonly head: HttpHead;
  readonly bytes: number;
  readonly content: Uint8Array;
  readonly time: EpochMs;
  readonly isCut: boolean;
};

/** Whether links are read from what came; so too from a list of choices (300), which leads on by nothing else. */
function hasContent(status: number): boolean {
  return status >= 200 && status <= 300;
}

/** Whether a server said of the content before that it is still right. Said to a request that had not asked for it, that brings nothing. */
function saysUnmodified({ status, kind }: Capture): boolean {
  return status === 304 && kind === 'revisit';
}

/** Whether what came for a robots.txt says nothing of its rules: the host failed, or has no time now, which it says by a status of those that mean that there are none. */
function isNoAnswer(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}

/** Whether a server only says that it has nothing to say of the page. */
function isRefusal(status: number): boolean {
  return status >= 429 || status === 408;
}

/** Whether a body lacks what another try may bring. */
function isLost(truncated: string | undefined): boolean {
  return truncated === 'time' || truncated === 'disconnect';
}

const EMPTY = new Uint8Array(0);

/** A visit of which nothing is concluded that was concluded before. */
function readAgain(visited: Visited): Visited {
  return { ...visited, settlement: { ...visited.settlement, isChanged: undefined }, isReadAgain: true };
}

async function learnNothing(): Promise<Learned> {
  return {};
}

/** A URL that could not be visited: what was known of it stays as it was. */
export function failedSettlement(item: QueuedUrl, state = STATE_UNVERIFIED): Settlement {
  const { status, etag, modified } = item;
  return {
    item,
    state,
    status,
    verified: undefined,
    captured: undefined,
    etag,
    modified,
    digest: undefined,
    isChanged: undefined,
  };
}

/** What comes of a URL that robots.txt forbids, or whose robots.txt could not be had. */
export function forbidden(item: QueuedUrl, unreachable: Unreachable | undefined): Settled {
  if (unreachable) return { kind: 'failed', settlement: failedSettlement(item), ...unreachable };
  return { kind: 'skipped', settlement: failedSettlement(item, STATE_FORBIDDEN) };
}

function validatorFields({ etag, modified }: QueuedUrl): Field[] {
  const fields: Field[] = [];
  if (etag !== undefined) fields.push({ name: 'If-None-Match', value: etag });
  if (modified !== undefined) fields.push({ name: 'If-Modified-Since', value: modified });
  return fields.filter(({ value }) => /^[\x20-\x7e]+$/.test(value));
}

function redirectOf(url: string, status: number, head: HttpHead): string | undefined {
  const location = REDIRECTS.has(status) ? head.get('location') : undefined;
  return location === undefined ? undefined : URL.parse(location, url)?.href;
}
