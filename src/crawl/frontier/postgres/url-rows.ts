/** Rows of URLs and hosts: read for a batch, changed in memory, and written back. */
import { type Column, namesOf, type Query, type Row, rowSet } from '../../../database/index.ts';
import { type QueuedUrl, queuedUrlOf } from '../known-url.ts';
import type { Tables } from './tables.ts';

export type UrlId = { readonly host: number; readonly key: number; readonly page: number };

/** A URL of the collection. `rank` is null if it is not queued. */
export type UrlRow = UrlId & {
  readonly url: string;
  run: number;
  state: number;
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
  visits: number;
  changes: number;
  watched: number;
  rank: number | null;
};

export const ID_COLUMNS: readonly Column<UrlId>[] = [
  { name: 'host', type: 'bigint', of: ({ host }) => host },
  { name: 'key', type: 'bigint', of: ({ key }) => key },
  { name: 'page', type: 'bigint', of: ({ page }) => page },
];

const URL_COLUMNS: readonly Column<UrlRow>[] = [
  ...ID_COLUMNS,
  { name: 'rank', type: 'bigint', of: ({ rank }) => rank },
  { name: 'run', type: 'bigint', of: ({ run }) => run },
  { name: 'captured', type: 'bigint', of: ({ captured }) => captured },
  { name: 'verified', type: 'bigint', of: ({ verified }) => verified },
  { name: 'watched', type: 'bigint', of: ({ watched }) => watched },
  { name: 'depth', type: 'integer', of: ({ depth }) => depth },
  { name: 'hops', type: 'integer', of: ({ hops }) => hops },
  { name: 'tries', type: 'integer', of: ({ tries }) => tries },
  { name: 'status', type: 'integer', of: ({ status }) => status },
  { name: 'visits', type: 'integer', of: ({ visits }) => visits },
  { name: 'changes', type: 'integer', of: ({ changes }) => changes },
  { name: 'state', type: 'smallint', of: ({ state }) => state },
  { name: 'role', type: 'smallint', of: ({ role }) => role },
  { name: 'url', type: 'text', of: ({ url }) => url },
  { name: 'etag', type: 'text', of: ({ etag }) => withoutNull(etag) },
  { name: 'modified', type: 'text', of: ({ modified }) => withoutNull(modified) },
  { name: 'digest', type: 'bytea', of: ({ digest }) => digest },
];

/** The database refuses this character in a text. */
function withoutNull(text: string | null): string | null {
  return text?.replaceAll('\0', '') ?? null;
}

export const URL_NAMES = namesOf(URL_COLUMNS, 'u');

/** A row as the driver gives it has the columns as fields. */
export function urlRowOf(row: Row): UrlRow {
  return row as unknown as UrlRow;
}

export function queuedOf(row: UrlRow): QueuedUrl {
  return queuedUrlOf(row);
}

export function idOf({ host, key, page }: UrlId): string {
  return `${host} ${key} ${page}`;
}

export async function loadUrls(query: Query, { urls }: Tables, ids: readonly UrlId[]): Promise<UrlRow[]> {
  if (ids.length === 0) return [];
  const set = rowSet('r', ids, ID_COLUMNS, 1);
  const found = await query(`select ${URL_NAMES} from ${urls} u join ${set.table} using (host, key, page)`, set.values);
  return found.map(urlRowOf);
}

/** How many URLs of each key a run has found, without those that are part of a trap. */
export async function countVariants(
  query: Query,
  { urls }: Tables,
  keys: readonly UrlId[],
  run: number,
  dropped: number,
): Promise<Map<string, number>> {
  if (keys.length === 0) return new Map();
  const set = rowSet('r', keys, ID_COLUMNS.slice(0, 2), 3);
  const found = await query(
    `select u.host, u.key, count(*) as count from ${urls} u join ${set.table} using (host, key)
     where u.run = $1 and u.state <> $2 group by u.host, u.key`,
    [run, dropped, ...set.values],
  );
  return new Map(found.map(({ host, key, count }) => [`${host} ${key}`, Number(count)]));
}

export async function saveUrls(query: Query, { urls }: Tables, rows: readonly UrlRow[]): Promise<void> {
  if (rows.length === 0) return;
  const set = rowSet('r', rows, URL_COLUMNS, 1);
  const names = namesOf(URL_COLUMNS);
  const changed = URL_COLUMNS.slice(ID_COLUMNS.length).map(({ name }) => `${name} = excluded.${name}`);
  await query(
    `insert into ${urls} (${names}) select ${names} from ${set.table}
     on conflict (host, key, page) do update set ${changed.join(', ')}`,
    set.values,
  );
}
