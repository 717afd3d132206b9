/**
 * A URL of a collection as the frontier knows it: where it stands, what it is wanted for, what earlier visits left, and
 * how a visit ended.
 */
import type { EpochMs } from '../../base/index.ts';

export const STATE_QUEUED = 0;
export const STATE_DONE = 1;
/** Could not be fetched; tried first the next time. */
export const STATE_UNVERIFIED = 2;
/** Forbidden by robots.txt. */
export const STATE_FORBIDDEN = 3;
/** 404 or 410. */
export const STATE_GONE = 4;
/** A trap, or of a kind that is not wanted. */
export const STATE_DROPPED = 5;

export function isGone(status: number): boolean {
  return status === 404 || status === 410;
}

/** In place of the tries of a queued URL: it was visited in this run, and is to be read again. */
export const READ_AGAIN = -1;

/** `frame`: a page of the crawl that another one shows within itself. */
export type Role = 'page' | 'embed' | 'sitemap' | 'frame';
export const ROLES: readonly Role[] = ['page', 'embed', 'sitemap', 'frame'];

export function isPageRole(role: Role): boolean {
  return role === 'page' || role === 'frame';
}

/** A URL that something named. */
export type Offer = {
  /** As `frontierUrl` writes it. */
  readonly url: string;
  readonly role: Role;
  readonly depth: number;
  /** Redirects and embeddings since the page. */
  readonly hops: number;
  /** Whether a page asks for it ahead of time, or a script does: it may be a page as well. */
  readonly isHint?: boolean;
};

export type QueuedUrl = Offer & {
  readonly host: number;
  readonly key: number;
  readonly page: number;
  readonly tries: number;
  /** What earlier visits left. */
  readonly status: number;
  readonly captured: EpochMs | undefined;
  readonly verified: EpochMs | undefined;
  readonly etag: string | undefined;
  readonly modified: string | undefined;
  readonly digest: Uint8Array | undefined;
};

/** How a visit ended. */
export type Settlement = {
  readonly item: QueuedUrl;
  readonly state: number;
  readonly status: number;
  /** When the page was last known to be as captured. */
  readonly verified: EpochMs | undefined;
  readonly captured: EpochMs | undefined;
  readonly etag: string | undefined;
  readonly modified: string | undefined;
  readonly digest: Uint8Array | undefined;
  /** Whether the content differs from the one before; undefined when there is nothing to compare. */
  readonly isChanged: boolean | undefined;
};

/** A URL's row in the state of crawls; see `CrawlState`. */
export type UrlRow = {
  host: number;
  key: number;
  page: number;
  url: string;
  role: number;
  depth: number;
  hops: number;
  tries: number;
  status: number;
  captured: number | null;
  verified: number | null;
  etag: string | null;
  modified: string | null;
  digest: Uint8Array | null;
};

export function queuedUrlOf(row: UrlRow): QueuedUrl {
  const { host, key, page, url, depth, hops, tries, status } = row;
  return {
    host,
    key,
    page,
    url,
    depth,
    hops,
    tries,
    status,
    role: ROLES[row.role]!,
    captured: row.captured ?? undefined,
    verified: row.verified ?? undefined,
    etag: row.etag ?? undefined,
    modified: row.modified ?? undefined,
    digest: row.digest ?? undefined,
  };
}

/** Whether this may be a seed, or what one led to by redirects. */
export function isSeed({ role, depth }: Offer): boolean {
  return isPageRole(role) && depth === 0;
}
