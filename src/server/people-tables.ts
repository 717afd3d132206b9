/**
 * The tables of users in the database of an archive. Every server of the cluster reads and writes them.
 *
 * ```
 *   tokens          named tokens; only the hash of a token
 *   token_charges   bytes stored with a token, in rows that are added and never changed, so that nobody waits for a row
 *   sessions        who is signed in; only the hash of a cookie
 *   people_keys     keys that all servers have: for the cookies of unfinished sign-ins, and for previews of deletions
 *   audit           who did what; rows are only added, which a trigger ensures
 * ```
 */
import { type Database, type Migration, migrate } from '../database/index.ts';
import { newSecretBytes } from './people/secret.ts';

const KEY_BYTES = 32;

const STEPS: readonly Migration[] = [
  (schema) => `
    create table ${schema}.tokens (
      hash text primary key,
      name text not null unique,
      rights jsonb not null,
      collections jsonb,
      created bigint not null,
      expires bigint,
      quota_bytes bigint
    );
    create table ${schema}.token_charges (
      id bigint generated always as identity primary key,
      hash text not null references ${schema}.tokens on delete cascade,
      bytes bigint not null
    );
    create index token_charges_hash on ${schema}.token_charges (hash) include (bytes);
    create table ${schema}.sessions (
      hash text primary key,
      parent text not null,
      facts jsonb not null,
      created bigint not null,
      used bigint not null,
      ends bigint not null
    );
    create index sessions_parent on ${schema}.sessions (parent);
    create index sessions_used on ${schema}.sessions (used);
    create table ${schema}.people_keys (name text primary key, key bytea not null);
    create table ${schema}.audit (
      id bigint generated always as identity primary key,
      time bigint not null,
      who text not null,
      entry jsonb not null
    );
    create index audit_time on ${schema}.audit (time, id);
    create index audit_who on ${schema}.audit (who, time, id);
    create function ${schema}.refuse_audit_change() returns trigger language plpgsql as
      $$ begin raise exception 'the audit log is append-only'; end $$;
    create trigger audit_append_only before update or delete or truncate on ${schema}.audit
      for each statement execute function ${schema}.refuse_audit_change();
  `,
];

/** A key that all servers of the cluster have. It is made when it is first needed. */
export async function sharedKey(database: Database, name: string): Promise<Buffer> {
  await preparePeopleTables(database);
  const table = `${database.schema}.people_keys`;
  await database.query(`insert into ${table} (name, key) values ($1, $2) on conflict do nothing`, [
    name,
    newSecretBytes(KEY_BYTES),
  ]);
  const [row] = await database.query(`select key from ${table} where name = $1`, [name]);
  return row!.key as Buffer;
}

/** Makes the tables, or brings them to the version of this release. */
export async function preparePeopleTables(database: Database): Promise<void> {
  await migrate(database, 'people', STEPS);
}
