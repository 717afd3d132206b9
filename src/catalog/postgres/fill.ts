/**
 * Fills an empty catalog with all rows of another one, in one transaction: without its indexes, which are built at the
 * end. A process that dies meanwhile leaves the catalog as it was.
 */
import { EMPTY, PinakesError, utf8 } from '../../base/index.ts';
import { type Column, type Connection, type Query, rowSet } from '../../database/index.ts';
import type { Capture, DeadRecord, Segment, SurplusRecord } from '../catalog.ts';
import { type CatalogContents, type CopiedTable, type FillOptions, numbersAbove } from '../catalog-contents.ts';
import { ofSegments } from '../catalog-copy.ts';
import { passGate } from './commit.ts';
import { ALIAS, BAR, DEAD_COLUMNS, MARK, NOTE, SURPLUS_COLUMNS } from './commit-changes.ts';
import { copyIn } from './copy-in.ts';
import { readNumbers, writeNumbers } from './numbers.ts';
import { BLOCK_COLUMNS, CAPTURE_COLUMNS, REVISIT_KIND } from './rows.ts';
import { addToTotals, countTotals } from './running-totals.ts';
import { CLEARED, INDEXES, SERVER, type Tables } from './tables.ts';

/** For building indexes, besides the memory that all connections share. */
const INDEX_MEMORY = '256MB';

const UNMARKED_CAPTURE: readonly Column<Capture>[] = [
  ...CAPTURE_COLUMNS,
  { name: 'mark', type: 'bytea', of: () => EMPTY },
];

export async function fillCatalog(
  client: Connection,
  query: Query,
  tables: Tables,
  contents: CatalogContents,
  { signal, onProgress }: FillOptions,
): Promise<void> {
  await query('begin isolation level read committed');
  await query(`set local maintenance_work_mem = '${INDEX_MEMORY}'`);
  await passGate(query, tables, true);
  await assertEmpty(query, tables);
  for (const name of CLEARED) await query(`truncate ${tables[name]}`);
  for (const { drop } of INDEXES) await query(drop(tables.schema));
  const copy = async <Row>(
    name: CopiedTable,
    columns: readonly Column<Row>[],
    pages: AsyncIterable<readonly Row[]>,
  ): Promise<void> => {
    await copyIn(client, tables[name], columns, pages, (rows) => {
      signal?.throwIfAborted();
      onProgress?.(name, rows);
    });
  };
  const segments = await contents.segments();
  for (const segment of segments) await insertSegment(query, tables, segment);
  await copy('captures', UNMARKED_CAPTURE, contents.captures({}));
  await copy('blocks', BLOCK_COLUMNS, contents.blocks());
  await copy('aliases', ALIAS, contents.aliases());
  await copy('notes', NOTE, contents.notePages(''));
  await copy(
    'dead',
    DEAD_COLUMNS,
    ofSegments<DeadRecord>(segments, (number) => contents.deadRecords(number)),
  );
  await copy(
    'surplus',
    SURPLUS_COLUMNS,
    ofSegments<SurplusRecord>(segments, (number) => contents.surplusRecords(number)),
  );
  await copy('deleted', MARK, contents.deletedMarks());
  const bars = await contents.bars();
  const rows = rowSet('r', bars, BAR, 1);
  await query(`insert into ${tables.bars} (kind, id, value) select kind, id, value from ${rows.table}`, rows.values);
  for (const { build } of INDEXES) {
    signal?.throwIfAborted();
    await query(build(tables.schema));
  }
  await addToTotals(query, tables, await countTotals(query, tables, REVISIT_KIND));
  await writeNumbers(query, tables, numbersAbove(await contents.numbers(), await readNumbers(query, tables)));
  await insertLeases(query, tables, contents);
  await query('commit');
  for (const name of CLEARED) await query(`analyze ${tables[name]}`);
}

async function assertEmpty(query: Query, tables: Tables): Promise<void> {
  const [row] = await query(
    `select exists (select from ${tables.captures}) or exists (select from ${tables.blocks})
       or exists (select from ${tables.segments}) or exists (select from ${tables.notes}) as is_filled`,
  );
  if (row!.is_filled === true) throw new PinakesError('ARCHIVE_EXISTS', { detail: 'the catalog to fill is not empty' });
}

async function insertSegment(query: Query, { segments }: Tables, segment: Segment): Promise<void> {
  const { number, sequence = number, collection, bytes, records, state, volume, name } = segment;
  const json = [segment.roots, segment.parts, segment.lease].map((value) => (value ? JSON.stringify(value) : null));
  await query(
    `insert into ${segments}
       (number, sequence, collection, bytes, records, state, volume, name, roots, parts, lease, last_commit)
     values ($1, $2, $3, $4, $5, $6, $7, $8::bytea, $9, $10, $11, $12)`,
    [number, sequence, collection, bytes, records, state, volume, utf8(name), ...json, segment.lastCommit ?? null],
  );
}

/** The leases of the other catalog, as ended ones. */
async function insertLeases(query: Query, { leases }: Tables, contents: CatalogContents): Promise<void> {
  for (const { name, epoch, incarnation, holder } of await contents.leases())
    await query(
      `insert into ${leases} as l (name, epoch, incarnation, holder, server, expires)
       values ($1, $2, $3, $4, ${SERVER}, clock_timestamp())
       on conflict (name) do update set epoch = greatest(l.epoch, excluded.epoch)`,
      [name, epoch, incarnation, holder],
    );
}
