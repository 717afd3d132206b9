/** What the tests of frontiers share: a state of crawls to test, and short forms of batches. */
import {
  CRAWL_DEFAULTS,
  type CrawlSettings,
  type CrawlState,
  type Findings,
  type FoundUrl,
  type Frontier,
  type FrontierBatch,
  type HostFacts,
  type Offer,
  STATE_DONE,
  type TakenUrl,
  type WrittenBatch,
  zeroCounts,
} from '../../src/crawl/index.ts';

/** A state of crawls that another process would open again with `open`. */
export type StateUnderTest = {
  readonly open: () => CrawlState;
  readonly dispose: () => Promise<void>;
};

const ALL = 10_000;

/** Begins a run, and works on it. */
export async function beginRun(
  state: CrawlState,
  settings: Partial<CrawlSettings> = {},
  kind: 'first' | 'again' = 'first',
  seeds: readonly string[] = [],
): Promise<Frontier> {
  const run = await state.begin({ kind, seeds, movedSeeds: [], settings: { ...CRAWL_DEFAULTS, ...settings } });
  const frontier = await state.frontier(run, false);
  frontier.rereadsNearer = kind === 'first';
  await write(frontier, {});
  return frontier;
}

/** Ends a run as done, whatever is queued. */
export async function finishRun(state: CrawlState, frontier: Frontier): Promise<void> {
  const [run] = await state.runs(undefined, 1);
  await frontier.close();
  await state.drop(run!);
}

export function page(path: string, depth = 1, more: Partial<Offer> = {}): Offer {
  return { url: path.startsWith('http') ? path : `http://a.test/${path}`, role: 'page', depth, hops: 0, ...more };
}

export function embed(path: string, depth = 1, more: Partial<Offer> = {}): Offer {
  return page(path, depth, { role: 'embed', hops: 1, ...more });
}

export function write(frontier: Frontier, batch: Partial<FrontierBatch>): Promise<WrittenBatch> {
  return frontier.write({
    visits: [],
    urls: [],
    tries: [],
    facts: new Map<string, HostFacts>(),
    cookies: [],
    movedSeeds: undefined,
    onlyNew: false,
    offersOf: () => [],
    counts: () => zeroCounts(),
    ...batch,
  });
}

/** Offers a URL, and returns what became of it. */
export async function offer(frontier: Frontier, offered: Offer, onlyNew = false, orGone = false): Promise<string> {
  const { queued, refused } = await write(frontier, { urls: [{ offer: offered, orGone }], onlyNew });
  return refused[0]?.reason ?? (queued.length > 0 ? 'queued' : 'known');
}

export async function offerAll(frontier: Frontier, offers: readonly Offer[], onlyNew = false): Promise<WrittenBatch> {
  return write(frontier, { urls: found(offers), onlyNew });
}

export function found(offers: readonly Offer[]): FoundUrl[] {
  return offers.map((offered) => ({ offer: offered, orGone: false }));
}

/** The queue of a host of leased hosts. */
export async function queueOf(frontier: Frontier, name = 'a.test'): Promise<readonly TakenUrl[]> {
  const host = (await frontier.hosts(-1, ALL)).find((one) => one.name === name);
  if (!host) return [];
  const [urls] = await frontier.read([{ host: host.id, after: -1, count: ALL }]);
  return urls!;
}

/** The queue as texts: role, depth and path. */
export async function queueTexts(frontier: Frontier, name?: string): Promise<string[]> {
  return (await queueOf(frontier, name)).map(({ role, depth, url }) => `${role} ${depth} ${new URL(url).pathname}`);
}

export type SettleOptions = {
  readonly state?: number;
  readonly status?: number;
  readonly verified?: number;
  readonly isChanged?: boolean;
  readonly findings?: Partial<Findings>;
  readonly offersOf?: FrontierBatch['offersOf'];
  readonly onlyNew?: boolean;
};

export async function settle(
  frontier: Frontier,
  item: TakenUrl,
  {
    state = STATE_DONE,
    status = 200,
    verified,
    isChanged,
    findings,
    offersOf = () => [],
    onlyNew = false,
  }: SettleOptions = {},
): Promise<WrittenBatch> {
  const none = { urls: [], pageEmbeds: [], waitingEmbeds: 'stay' as const, again: undefined, orGone: false };
  const settlement = {
    item,
    state,
    status,
    verified,
    captured: undefined,
    etag: undefined,
    modified: undefined,
    digest: undefined,
    isChanged,
  };
  const visit = { item, rank: item.rank, settlement, findings: findings && { ...none, ...findings } };
  return write(frontier, { visits: [visit], offersOf, onlyNew });
}

export async function take(frontier: Frontier, path: string): Promise<TakenUrl> {
  const { url } = page(path);
  const item = (await queueOf(frontier, new URL(url).host)).find((queued) => queued.url === url);
  if (!item) throw new Error(`${url} is not queued`);
  return item;
}

export async function settleAll(frontier: Frontier, options: SettleOptions = {}): Promise<void> {
  for (const item of await queueOf(frontier)) await settle(frontier, item, options);
}
