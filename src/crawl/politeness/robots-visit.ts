/**
 * Visits robots.txt files: fetches them, follows redirects, stores the answers, and decides what they mean.
 *
 * The files of many hosts may redirect to one file. The crawl fetches that file once for all of them, with the delay of
 * its own host.
 */
import type { Archive } from '../../archive/index.ts';
import { EMPTY, type EpochMs } from '../../base/index.ts';
import type { HttpHead } from '../../warc/index.ts';
import type { CrawlCaptures } from '../crawl-captures.ts';
import { type Fetcher, isIncomplete, isTransient, redirectTarget } from '../fetch/exchange.ts';
import { ReceivedBody } from '../fetch/received-body.ts';
import type { RobotsVerdict } from '../frontier/crawl-state.ts';
import { hostName } from '../frontier/frontier-url.ts';
import { contentOf } from '../links/page-links.ts';
import type { Retry, Unreachable } from '../outcome.ts';
import type { VisitOptions } from '../visit.ts';
import { retryAfterMs } from './host-delay.ts';
import type { Turn } from './host-turns.ts';
import { isFresh } from './robots-rules.ts';

const ROBOTS_REDIRECTS_MAX = 5;

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

/** The rules could not be fetched and should be tried again. */
export type RobotsRetry = Omit<Retry, 'isBusy'>;

type RobotsAnswer = {
  readonly status: number;
  readonly head: HttpHead;
  readonly bytes: number;
  readonly content: Uint8Array;
  readonly time: EpochMs;
  readonly isCut: boolean;
  /** Whether another visit fetched the answer and counted it. */
  readonly isShared: boolean;
};

type RobotsFetch = RobotsAnswer | Unreachable | RobotsRetry;

export type RobotsVisitorOptions = {
  readonly archive: Archive;
  readonly fetcher: Fetcher;
  readonly captures: CrawlCaptures;
  /** Waits until a request may be sent to a host; undefined when the host is given up. */
  readonly turnAt: (host: string) => Promise<Turn | undefined>;
};

export type RobotsVisitOptions = Pick<
  VisitOptions,
  'signal' | 'mayBeSent' | 'isLastTry' | 'mayBeDoneBy' | 'onReceived'
>;

export class RobotsVisitor {
  readonly #options: RobotsVisitorOptions;
  /** Running fetches of redirect targets. The key is the URL, and whether this is the last try. */
  readonly #running = new Map<string, Promise<RobotsFetch>>();

  constructor(options: RobotsVisitorOptions) {
    this.#options = options;
  }

  /** Fetches and stores the robots.txt of an origin. */
  async visit(origin: string, options: RobotsVisitOptions): Promise<RobotsOutcome | RobotsRetry> {
    let url = `${origin}/robots.txt`;
    let captures = 0;
    let bytes = 0;
    const forbid = (unreachable: Unreachable): RobotsOutcome => ({
      ...robotsForbidden(unreachable, this.#options.archive.clock()),
      captures,
      bytes,
    });
    for (let redirects = 0; ; redirects++) {
      const done = options.mayBeDoneBy || redirects > 0 ? await this.#stored(url) : undefined;
      const answer = done ?? (await (redirects > 0 ? this.#fetchRedirected(url, options) : this.#fetch(url, options)));
      if ('kind' in answer) return answer;
      if ('reason' in answer) return forbid(answer);
      captures += answer.isShared ? 0 : 1;
      bytes += answer.bytes;
      const next = redirectTarget(url, answer.status, answer.head);
      if (next !== undefined && redirects < ROBOTS_REDIRECTS_MAX) {
        url = next;
        continue;
      }
      const hasRules = answer.status >= 200 && answer.status < 300;
      const fault = isUnavailable(answer.status) ? `answered ${answer.status}` : answer.isCut ? 'was cut' : undefined;
      if (fault !== undefined) return forbid({ reason: 'robots-unreachable', detail: `${url} ${fault}` });
      const body = hasRules ? answer.content : EMPTY;
      const { time } = answer;
      return { kind: 'robots', verdict: hasRules ? 'rules' : 'allow', body, time, captures, bytes };
    }
  }

  async #fetchRedirected(url: string, options: RobotsVisitOptions): Promise<RobotsFetch> {
    // A visit must not wait for a turn while it holds another. If the redirect was found in the archive, the visit
    // still holds the turn for it, which ends here.
    options.onReceived(undefined, 0);
    // A visit at its last try does not share a fetch with visits that have tries left, since a failure means different
    // things to them.
    const shared = `${options.isLastTry} ${url}`;
    const running = this.#running.get(shared);
    if (running) {
      const answer = await running;
      return 'status' in answer ? { ...answer, bytes: 0, isShared: true } : answer;
    }
    const fetching = this.#fetchInTurn(url, options).finally(() => this.#running.delete(shared));
    this.#running.set(shared, fetching);
    return fetching;
  }

  async #fetchInTurn(url: string, options: RobotsVisitOptions): Promise<RobotsFetch> {
    const turn = await this.#options.turnAt(hostName(url));
    if (!turn) return { reason: 'busy', detail: `${url}: the host is given up` };
    try {
      const answer = await this.#fetch(url, {
        ...options,
        mayBeSent: undefined,
        onReceived: (exchange) => turn.end(exchange),
      });
      // All requests to this host must respect the pause, and not the host that redirected alone.
      if ('kind' in answer && answer.waitMs !== undefined) turn.noteRefusal(answer.waitMs);
      return answer;
    } finally {
      turn.end(undefined);
    }
  }

  async #fetch(url: string, options: RobotsVisitOptions): Promise<RobotsFetch> {
    const fetched = await this.#options.fetcher.fetch(
      { url },
      { signal: options.signal, mayBeSent: options.mayBeSent },
    );
    if (fetched.kind === 'failure') {
      const { reason } = fetched;
      const detail = `${url}: ${fetched.detail}`;
      if (!isTransient(reason) || options.isLastTry) return { reason, detail };
      return { kind: 'retry', waitMs: undefined, why: `${reason}: ${detail}`, failure: { reason, detail } };
    }
    const { status, head, time } = fetched;
    if (isUnavailable(status) && !options.isLastTry) {
      fetched.abandon();
      const waitMs = retryAfterMs(head.get('retry-after'), this.#options.archive.clock());
      return { kind: 'retry', waitMs, why: `${url} answered ${status}` };
    }
    const body = await ReceivedBody.receive(fetched, (bytes) => options.onReceived(fetched, bytes));
    // A cut file may lack rules that forbid. A long file is received while it is stored, so check again afterwards.
    const isCut = () => status >= 200 && status < 300 && isIncomplete(fetched.truncated());
    const again: RobotsRetry = { kind: 'retry', waitMs: undefined, why: `${url} was cut` };
    if (isCut() && !options.isLastTry) return again;
    const { capture } = await this.#options.captures.store(fetched, body, undefined);
    if (isCut() && !options.isLastTry) return again;
    const content = body.whole
      ? contentOf(body.whole, head, true)
      : (await this.#options.captures.readResponse(capture))?.content;
    return { status, head, bytes: body.bytes, content: content?.bytes ?? EMPTY, time, isCut: isCut(), isShared: false };
  }

  /**
   * The answer that this crawl captured before. Captures that are a day old, cut, or an error of the host do not count.
   */
  async #stored(url: string): Promise<RobotsAnswer | undefined> {
    const capture = await this.#options.captures.findDone(url);
    if (!capture || !isFresh(capture.time, this.#options.archive.clock()) || isUnavailable(capture.status))
      return undefined;
    const stored = await this.#options.captures.readResponse(capture);
    const { http, head } = await this.#options.archive.open(capture);
    if (!http || isIncomplete(head.get('warc-truncated'))) return undefined;
    const content = stored?.content.bytes ?? EMPTY;
    return { status: capture.status, head: http, bytes: 0, content, time: capture.time, isCut: false, isShared: true };
  }
}

/** The outcome for rules that could not be fetched. */
export function robotsForbidden(unreachable: Unreachable, time: EpochMs): RobotsOutcome {
  return { kind: 'robots', verdict: 'forbid', unreachable, body: EMPTY, time, captures: 0, bytes: 0 };
}

/**
 * Whether an answer says nothing about the rules, because the host failed or is busy. Some busy hosts answer with a 4xx
 * status.
 */
function isUnavailable(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}
