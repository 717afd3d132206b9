/**
 * The tables of a part of the archive (the catalog, the frontier, jobs, ...), brought to the version that this release
 * uses. Each part has a list of steps; the database notes how many of them were made. Steps are never changed once
 * released, only added. All missing steps are made in one transaction, by one process at a time.
 */
import { PinakesError } from '../base/index.ts';
import type { Database, Query } from './database.ts';

/** One or more statements, with the schema as statements write it. */
export type Migration = (schema: string) => string;

/** Makes the steps that the database lacks. Fails if a newer release has made more. */
export async function migrate(database: Database, part: string, steps: readonly Migration[]): Promise<void> {
  const { schema } = database;
  if ((await versionOf(database, part, steps.length, database.query)) === steps.length) return;
  const make = async (query: Query) => {
    await query(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [schema]);
    await query(`create schema if not exists ${schema}`);
    await query(`create table if not exists ${schema}.versions (part text primary key, version integer not null)`);
    const version = await versionOf(database, part, steps.length, query);
    if (version >= steps.length) return;
    for (const step of steps.slice(version)) await query(step(schema));
    await query(
      `insert into ${schema}.versions values ($1, $2) on conflict (part) do update set version = excluded.version`,
      [part, steps.length],
    );
  };
  await database.transact(make, { isLong: true });
}

/** How many steps of the part were made. */
async function versionOf({ schema, where }: Database, part: string, made: number, query: Query): Promise<number> {
  const [found] = await query('select to_regclass($1) is not null as exists', [`${schema}.versions`]);
  if (found!.exists !== true) return 0;
  const [row] = await query(`select version from ${schema}.versions where part = $1`, [part]);
  const version = Number(row?.version ?? 0);
  if (version <= made) return version;
  const detail = `its tables of the ${part} have version ${version}, this release knows ${made}`;
  throw new PinakesError('CATALOG_VERSION', { where, detail });
}
