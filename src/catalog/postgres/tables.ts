/**
 * The tables of a catalog, in a schema of their own, and their first rows. One database can have several catalogs.
 *
 * - Texts that can have any character are bytes of UTF-8: PostgreSQL's texts cannot have the character 0, and bytes are
 *   compared as bytes.
 * - No column of a large table is ever null, because the first null makes a row 8 bytes larger: a capture without a
 *   content has an empty digest.
 * - References to a content are counted from the index of captures by content. A counter in the row of a popular
 *   content would make all writers wait for one another (design: section 6).
 * - `mark` is the mark of a capture that a commit checked, else empty. Its index makes sure that two writers who add
 *   the same capture at the same moment add it once (C5).
 * - `dead` and `surplus` name records of segments; the dead bytes of a segment are a sum over `dead`.
 * - `server` is the server and the timeline of its log (SERVER) on which a lease was taken, or which is trusted. A
 *   standby that took over has another timeline, and may lack the last commits, so no lease of before counts there.
 * - `counters` has the numbers that the catalog deals. A row that was dealt from stays locked until the commit, so the
 *   numbers become visible in their order (R4).
 */
import { PinakesError } from '../../base/index.ts';
import type { Query } from '../../database/index.ts';
import { URL_KEY_VERSION } from '../../url/index.ts';

/** The version of the tables. It changes with every column, and with the way in which heads of records are read. */
const TABLES_VERSION = 1;
const VERSION = `${TABLES_VERSION} ${URL_KEY_VERSION}`;

/** The server of the database, and the timeline of its log, which changes when a standby takes over. */
export const SERVER = `(select system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) from pg_control_system())`;

const CREATE = (schema: string) => `
create schema if not exists ${schema};
create table ${schema}.captures (
  time bigint not null,
  segment bigint not null,
  record_offset bigint not null,
  record_length bigint not null,
  overflow bigint not null,
  collection integer not null,
  status integer not null,
  hash integer not null,
  kind smallint not null,
  key bytea not null,
  long_key bytea not null,
  url bytea not null,
  mime bytea not null,
  digest bytea not null,
  mark bytea not null,
  primary key (key, time, segment, record_offset)
);
create index captures_of_content on ${schema}.captures (digest, overflow) where digest <> '';
create unique index captures_of_mark on ${schema}.captures (mark) where mark <> '';
create table ${schema}.blocks (
  overflow bigint not null,
  size bigint not null,
  segment bigint not null,
  record_offset bigint not null,
  record_length bigint not null,
  digest bytea not null,
  primary key (digest, overflow)
);
create table ${schema}.segments (
  number bigint primary key,
  sequence bigint not null,
  collection integer not null,
  bytes bigint not null,
  records bigint not null,
  state text not null,
  volume text not null,
  name bytea not null unique,
  roots jsonb,
  parts jsonb,
  lease jsonb,
  last_commit text
);
create table ${schema}.aliases (
  overflow bigint not null,
  declared bytea not null,
  digest bytea not null,
  primary key (declared, digest, overflow)
);
create table ${schema}.notes (name bytea primary key, text bytea not null);
create table ${schema}.dead (
  segment bigint not null,
  record_offset bigint not null,
  record_length bigint not null,
  overflow bigint not null,
  digest bytea not null,
  primary key (segment, record_offset)
);
create table ${schema}.surplus (
  segment bigint not null,
  record_offset bigint not null,
  overflow bigint not null,
  digest bytea not null,
  primary key (segment, record_offset)
);
create table ${schema}.deleted (mark bytea primary key);
create table ${schema}.bars (kind text not null, id bytea not null, value bytea not null, primary key (kind, id));
create table ${schema}.leases (
  name text primary key,
  epoch bigint not null,
  incarnation bigint not null,
  holder text not null,
  server text not null,
  expires timestamptz not null
);
create table ${schema}.counters (name text primary key, next bigint not null);
create table ${schema}.state (
  only_row boolean primary key default true check (only_row),
  incarnation bigint not null,
  is_adopting boolean not null,
  server text not null,
  version text not null
);
insert into ${schema}.counters values ('segment', 1), ('sequence', 1), ('collection', 1);
insert into ${schema}.state values (true, 1, false, ${SERVER}, '${VERSION}');
`;

const NAMES = [
  'captures',
  'blocks',
  'segments',
  'aliases',
  'notes',
  'dead',
  'surplus',
  'deleted',
  'bars',
  'leases',
  'counters',
  'state',
] as const;

/** The tables that `clear` empties. Leases and counters stay, so that no epoch and no number is dealt twice. */
export const CLEARED = NAMES.slice(0, 9);

/** The tables by their names, each with its schema, as statements write them. */
export type Tables = Readonly<Record<(typeof NAMES)[number], string>> & { readonly schema: string };

/** The tables in a schema, whose name is as statements write it. */
export function tablesIn(schema: string): Tables {
  const tables = Object.fromEntries(NAMES.map((name) => [name, `${schema}.${name}`]));
  return { ...(tables as Record<(typeof NAMES)[number], string>), schema };
}

/** Whether the catalog exists. Fails if another version of Pinakes made it. */
export async function haveTables(query: Query, tables: Tables, where: string): Promise<boolean> {
  const [found] = await query(`select to_regclass($1) is not null as exists`, [tables.state]);
  if (found!.exists !== true) return false;
  const [state] = await query(`select version from ${tables.state}`);
  if (state?.version === VERSION) return true;
  const detail = `its tables and keys have the versions ${state?.version}, this release reads ${VERSION}`;
  throw new PinakesError('CATALOG_VERSION', { where, detail });
}

/** Creates the catalog in the transaction of the query, unless another process has just done so. */
export async function createTables(query: Query, tables: Tables, where: string): Promise<void> {
  await query(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [tables.schema]);
  if (!(await haveTables(query, tables, where))) await query(CREATE(tables.schema));
}
