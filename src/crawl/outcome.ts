/** How visits end: what they brought, and what becomes of URLs that were not visited. */
import type { Capture } from '../archive/index.ts';
import type { FailureReason, Truncation } from './fetch/exchange.ts';
import {
  type QueuedUrl,
  type Settlement,
  STATE_DROPPED,
  STATE_FORBIDDEN,
  STATE_UNVERIFIED,
} from './frontier/known-url.ts';
import type { Reading, SitemapReading } from './links/page-links.ts';

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
  /**
   * Reads what the page names; with `omitsReported`, links may be left out that a page named which was read so before. To
   * be called once; its result can be large.
   */
  readonly findLinks: (omitsReported?: boolean) => Promise<PageFindings>;
  /** Whether what is to be read is small and in memory. */
  readonly isInMemory: boolean;
  /** Whether the visit was one of an earlier process. */
  readonly isRecovered: boolean;
  /** Whether a page that was rendered had asked for it, and it was counted then. */
  readonly isCounted: boolean;
  /** Whether the run had visited it before, and it is only read again: everything was counted then. */
  readonly isReadAgain?: boolean;
};

/** What a page names. */
export type PageFindings = {
  readonly reading?: Reading;
  readonly sitemap?: SitemapReading;
  /** Why there may be links that were not read. */
  readonly unreadReason?: string;
};

/** How a visit ended for good: it was made, could not be made, or shall not be. */
export type Settled =
  | Visited
  | ({ readonly kind: 'failed'; readonly settlement: Settlement } & Unreachable)
  | {
      readonly kind: 'skipped';
      readonly settlement: Settlement;
      /** Set for a URL that turned out to be part of a trap. */
      readonly trap?: string;
      /** Whether the settings leave it out. */
      readonly isOutOfScope?: boolean;
    };

/** A visit is worth another try. */
export type Retry = {
  readonly kind: 'retry';
  readonly isBusy: boolean;
  readonly waitMs: number | undefined;
  readonly why: string;
  /** Set when there was no answer. */
  readonly failure?: Unreachable;
};

export type Outcome = Settled | Retry;

/** Why a URL could not be had. */
export type Unreachable = { readonly reason: FailureReason | 'robots-unreachable' | 'busy'; readonly detail: string };

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

/** What comes of a URL that turned out to be part of a trap. */
export function trapped(item: QueuedUrl, trap: string): Settled {
  return { kind: 'skipped', settlement: failedSettlement(item, STATE_DROPPED), trap };
}

/** What comes of a URL that was queued and that the settings leave out. */
export function outOfScope(item: QueuedUrl): Settled {
  return { kind: 'skipped', settlement: failedSettlement(item), isOutOfScope: true };
}

/** What comes of a URL that robots.txt forbids, or whose robots.txt could not be had. */
export function forbidden(item: QueuedUrl, unreachable: Unreachable | undefined): Settled {
  if (unreachable) return { kind: 'failed', settlement: failedSettlement(item), ...unreachable };
  return { kind: 'skipped', settlement: failedSettlement(item, STATE_FORBIDDEN) };
}
