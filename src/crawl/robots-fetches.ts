/** Fetches the robots.txt files that the visits of a crawl wait for, and tries again what failed. */
import type { Archive } from '../archive/index.ts';
import type { Clock } from '../base/index.ts';
import { originOf } from './frontier/frontier-url.ts';
import type { Unreachable } from './outcome.ts';
import type { ActiveHost } from './politeness/active-host.ts';
import type { HostDelay } from './politeness/host-delay.ts';
import type { Turn } from './politeness/host-turns.ts';
import type { RobotsCache } from './politeness/robots-cache.ts';
import type { RobotsRules } from './politeness/robots-rules.ts';
import {
  type RobotsOutcome,
  type RobotsRetry,
  type RobotsVisitOptions,
  type RobotsVisitor,
  robotsForbidden,
} from './politeness/robots-visit.ts';
import type { CrawlTally } from './report.ts';
import type { VisitOptions } from './visit.ts';

export type RobotsFetchesOptions = {
  readonly archive: Archive;
  readonly robots: RobotsCache;
  readonly visitor: RobotsVisitor;
  readonly tally: CrawlTally;
  readonly clock: Clock;
  readonly isLastTry: (tries: number) => boolean;
  /** Whether the name of a host does not resolve although the network works. */
  readonly isNameMissing: (delay: HostDelay, failure: Pick<Unreachable, 'reason'> | undefined) => boolean;
  readonly mayBeDoneBy: (host?: ActiveHost) => VisitOptions['mayBeDoneBy'];
  /** Called when a fetch failed and will be tried again. */
  readonly onRetry: (host: ActiveHost, url: string, why: string) => void;
};

export class RobotsFetches {
  readonly #options: RobotsFetchesOptions;

  constructor(options: RobotsFetchesOptions) {
    this.#options = options;
  }

  /** Fetches the robots.txt that a URL of a host waits for. */
  async fetch(
    host: ActiveHost,
    url: string,
    options: Omit<RobotsVisitOptions, 'isLastTry' | 'mayBeDoneBy'>,
  ): Promise<void> {
    const origin = originOf(url);
    const tries = host.robotsTries.get(origin) ?? 0;
    const isLastTry = this.#options.isLastTry(tries);
    host.fetchingRobots = origin;
    try {
      const mayBeDoneBy = this.#options.mayBeDoneBy(host);
      const outcome = await this.#options.visitor.visit(origin, { ...options, isLastTry, mayBeDoneBy });
      if (outcome.kind === 'robots') await this.#take(origin, outcome);
      else await this.#retry(host, origin, url, outcome, tries);
    } finally {
      host.fetchingRobots = undefined;
    }
  }

  async #retry(host: ActiveHost, origin: string, url: string, retry: RobotsRetry, tries: number): Promise<void> {
    const { clock, tally, archive, isNameMissing, onRetry } = this.#options;
    const { failure, waitMs, why } = retry;
    const now = clock();
    const isMissing = isNameMissing(host.delay, failure);
    if (isMissing && !host.delay.noteMissingName(now)) {
      await this.#take(origin, robotsForbidden(failure!, archive.clock()));
      return;
    }
    tally.counts.retried++;
    host.robotsTries.set(origin, tries + 1);
    if (!isMissing) host.delay.noteRefusal(now, waitMs);
    onRetry(host, url, why);
  }

  /** Fetches the robots.txt that a request of a rendered page waits for. */
  async fetchInTurn(
    origin: string,
    turn: Turn,
    tries: number,
    delay: HostDelay,
    signal: AbortSignal,
  ): Promise<RobotsRules | undefined> {
    const { visitor, tally, clock, isLastTry, isNameMissing, mayBeDoneBy } = this.#options;
    const outcome = await visitor.visit(origin, {
      signal,
      isLastTry: isLastTry(tries),
      mayBeDoneBy: mayBeDoneBy(),
      onReceived: (exchange) => turn.end(exchange),
    });
    if (outcome.kind === 'robots') return this.#take(origin, outcome);
    tally.counts.retried++;
    // A rendered page does not wait until the name is looked up again.
    if (isNameMissing(delay, outcome.failure)) delay.noteMissingName(clock());
    else turn.noteRefusal(outcome.waitMs);
    return undefined;
  }

  #take(origin: string, outcome: RobotsOutcome): Promise<RobotsRules> {
    const { tally, robots } = this.#options;
    tally.counts.captures += outcome.captures;
    tally.counts.bytes += outcome.bytes;
    return robots.put(origin, outcome);
  }
}
