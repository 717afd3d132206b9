/**
 * The frontier of one run: the known URLs of its collection, and the queue of URLs to visit, by host and in order of
 * rank. `frontier/sqlite/` has it for one process, `frontier/postgres/` for any number of crawlers that work on the run
 * together. test/contract/frontier.ts has the rules as tests:
 *
 * - A URL is stored in its normal form, under the hash of its key. URLs with the same key differ in scheme, `www.`,
 *   letter case, session id or a trailing slash. If one run finds more than VARIANTS_MAX of them, the rest is a trap.
 * - A URL is queued once in a run. It leaves the queue when it is settled, in the transaction that queues the links
 *   found on it, and after its captures were acknowledged. So a URL that was being visited when a process died is still
 *   queued.
 * - Which path to a page a crawl finds first is random, and so is the depth of this path. Where depth matters, a page
 *   that is found again at a smaller depth gets that depth. Its links are nearer too: a first crawl reads such a page
 *   again without a fetch, if it was visited already.
 * - The first role of a URL is random in the same way. A URL that is queued as a page moves up to the embeds when a
 *   visited page needs it. A seed stays a page.
 * - A crawler asks only hosts that it leases. Hosts are leased in buckets. A lease ends with the life of its crawler,
 *   which each renewal prolongs by the clock of the database. Nothing that a crawler writes under a lease that has
 *   ended takes effect (I13).
 * - What a crawler learned of a host (its pause, its back-off) is written with the visits, and the next holder of the
 *   lease reads it. If a crawler dies, the next holder counts the pause from the end of the lease.
 */
import type { FoundLink } from '../links/page-links.ts';
import type { CrawlCounts, CrawlReport, FrontierTotals } from '../report.ts';
import type { Cookie } from './cookie.ts';
import type { EarlierVisits, HostFacts } from './host-facts.ts';
import type { KnownUrl, Offer, QueuedUrl, Settlement } from './known-url.ts';

export type Verdict = 'queued' | 'known' | 'host-full' | 'variant';

/** A URL that leaves the frontier to be visited, with its rank in the queue. */
export type TakenUrl = QueuedUrl & { readonly rank: number };

export type QueuedHost = { readonly id: number; readonly name: string; readonly queued: number };

/** A leased host with queued URLs. */
export type LeasedHost = QueuedHost & {
  readonly earlier: EarlierVisits;
  /** Whether a crawler that died may have visited some of its queued URLs. */
  readonly mayBeVisited: boolean;
};

/** A found URL. `orGone`: it is queued even in a recrawl if the collection knows it as gone. */
export type FoundUrl = { readonly offer: Offer; readonly orGone: boolean };

/** What a visit found. */
export type Findings = {
  readonly urls: readonly FoundUrl[];
  /** Embeds that a sitemap lists for pages. Until its page is captured, the embed waits. */
  readonly pageEmbeds: readonly { readonly page: string; readonly links: readonly FoundLink[] }[];
  /** What happens to the embeds that wait for this page: they are offered with its links, deleted, or stay. */
  readonly waitingEmbeds: 'offered' | 'deleted' | 'stay';
  /** The target of a redirect that is visited again, unless it was visited after `since` or did not redirect. */
  readonly again: { readonly url: string; readonly hops: number; readonly since: number } | undefined;
  readonly orGone: boolean;
};

export type Visit = {
  readonly item: QueuedUrl;
  /** The rank at which the URL was taken; undefined for a request of a rendered page, which was never queued. */
  readonly rank: number | undefined;
  readonly settlement: Settlement;
  readonly findings: Findings | undefined;
};

/** Everything that one transaction writes. */
export type FrontierBatch = {
  readonly visits: readonly Visit[];
  /** URLs that no visit found: seeds, and sitemaps that robots.txt files name. */
  readonly urls: readonly FoundUrl[];
  /** URLs whose visit failed and will be tried again. */
  readonly tries: readonly QueuedUrl[];
  /** The facts of hosts by their names. */
  readonly facts: ReadonlyMap<string, HostFacts>;
  readonly cookies: readonly Cookie[];
  /** The URLs that seeds redirected to, if there are new ones. */
  readonly movedSeeds: readonly string[] | undefined;
  /** Whether URLs that earlier runs know are left out. */
  readonly onlyNew: boolean;
  /** The offers for embeds that waited for a page. Called once or more. */
  readonly offersOf: (page: QueuedUrl, links: readonly FoundLink[], orGone: boolean) => readonly FoundUrl[];
  /** The counts of this crawler after the batch. Called once or more, each time with the refused URLs. */
  readonly counts: (refused: readonly Refusal[]) => CrawlCounts;
};

/** URLs that were not queued, with a reason other than that they are known. */
export type Refusal = { readonly reason: string; readonly count: number };

export type WrittenBatch = {
  /** Each queued URL. A URL that was queued already has a new rank. */
  readonly queued: readonly { readonly host: string; readonly rank: number }[];
  /** Targets of redirects that are visited again. */
  readonly again: readonly string[];
  /** Sitemaps that were not queued. */
  readonly unqueuedSitemaps: readonly string[];
  readonly refused: readonly Refusal[];
  /** Visits that had no effect, because the lease of their host has ended. Their URLs are still queued. */
  readonly lost: readonly Visit[];
};

export type ReadRequest = { readonly host: number; readonly after: number; readonly count: number };

/** News of the other crawlers, and of the leases. */
export type FrontierNews = {
  /** Buckets whose lease has ended. Their hosts must not be asked any more, and nothing of them may be written. */
  readonly lost: readonly number[];
  /** Buckets that must be given back, since other crawlers have none or need them. */
  readonly wanted: readonly number[];
  readonly movedSeeds: readonly string[];
  readonly cookies: readonly Cookie[];
};

/** How a crawler left its run. */
export type RunEnd =
  /** This crawler is the one that ends the run. */
  | {
      readonly kind: 'last';
      readonly counts: CrawlCounts;
      readonly failedUrls: UrlReasons;
      readonly partlyReadUrls: UrlReasons;
    }
  /** Other crawlers go on with the run. */
  | {
      readonly kind: 'left';
      readonly counts: CrawlCounts;
      readonly failedUrls: UrlReasons;
      readonly partlyReadUrls: UrlReasons;
    }
  /** Another crawler has ended the run. */
  | { readonly kind: 'ended'; readonly report: CrawlReport }
  /** There are queued URLs, for example of a crawler that died. */
  | { readonly kind: 'unfinished' };

export type UrlReasons = CrawlReport['failedUrls'];

/** What a crawler reports about itself besides its counts. */
export type CrawlerFindings = { readonly failedUrls: UrlReasons; readonly partlyReadUrls: UrlReasons };

/** The number of the bucket of a host, which is leased with all its other hosts. */
export function bucketOfHost(id: number): number {
  return Math.floor(id / HOST_ID_STEP);
}

/** The id of a host is the number of its bucket times this, plus a number within the bucket. */
export const HOST_ID_STEP = 2 ** 32;

export interface Frontier {
  /** Whether other crawlers may work on this run. */
  readonly isShared: boolean;
  /** What the run counted before this process worked on it; undefined if this crawler counts from 0. */
  readonly countsBefore: CrawlCounts | undefined;
  /** How long the crawlers of this run have worked on it since it was begun or resumed. */
  readonly elapsedMsBefore: number;
  /** The pages and bytes that the other crawlers of this run have counted. */
  readonly others: { readonly pages: number; readonly bytes: number };
  /**
   * Set when the limit of pages is reached. From then on the queue returns the embeds that visited pages need, and
   * nothing else.
   */
  onlyNeeds: boolean;
  /** Whether visited pages that are found again at a smaller depth are read again. */
  rereadsNearer: boolean;
  /** Whether pages may be queued that are seeds, or targets of redirects from seeds. Such pages may widen the scope. */
  readonly hasQueuedSeeds: boolean;

  write(batch: FrontierBatch): Promise<WrittenBatch>;
  /** Leased hosts with queued URLs whose id is greater than `after`, in order of id. Leases more hosts as needed. */
  hosts(after: number, count: number): Promise<readonly LeasedHost[]>;
  /** For each request the next URLs of a host after a rank, in order. They include URLs that are being visited. */
  read(requests: readonly ReadRequest[]): Promise<readonly (readonly TakenUrl[])[]>;
  /**
   * Leases a host by its name, whether or not it has queued URLs. Waits while another crawler holds it. Returns its
   * facts, if they are not known to this crawler. Throws when the signal is aborted.
   */
  reserve(name: string, signal: AbortSignal): Promise<EarlierVisits | undefined>;
  /** Whether a visit of a host may begin now. */
  mayAsk(name: string): boolean;
  /** Whether a request of a visit may be sent to a host now. Asked just before each request. */
  holds(name: string): boolean;
  /** Notes that this crawler needs these hosts no more. Everything about them must have been written. */
  release(hosts: ReadonlyMap<string, HostFacts>): Promise<void>;
  /** The news since the last call; undefined if there are none. */
  news(): FrontierNews | undefined;
  /**
   * How many pages this crawler may visit in all. `used`: how many it has visited or is visiting. Never shrinks below
   * `used` while that many are in use.
   */
  pagesAllowed(used: number): number;
  /** Asks for more pages when `pagesAllowed` are used. Returns whether there may ever be more. */
  askForPages(used: number): Promise<boolean>;

  /**
   * Returns a URL that this run found, or with `orEarlier` any run. Undefined when the URL is unknown, gone or dropped.
   */
  find(url: string, orEarlier: boolean): Promise<KnownUrl | undefined>;
  /**
   * Returns a URL that a rendered page requests, with the results of its earlier visits, and whether this run has
   * settled it. An unknown URL is returned as a new one.
   */
  lookUp(offer: Offer): Promise<QueuedUrl & { readonly isSettled: boolean }>;
  totals(): Promise<FrontierTotals>;
  /** Whether nothing is left to do in this run, neither for this crawler nor for another. */
  isFinished(): Promise<boolean>;
  /** Queues the URLs of a recrawl that `isWanted`. Returns how many known URLs are not wanted. */
  planRecrawl(isWanted: (known: Pick<Offer, 'url' | 'role' | 'depth'>) => boolean): Promise<number>;
  /** Leaves the run. All visits must have been written. Waits for other crawlers if this run is over. */
  end(
    outcome: CrawlReport['outcome'],
    findings: CrawlerFindings,
    counts: CrawlCounts,
    signal?: AbortSignal,
  ): Promise<RunEnd>;
  /** URLs that this run found to be gone. */
  goneUrls(): Promise<string[]>;
  /** Writes the report of the run, and ends it. */
  finish(report: CrawlReport): Promise<void>;
  /** Stops renewing leases. Everything that this crawler holds is given back. */
  close(): Promise<void>;
}
