/**
 * A URL of a collection in the frontier: its state, its role, the results of earlier visits, and the result of the last
 * visit.
 */
import type { EpochMs } from '../../base/index.ts';

export const STATE_QUEUED = 0;
export const STATE_DONE = 1;
/** The URL could not be fetched. The next crawl visits it first. */
export const STATE_UNVERIFIED = 2;
/** The robots.txt of the host forbids the URL. */
export const STATE_FORBIDDEN = 3;
/** The server answered 404 or 410. */
export const STATE_GONE = 4;
/** The URL is part of a trap, or its document is not wanted. */
export const STATE_DROPPED = 5;

export function isGoneStatus(status: number): boolean {
  return status === 404 || status === 410;
}

/** The value of `tries` for a queued URL that this run has visited, and that is read again without a fetch. */
export const READ_AGAIN = -1;

/** `frame`: a page of the crawl that another page shows in a frame. */
export type Role = 'page' | 'embed' | 'sitemap' | 'frame';
export const ROLES: readonly Role[] = ['page', 'embed', 'sitemap', 'frame'];

export function isPageRole(role: Role): boolean {
  return role === 'page' || role === 'frame';
}

/** How many embeds may wait for one page, from all sitemaps and runs. This is ten times the limit of search engines. */
export const PAGE_EMBEDS_MAX = 10_000;

/** A found URL, for example a link of a page. */
export type Offer = {
  /** The URL in the form of `frontierUrl`. */
  readonly url: string;
  readonly role: Role;
  readonly depth: number;
  /** How many redirects and embeddings lead from the page to this URL. */
  readonly hops: number;
  /** Whether the page prefetches this URL without showing it. It may be a page itself. */
  readonly isHint?: boolean;
};

export type QueuedUrl = Offer & {
  readonly host: number;
  readonly key: number;
  readonly page: number;
  readonly tries: number;
  /** The results of earlier visits. */
  readonly status: number;
  readonly captured: EpochMs | undefined;
  readonly verified: EpochMs | undefined;
  readonly etag: string | undefined;
  readonly modified: string | undefined;
  readonly digest: Uint8Array | undefined;
};

/** A URL that a run found, and whether it has visited it. */
export type KnownUrl = QueuedUrl & { readonly isDone: boolean };

/** Whether this run has content or a redirect of the URL, and not an error. */
export function isVisited({ isDone, status }: KnownUrl): boolean {
  return isDone && isKeptStatus(status);
}

/** Whether a response with this status is content or a redirect, and not an error. */
export function isKeptStatus(status: number): boolean {
  return status < 400;
}

/** The result of a visit. */
export type Settlement = {
  readonly item: QueuedUrl;
  readonly state: number;
  readonly status: number;
  /** When a visit last found this content. */
  readonly verified: EpochMs | undefined;
  readonly captured: EpochMs | undefined;
  readonly etag: string | undefined;
  readonly modified: string | undefined;
  readonly digest: Uint8Array | undefined;
  /** Whether the content differs from that of the last visit; undefined when there is nothing to compare. */
  readonly isChanged: boolean | undefined;
};

/** The row of a URL in the state of crawls; see `CrawlState`. */
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

/** Whether this may be a seed, or the target of redirects from a seed. */
export function isSeed({ role, depth }: Offer): boolean {
  return isPageRole(role) && depth === 0;
}
