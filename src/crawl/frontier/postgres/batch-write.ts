/**
 * Writes a batch in one transaction, under the lease of the crawler:
 *
 * 1. The row of the crawler is locked, and its lease checked by the clock of the database. To take a bucket over,
 *    another crawler must mark this row as gone first. So until the commit nobody takes over what this crawler holds.
 * 2. The rows of the hosts are locked in the order of their ids. A transaction that changes URLs of a host holds
 *    its lock.
 * 3. The rows of the URLs are read, changed in memory (`url-table.ts`), and written back.
 */
import { hash } from 'node:crypto';
import { LruCache } from '../../../base/index.ts';
import { type Database, type Query, type Row, rowSet } from '../../../database/index.ts';
import type { LinkKind } from '../../../page/index.ts';
import type { FoundLink } from '../../links/page-links.ts';
import type { CrawlRun } from '../../run.ts';
import { depthMatters } from '../../settings.ts';
import { type FrontierBatch, HOST_ID_STEP, type Visit, type WrittenBatch } from '../frontier.ts';
import { hostName, keyHash, pageHash } from '../frontier-url.ts';
import type { HostFacts } from '../host-facts.ts';
import { isVisited, PAGE_EMBEDS_MAX, STATE_DROPPED } from '../known-url.ts';
import { BUCKETS, type Tables } from './tables.ts';
import { countVariants, ID_COLUMNS, idOf, loadUrls, saveUrls, type UrlId } from './url-rows.ts';
import { type HostRow, UrlTable } from './url-table.ts';

/** How often a batch may need further rows. Each time it is decided from its beginning. */
const PASSES_MAX = 10;
const HOSTS_REMEMBERED_MAX = 50_000;

export function bucketOf(name: string): number {
  return hash('sha256', name, 'buffer').readUInt16BE(0) % BUCKETS;
}

export type CrawlerId = { readonly id: string; readonly epoch: number };

export type BatchWriterOptions = {
  readonly database: Database;
  readonly tables: Tables;
  readonly run: CrawlRun;
  readonly crawler: () => CrawlerId;
};

type Embed = { readonly page: UrlId; readonly link: FoundLink };

type Decided = {
  readonly table: UrlTable;
  readonly written: Omit<WrittenBatch, 'queued'>;
  readonly embeds: readonly Embed[];
};

export class BatchWriter {
  readonly #options: BatchWriterOptions;
  /** The ids of hosts by their names. */
  readonly #hostIds = new LruCache<string, number>(HOSTS_REMEMBERED_MAX, () => 1);

  constructor(options: BatchWriterOptions) {
    this.#options = options;
  }

  /** `rereadsNearer`: see `Frontier`. */
  async write(batch: FrontierBatch, rereadsNearer: boolean): Promise<WrittenBatch> {
    const urls = new Set(urlsOf(batch));
    await this.#makeHosts(urls);
    return this.#options.database.transact(async (query) => this.#write(query, batch, new Set(urls), rereadsNearer));
  }

  async #write(query: Query, batch: FrontierBatch, urls: Set<string>, rereadsNearer: boolean): Promise<WrittenBatch> {
    const { tables, run } = this.#options;
    const [crawl] = await query(
      `select state, moved_seeds, is_begun, exists (select 1 from ${tables.waiting_embeds}) as has_embeds
       from ${tables.crawls} where number = $1 for ${batch.movedSeeds || !batch.visits.length ? 'update' : 'share'}`,
      [run.number],
    );
    const nothing = { queued: [], again: [], unqueuedSitemaps: [], refused: [], lost: batch.visits };
    if (crawl?.state !== 'running') return nothing;
    const held = await this.#heldBuckets(query);
    const visits = batch.visits.filter(({ item }) => held.has(bucketOf(hostName(item.url))));
    const lost = batch.visits.filter((visit) => !visits.includes(visit));
    const tries = batch.tries.filter(({ url }) => held.has(bucketOf(hostName(url))));
    const facts = [...batch.facts].filter(([name]) => held.has(bucketOf(name)));
    const waiting = crawl.has_embeds === true ? await this.#takeEmbeds(query, visits) : new Map<string, FoundLink[]>();
    const hosts = new Map<string, HostRow>();
    const rows = new Map();
    const variants = new Map<string, number>();
    let decided: Decided;
    for (let pass = 1; ; pass++) {
      await this.#read(query, urls, hosts, rows, variants);
      const { urlsPerHostMax } = run.settings;
      const options = { hosts, rows, variants, run: run.number, urlsPerHostMax, rereadsNearer };
      const table = new UrlTable({ ...options, depthMatters: depthMatters(run.settings) });
      decided = decide(table, { ...batch, visits, tries }, waiting);
      if (table.missing.size === 0) break;
      if (pass === PASSES_MAX) throw new Error('the rows of a batch are never complete');
      urls = new Set(table.missing);
      await this.#makeHosts(urls);
    }
    const { table, written, embeds } = decided;
    await saveUrls(query, tables, [...table.changed]);
    const leftOut = await this.#putEmbeds(query, embeds);
    const refused = leftOut === 0 ? written.refused : [...written.refused, { reason: 'embeds', count: leftOut }];
    await this.#saveHosts(query, [...table.changedHosts], facts);
    await this.#saveRun(query, crawl, batch);
    const counts = batch.counts(refused);
    // The pages and bytes of lost visits are taken back with the next batch.
    await query(`update ${tables.crawlers} set counts = $3, pages = $4, bytes = $5 where run = $1 and id = $2`, [
      run.number,
      this.#options.crawler().id,
      JSON.stringify(counts),
      counts.pages,
      counts.bytes,
    ]);
    return { ...written, refused, queued: table.queued, lost };
  }

  /** The buckets that this crawler holds until the commit; none if its lease has ended. */
  async #heldBuckets(query: Query): Promise<Set<number>> {
    const { tables, run, crawler } = this.#options;
    const { id, epoch } = crawler();
    const living = await query(
      `select 1 from ${tables.crawlers}
       where run = $1 and id = $2 and epoch = $3 and not is_gone and expires > clock_timestamp() for update`,
      [run.number, id, epoch],
    );
    if (living.length === 0) return new Set();
    const held = await query(
      `select number from ${tables.crawl_buckets} where run = $1 and crawler = $2 and crawler_epoch = $3`,
      [run.number, id, epoch],
    );
    return new Set(held.map(({ number }) => Number(number)));
  }

  /** Creates the hosts of URLs that have none. Not in the transaction, so that it waits for no lock. */
  async #makeHosts(urls: Iterable<string>): Promise<void> {
    const names = new Set<string>();
    for (const url of urls) {
      const name = hostName(url);
      if (this.#hostIds.get(name) === undefined) names.add(name);
    }
    if (names.size === 0) return;
    const { database, tables, run } = this.#options;
    const sorted = [...names].sort();
    const set = rowSet('r', sorted, HOST_NAME_COLUMNS, 2);
    const select = () =>
      database.query(
        `select h.id, h.name from ${tables.hosts} h join ${set.table} using (name) where h.collection = $1`,
        [run.collection, ...set.values],
      );
    let found = await select();
    if (found.length < sorted.length) {
      await database.query(
        `insert into ${tables.hosts} (id, collection, name, bucket)
         select r.bucket::bigint * ${HOST_ID_STEP} + nextval('${tables.host_numbers}'), $1, r.name, r.bucket
         from ${set.table} on conflict (collection, name) do nothing`,
        [run.collection, ...set.values],
      );
      found = await select();
    }
    for (const { id, name } of found) this.#hostIds.keep(String(name), Number(id));
  }

  /** Locks the hosts of URLs, and reads them with the URLs. */
  async #read(
    query: Query,
    urls: ReadonlySet<string>,
    hosts: Map<string, HostRow>,
    rows: Map<string, unknown>,
    variants: Map<string, number>,
  ): Promise<void> {
    const { tables, run } = this.#options;
    const names = new Set([...urls].map(hostName).filter((name) => !hosts.has(name)));
    if (names.size > 0) {
      const set = rowSet('r', [...names], HOST_NAME_COLUMNS.slice(0, 1), 2);
      const found = await query(
        `select h.id, h.name, h.known, h.queued, h.last_number from ${tables.hosts} h join ${set.table} using (name)
         where h.collection = $1 order by h.id for update of h`,
        [run.collection, ...set.values],
      );
      for (const { id, name, known, queued, last_number } of found)
        hosts.set(String(name), {
          id: Number(id),
          name: String(name),
          known: Number(known),
          queued: Number(queued),
          lastNumber: Number(last_number),
        });
    }
    const ids = new Map<string, UrlId>();
    const keys = new Map<string, UrlId>();
    for (const url of urls) {
      const host = hosts.get(hostName(url));
      if (!host) continue;
      const id = { host: host.id, key: keyHash(url), page: pageHash(url) };
      if (!rows.has(idOf(id))) ids.set(idOf(id), id);
      if (!variants.has(`${id.host} ${id.key}`)) keys.set(`${id.host} ${id.key}`, id);
    }
    for (const [name] of ids) rows.set(name, undefined);
    for (const row of await loadUrls(query, tables, [...ids.values()])) rows.set(idOf(row), row);
    for (const name of keys.keys()) variants.set(name, 0);
    const counted = await countVariants(query, tables, [...keys.values()], run.number, STATE_DROPPED);
    for (const [name, count] of counted) variants.set(name, count);
  }

  /** Takes the embeds that wait for visited pages. */
  async #takeEmbeds(query: Query, visits: readonly Visit[]): Promise<Map<string, FoundLink[]>> {
    const pages = visits
      .filter(({ findings }) => findings && findings.waitingEmbeds !== 'stay')
      .map(({ item }) => item);
    if (pages.length === 0) return new Map();
    const set = rowSet('r', pages, ID_COLUMNS, 1);
    const found = await query(
      `delete from ${this.#options.tables.waiting_embeds} e using ${set.table}
       where e.host = r.host and e.key = r.key and e.page = r.page returning e.host, e.key, e.page, e.url, e.kind`,
      set.values,
    );
    const embeds = new Map<string, FoundLink[]>();
    for (const row of found) {
      const name = `${row.host} ${row.key} ${row.page}`;
      const link = { url: String(row.url), kind: row.kind as LinkKind, isEmbed: true, isNofollow: false };
      embeds.set(name, [...(embeds.get(name) ?? []), link]);
    }
    return embeds;
  }

  /** Lets embeds wait for their pages. Returns how many were left out, since too many wait. */
  async #putEmbeds(query: Query, embeds: readonly Embed[]): Promise<number> {
    if (embeds.length === 0) return 0;
    const { waiting_embeds: table } = this.#options.tables;
    const pages = new Map(embeds.map(({ page }) => [idOf(page), page]));
    const set = rowSet('r', [...pages.values()], ID_COLUMNS, 1);
    const found = await query(
      `select e.host, e.key, e.page, e.embed from ${table} e join ${set.table} using (host, key, page)`,
      set.values,
    );
    const waiting = new Map<string, Set<number>>();
    for (const name of pages.keys()) waiting.set(name, new Set());
    for (const { host, key, page, embed } of found) waiting.get(`${host} ${key} ${page}`)!.add(Number(embed));
    let leftOut = 0;
    const put = embeds.filter(({ page, link }) => {
      const known = waiting.get(idOf(page))!;
      const embed = pageHash(link.url);
      if (known.has(embed)) return false;
      if (known.size >= PAGE_EMBEDS_MAX) leftOut++;
      else known.add(embed);
      return known.has(embed);
    });
    const columns = [
      ...ID_COLUMNS.map(({ name, type, of }) => ({
        name,
        type,
        of: ({ page }: Embed, index: number) => of(page, index),
      })),
      { name: 'embed', type: 'bigint' as const, of: ({ link }: Embed) => pageHash(link.url) },
      { name: 'url', type: 'text' as const, of: ({ link }: Embed) => link.url },
      { name: 'kind', type: 'text' as const, of: ({ link }: Embed) => link.kind },
    ];
    const rows = rowSet('r', put, columns, 1);
    await query(
      `insert into ${table} (host, key, page, embed, url, kind) select host, key, page, embed, url, kind
       from ${rows.table} on conflict do nothing`,
      rows.values,
    );
    return leftOut;
  }

  async #saveHosts(query: Query, changed: readonly HostRow[], facts: readonly (readonly [string, HostFacts])[]) {
    const { tables, run } = this.#options;
    if (changed.length > 0) {
      const set = rowSet('r', changed, HOST_COLUMNS, 1);
      await query(
        `update ${tables.hosts} h set known = r.known, queued = r.queued, last_number = r.last_number
         from ${set.table} where h.id = r.id`,
        set.values,
      );
    }
    await saveFacts(query, tables, run, facts);
  }

  async #saveRun(query: Query, crawl: Row, { movedSeeds, cookies, visits }: FrontierBatch): Promise<void> {
    const { tables, run } = this.#options;
    if (movedSeeds) {
      const all = new Set([...(JSON.parse(String(crawl.moved_seeds)) as string[]), ...movedSeeds]);
      await query(`update ${tables.crawls} set moved_seeds = $2 where number = $1`, [
        run.number,
        JSON.stringify([...all]),
      ]);
    }
    if (crawl.is_begun !== true && visits.length === 0)
      await query(`update ${tables.crawls} set is_begun = true where number = $1`, [run.number]);
    for (const { domain, name, value, setAt, isSecure, isNeeded } of cookies)
      await query(
        `insert into ${tables.cookies} values ($1, $2, $3, $4, $5, $6, $7, clock_timestamp())
         on conflict (run, domain, name) do update set value = excluded.value, set_at = excluded.set_at,
           is_secure = excluded.is_secure, is_needed = excluded.is_needed or cookies.is_needed, changed = excluded.changed`,
        [run.number, domain, name, value ?? null, setAt, isSecure, isNeeded],
      );
  }
}

const HOST_NAME_COLUMNS = [
  { name: 'name', type: 'text' as const, of: (name: string) => name },
  { name: 'bucket', type: 'integer' as const, of: bucketOf },
];

const HOST_COLUMNS = [
  { name: 'id', type: 'bigint' as const, of: ({ id }: HostRow) => id },
  { name: 'known', type: 'bigint' as const, of: ({ known }: HostRow) => known },
  { name: 'queued', type: 'bigint' as const, of: ({ queued }: HostRow) => queued },
  { name: 'last_number', type: 'bigint' as const, of: ({ lastNumber }: HostRow) => lastNumber },
];

/** Writes what the next crawler of the hosts must know. */
export async function saveFacts(
  query: Query,
  { hosts }: Tables,
  { collection, number }: CrawlRun,
  facts: readonly (readonly [string, HostFacts])[],
): Promise<void> {
  if (facts.length === 0) return;
  const sorted = [...facts].sort(([one], [other]) => (one < other ? -1 : 1));
  const columns = [
    { name: 'name', type: 'text' as const, of: ([name]: readonly [string, HostFacts]) => name },
    {
      name: 'pause_ms',
      type: 'bigint' as const,
      of: ([, { pauseMs }]: readonly [string, HostFacts]) => Math.ceil(pauseMs),
    },
    { name: 'facts', type: 'text' as const, of: ([, held]: readonly [string, HostFacts]) => JSON.stringify(held) },
  ];
  const set = rowSet('r', sorted, columns, 3);
  await query(
    `update ${hosts} h set facts = r.facts, facts_run = $2,
       not_before = clock_timestamp() + r.pause_ms * interval '1 millisecond'
     from ${set.table} where h.collection = $1 and h.name = r.name`,
    [collection, number, ...set.values],
  );
}

/** The URLs whose rows a batch needs. */
function* urlsOf({ visits, urls, tries }: FrontierBatch): Generator<string> {
  for (const { offer } of urls) yield offer.url;
  for (const { url } of tries) yield url;
  for (const { item, findings } of visits) {
    yield item.url;
    if (!findings) continue;
    for (const { offer } of findings.urls) yield offer.url;
    for (const { page } of findings.pageEmbeds) yield page;
    if (findings.again) yield findings.again.url;
  }
}

function decide(table: UrlTable, batch: FrontierBatch, waiting: ReadonlyMap<string, readonly FoundLink[]>): Decided {
  const again: string[] = [];
  const unqueuedSitemaps: string[] = [];
  const refused: { reason: string; count: number }[] = [];
  const embeds: Embed[] = [];
  const offerAll = (urls: FrontierBatch['urls']) => {
    for (const found of urls) {
      const verdict = table.offer(found, batch.onlyNew);
      if (verdict !== 'queued' && verdict !== 'known') refused.push({ reason: verdict, count: 1 });
      if (verdict !== 'queued' && found.offer.role === 'sitemap') unqueuedSitemaps.push(found.offer.url);
    }
  };
  offerAll(batch.urls);
  for (const { item, rank, settlement, findings } of batch.visits) {
    if (findings) {
      offerAll(findings.urls);
      for (const { page, links } of findings.pageEmbeds) {
        // A recrawl may leave out known pages, so it accepts pages of earlier runs. A crawl from seeds queues every
        // wanted page again.
        const known = table.find(page, batch.onlyNew);
        if (known && isVisited(known)) offerAll(batch.offersOf(known, links, findings.orGone));
        else if (known) for (const link of links) embeds.push({ page: known, link });
      }
      const links = findings.waitingEmbeds === 'offered' ? (waiting.get(idOf(item)) ?? []) : [];
      if (links.length > 0) offerAll(batch.offersOf(settlement.item, links, findings.orGone));
    }
    table.settle(
      rank === undefined ? { ...settlement, item: table.addUnqueued(item) } : settlement,
      rank !== undefined,
    );
    if (findings?.again && table.queueRedirectAgain(findings.again.url, findings.again.hops, findings.again.since))
      again.push(findings.again.url);
  }
  for (const item of batch.tries) table.countTry(item);
  return { table, written: { again, unqueuedSitemaps, refused, lost: [] }, embeds };
}
