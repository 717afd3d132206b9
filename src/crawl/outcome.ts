/** How visits end: the result of a visit, and the outcome of a URL that was not visited. */
import type { Capture } from '../archive/index.ts';
import type { FailureReason, Truncation } from './fetch/exchange.ts';
import {
  type QueuedUrl,
  type Settlement,
  STATE_DROPPED,
  STATE_FORBIDDEN,
  STATE_UNVERIFIED,
} from './frontier/known-url.ts';
import type { PageFindings } from './links/link-batch.ts';

/** What a capture added to the archive, in the words of the report. */
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
  /**
   * Reads the links of the page. With `omitsReported`, it may leave out links that were reported for another page. It
   * must be called once only, since the result can be large.
   */
  readonly findLinks: (omitsReported?: boolean) => Promise<PageFindings>;
  /** Whether the bytes that links are read from are few and in memory. */
  readonly isInMemory: boolean;
  /** Whether an earlier process made the visit. */
  readonly isRecovered: boolean;
  /** Whether a rendered page had requested the URL before. The capture was counted then. */
  readonly isCounted: boolean;
  /** Whether this run visited the page before and now reads it again. The visit was counted then. */
  readonly isReadAgain?: boolean;
};

/** The final outcome of a URL: its visit was made, failed, or must not be made. */
export type Settled =
  | Visited
  | ({ readonly kind: 'failed'; readonly settlement: Settlement } & Unreachable)
  | {
      readonly kind: 'skipped';
      readonly settlement: Settlement;
      /** Set for a URL that is part of a trap. */
      readonly trap?: string;
      /** Whether the settings exclude the URL. */
      readonly isOutOfScope?: boolean;
    };

/** The visit should be tried again. */
export type Retry = {
  readonly kind: 'retry';
  readonly isBusy: boolean;
  readonly waitMs: number | undefined;
  readonly why: string;
  /** Set when there was no answer. */
  readonly failure?: Unreachable;
};

export type VisitOutcome = Settled | Retry;

/** Why a URL could not be fetched. */
export type Unreachable = { readonly reason: FailureReason | 'robots-unreachable' | 'busy'; readonly detail: string };

/** The settlement of a URL that could not be visited. It keeps the results of earlier visits. */
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

/** The outcome of a URL that is part of a trap. */
export function trapped(item: QueuedUrl, trap: string): Settled {
  return { kind: 'skipped', settlement: failedSettlement(item, STATE_DROPPED), trap };
}

/** The outcome of a queued URL that the settings exclude. */
export function outOfScope(item: QueuedUrl): Settled {
  return { kind: 'skipped', settlement: failedSettlement(item), isOutOfScope: true };
}

/** The outcome of a URL that robots.txt forbids, or whose robots.txt could not be fetched. */
export function forbidden(item: QueuedUrl, unreachable: Unreachable | undefined): Settled {
  if (unreachable) return { kind: 'failed', settlement: failedSettlement(item), ...unreachable };
  return { kind: 'skipped', settlement: failedSettlement(item, STATE_FORBIDDEN) };
}
