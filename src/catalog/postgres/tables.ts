/**
 * The tables of a catalog, in a schema of their own, and their first rows. One database can have several catalogs.
 *
 * - Texts that can have any character are bytes of UTF-8: PostgreSQL's texts cannot have the character 0, and bytes are
 *   compared as bytes.
 * - No column of a large table is ever null, because the first null makes a row 8 bytes larger: a capture without a
 *   content has an empty digest.
 * - The URL of a capture is kept as its difference from the key (url-difference.ts).
 * - References to a content are counted from the index of captures by content. A counter in the row of a popular
 *   content would make all writers wait for one another (design: section 6). The index has 7 bytes of the digest, which
 *   with the byte of their length take 8; `refersTo` compares the whole digest too.
 * - `mark` is the mark of a capture that a commit checked, else empty. Its index makes sure that two writers who add
 *   the same capture at the same moment add it once (C5).
 * - `dead` and `surplus` name records of segments; the dead bytes of a segment are a sum over `dead`.
 * - `server` is the server and the timeline of its log (SERVER) on which a lease was taken, or which is trusted. A
 *   standby that took over has another timeline, and may lack the last commits, so no lease of before counts there.
 * - `totals` are the sum of its rows. A commit adds what it changes to a row that no other commit is adding to, and
 *   makes another row if there is none (running-totals.ts).
 * - `counters` has the numbers that the catalog deals. A row that was dealt from stays locked until the commit, so the
 *   numbers become visible in their order (R4).
 */
import { PinakesError } from '../../base/index.ts';
import { type Database, type Migration, migrate } from '../../database/index.ts';
import { URL_KEY_VERSION } from '../../url/index.ts';

/** The server of the database, and the timeline of its log, which changes when a standby takes over. */
export const SERVER = `(select system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) from pg_control_system())`;

const CAPTURES_OF_CONTENT: Migration = (schema) =>
  `create index captures_of_content on ${schema}.captures (substr(digest, 1, 7)) where digest <> ''`;
const CAPTURES_OF_MARK: Migration = (schema) =>
  `create unique index captures_of_mark on ${schema}.captures (mark) where mark <> ''`;

const CREATE: Migration = (schema) => `
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
${CAPTURES_OF_CONTENT(schema)};
${CAPTURES_OF_MARK(schema)};
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
create table ${schema}.totals (
  slot bigint generated always as identity primary key,
  captures bigint not null,
  blocks bigint not null,
  revisits bigint not null,
  payload_bytes bigint not null,
  unique_payload_bytes bigint not null
) with (fillfactor = 50);
create table ${schema}.counters (name text primary key, next bigint not null);
create table ${schema}.state (
  only_row boolean primary key default true check (only_row),
  incarnation bigint not null,
  is_adopting boolean not null,
  server text not null,
  url_key_version integer not null
);
insert into ${schema}.counters values ('segment', 1), ('sequence', 1), ('collection', 1);
insert into ${schema}.state values (true, 1, false, ${SERVER}, ${URL_KEY_VERSION});
`;

/**
 * The indexes of the large tables, which are faster to build than to fill. They are built with the names that they have
 * been created with.
 */
export const INDEXES: readonly { readonly drop: Migration; readonly build: Migration }[] = [
  {
    drop: (schema) => `alter table ${schema}.captures drop constraint captures_pkey`,
    build: (schema) =>
      `alter table ${schema}.captures add constraint captures_pkey primary key (key, time, segment, record_offset)`,
  },
  { drop: (schema) => `drop index ${schema}.captures_of_content`, build: CAPTURES_OF_CONTENT },
  { drop: (schema) => `drop index ${schema}.captures_of_mark`, build: CAPTURES_OF_MARK },
  {
    drop: (schema) => `alter table ${schema}.blocks drop constraint blocks_pkey`,
    build: (schema) => `alter table ${schema}.blocks add constraint blocks_pkey primary key (digest, overflow)`,
  },
];

/** The steps to the tables of this release. A step that was released is never changed (migrations.ts). */
const STEPS: readonly Migration[] = [CREATE];

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
  'totals',
  'leases',
  'counters',
  'state',
] as const;

/** The tables that `clear` empties. Leases and counters stay, so that no epoch and no number is dealt twice. */
export const CLEARED = NAMES.slice(0, 10);

/** The tables by their names, each with its schema, as statements write them. */
export type Tables = Readonly<Record<(typeof NAMES)[number], string>> & { readonly schema: string };

/** The tables in a schema, whose name is as statements write it. */
export function tablesIn(schema: string): Tables {
  const tables = Object.fromEntries(NAMES.map((name) => [name, `${schema}.${name}`]));
  return { ...(tables as Record<(typeof NAMES)[number], string>), schema };
}

/** The condition that the capture `c` has the content of the block `b`. */
export const REFERS_TO = `substr(c.digest, 1, 7) = substr(b.digest, 1, 7) and c.digest = b.digest
  and c.overflow = b.overflow and c.digest <> ''`;

/**
 * Makes the tables, or brings them to this release. Keys of URLs cannot be migrated by SQL: a catalog with keys of
 * another version can only be cleared and made again.
 */
export async function makeTables(database: Database): Promise<void> {
  await migrate(database, 'catalog', STEPS);
}

/** Fails if the keys of URLs have another version. */
export async function checkKeys({ query, where }: Database, { state }: Tables): Promise<void> {
  const [row] = await query(`select url_key_version from ${state}`);
  if (row?.url_key_version === URL_KEY_VERSION) return;
  const detail = `its keys of URLs have the version ${String(row?.url_key_version)}, this release reads ${URL_KEY_VERSION}`;
  throw new PinakesError('CATALOG_VERSION', { where, detail });
}
