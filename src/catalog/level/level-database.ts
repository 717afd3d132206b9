/**
 * The LevelDB database of a catalog: its settings, opening, checking and durability.
 *
 * Meta rows:
 *
 *     00 'version'              text: version of the rows, space, version of the URL keys
 *     00 'totals'               varints: number of the last batch, captures, blocks, revisits, payload bytes,
 *                               unique payload bytes
 *     00 'mark' n mod 512       varint: n, for each of the last 512 batches
 *     00 'counters'             see counters.ts
 *
 * At power loss LevelDB loses unsynced batches, and not always the last ones: LevelDB starts a new log file without
 * syncing the old one, and skips torn parts when it replays a log. So a later batch can be there while an earlier one
 * is missing. This would go unnoticed, because the segment's row says that all its records are catalogued. Two rules
 * prevent it:
 *
 * - A durable batch, and every 256th, is synced together with all older logs that still exist. Then all batches up to
 *   it are durable.
 * - Every batch writes a sentinel. On opening, the last 512 sentinels must be without a gap, else the catalog is
 *   CATALOG_DAMAGED and made again.
 *
 * Memory: the cache, two write buffers, and the index and filter of each open table; together under 50 MB. LevelDB also
 * maps its open tables, whose pages count as memory of the process: 64 tables of 2 MiB. More or larger ones would let
 * the memory grow with the archive (I9). 74 is the least that LevelDB takes, and ten of these are for other files.
 */
import { existsSync } from 'node:fs';
import { open as openFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ClassicLevel, type Snapshot } from 'classic-level';
import { PinakesError } from '../../base/index.ts';
import { URL_KEY_VERSION } from '../../url/index.ts';
import type { Segment, Totals } from '../catalog.ts';
import { COLLECTION_NOTE } from '../commit-group.ts';
import { DamagedRow, RowReader, RowWriter } from '../row-bytes.ts';
import { nameRange, TABLE, tableKey, tableRange } from '../table.ts';
import { endClearing, isClearing, type KeptRows, keptRows } from './clearing.ts';
import {
  COUNTERS_KEY,
  type Counters,
  countersAfterNotes,
  countersRow,
  FIRST_COUNTERS,
  readCounters,
} from './counters.ts';
import { levelError } from './level-error.ts';
import { MimeDictionary, numberOfMimeKey } from './mime-dictionary.ts';
import { readSegment } from './segment-codec.ts';

export type Database = ClassicLevel<Buffer, Buffer>;

const MIB = 1024 * 1024;

const SETTINGS = {
  keyEncoding: 'buffer',
  valueEncoding: 'buffer',
  blockSize: 16 * 1024,
  cacheSize: 16 * MIB,
  // Large buffers are allocated on each of the threads that write, and the allocator keeps their memory.
  writeBufferSize: 4 * MIB,
  maxFileSize: 2 * MIB,
  maxOpenFiles: 74,
} as const;

/** The version of the rows. It changes with every codec, and with the way in which heads of records are read. */
const ROWS_VERSION = 4;
const VERSION = `${ROWS_VERSION} ${URL_KEY_VERSION}`;
/** Catalogs that are read as they are, and changed by an upgrade only: of format 3, and one that is being upgraded. */
const OLD_VERSION = `3 ${URL_KEY_VERSION}`;
const UPGRADING_VERSION = `3-to-4 ${URL_KEY_VERSION}`;

const VERSION_KEY = tableKey(TABLE.meta, 'version');
export const TOTALS_KEY = tableKey(TABLE.meta, 'totals');

const MARKS = 512;
const BATCHES_PER_SYNC = MARKS / 2;

const DATABASE_FILE = /^(?:CURRENT|MANIFEST-.*|\d+\.(?:ldb|sst|log|dbtmp))$/;

const NOTHING: Totals = { captures: 0, blocks: 0, revisits: 0, payloadBytes: 0, uniquePayloadBytes: 0 };

/** The state that the catalog keeps between batches. */
export type DatabaseState = {
  readonly batchNumber: number;
  readonly totals: Totals;
  readonly mimes: MimeDictionary;
  readonly counters: Counters;
  /** Whether any capture was deleted, and whether anything is barred. In most catalogs these checks are not needed. */
  readonly hasDeleted: boolean;
  readonly hasBars: boolean;
  /** Whether its rows are of an earlier format, and so are only read. */
  readonly isOld: boolean;
};

export type Operations = { put(key: Buffer, value: Buffer): unknown; del(key: Buffer): unknown };

/** Up to this many rows are read on the calling thread, which is faster; more are read on another thread. */
const SYNC_READS_MAX = 8;

export async function openDatabase(directory: string): Promise<Database> {
  const kept = isClearing(directory) ? await removeCleared(directory) : undefined;
  await refuseHeadless(directory);
  const database: Database = new ClassicLevel(directory, SETTINGS);
  try {
    await database.open();
    if (!kept) return database;
    await initialise(database, kept);
    await endClearing(directory);
  } catch (error) {
    await database.close();
    throw levelError(error, directory);
  }
  return database;
}

/** Removes a database that was being cleared. Returns the rows that the new one begins with. */
async function removeCleared(directory: string): Promise<KeptRows> {
  try {
    const kept = await keptRows(directory);
    await removeDatabase(directory);
    return kept;
  } catch (error) {
    throw levelError(error, directory);
  }
}

/**
 * Checks version and sentinels, and writes the first rows of a new database. Damage is thrown as a DamagedRow.
 */
export async function loadState(database: Database): Promise<DatabaseState> {
  const version = database.getSync(VERSION_KEY)?.toString();
  if (version === undefined) {
    const [first] = await database.keys({ limit: 1 }).all();
    if (first) throw new DamagedRow('it was not finished, or cleared and not filled again');
    await initialise(database, []);
    return loadState(database);
  }
  const isOld = version === OLD_VERSION || version === UPGRADING_VERSION;
  if (version !== VERSION && !isOld) {
    const detail = `its rows and keys have the versions ${version}, this release reads ${VERSION}`;
    throw new PinakesError('CATALOG_VERSION', { where: database.location, detail });
  }
  const { batchNumber, totals } = readTotals(database.getSync(TOTALS_KEY));
  for (let number = Math.max(1, batchNumber - MARKS + 1); number <= batchNumber; number++) {
    const mark = database.getSync(markKey(number));
    if (!mark || new RowReader(mark).varint() !== number) {
      throw new DamagedRow('a batch of changes is missing, as after a power failure');
    }
  }
  return {
    batchNumber,
    totals,
    mimes: await loadMimes(database),
    counters: await loadCounters(database),
    hasDeleted: await hasRows(database, TABLE.deleted),
    hasBars: await hasRows(database, TABLE.bars),
    isOld,
  };
}

async function hasRows(database: Database, table: number): Promise<boolean> {
  const { from, to } = tableRange(table);
  return (await database.keys({ gte: from, lt: to, limit: 1 }).all()).length > 0;
}

/** A catalog without the row was written without `listSegment`: its rows say which numbers it has dealt. */
async function loadCounters(database: Database): Promise<Counters> {
  const row = database.getSync(COUNTERS_KEY);
  if (row) return readCounters(row);
  const segments = tableRange(TABLE.segments);
  let counters = FIRST_COUNTERS;
  for await (const [key, value] of database.iterator({ gte: segments.from, lt: segments.to }))
    counters = countersAfter(counters, readSegment(key, value));
  const notes = nameRange(TABLE.notes, COLLECTION_NOTE);
  for await (const [key, text] of database.iterator({ gte: notes.from, lt: notes.to }))
    counters = countersAfterNotes(counters, { [key.toString('utf8', 1)]: text.toString() });
  return counters;
}

/** The counters of a catalog that has this segment too. */
export function countersAfter(counters: Counters, { number, sequence = number }: Segment): Counters {
  return {
    ...counters,
    number: Math.max(counters.number, number + 1),
    sequence: Math.max(counters.sequence, sequence + 1),
  };
}

/** Empties the database but for these rows, after `beginClearing`. */
export async function clearDatabase(database: Database, kept: KeptRows): Promise<DatabaseState> {
  await database.clear();
  await initialise(database, kept);
  await endClearing(database.location);
  await database.compactRange(Buffer.of(0x00), Buffer.of(0xff));
  return loadState(database);
}

/** Whether the directory has a database that opening reads, and does not make or remove. */
export function isLevelCatalog(directory: string): boolean {
  return existsSync(join(directory, 'CURRENT')) && !isClearing(directory);
}

/** Removes the files of a database, whatever their state. Fails when a process has it open. */
export async function removeDatabase(directory: string): Promise<void> {
  await ClassicLevel.destroy(directory);
  for (const name of (await namesIn(directory)).filter((name) => DATABASE_FILE.test(name)))
    await rm(join(directory, name), { recursive: true, force: true });
}

/** Writes the first rows, and those that were kept. */
async function initialise(database: Database, kept: KeptRows): Promise<void> {
  const first = database.batch();
  first.put(VERSION_KEY, Buffer.from(VERSION));
  first.put(TOTALS_KEY, totalsRow(0, NOTHING));
  first.put(COUNTERS_KEY, countersRow(FIRST_COUNTERS));
  for (const [key, value] of kept) first.put(key, value);
  await first.write({ sync: true });
}

export function putUpgradingVersion(operations: Operations): void {
  operations.put(VERSION_KEY, Buffer.from(UPGRADING_VERSION));
}

export function putUpgradedVersion(operations: Operations): void {
  operations.put(VERSION_KEY, Buffer.from(VERSION));
}

/** The rows that are part of every batch. */
export function putBatchRows(operations: Operations, batchNumber: number, totals: Totals): void {
  operations.put(TOTALS_KEY, totalsRow(batchNumber, totals));
  const writer = new RowWriter();
  writer.varint(batchNumber);
  operations.put(markKey(batchNumber), writer.finish());
}

export function isSyncDue(batchNumber: number): boolean {
  return batchNumber % BATCHES_PER_SYNC === 0;
}

/**
 * Makes older logs durable, which LevelDB no longer writes to but has not turned into tables yet. Called right after a
 * synced batch.
 */
export async function syncOlderLogs(directory: string): Promise<void> {
  const logs = (await readdir(directory)).filter((name) => /^\d+\.log$/.test(name));
  logs.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  for (const name of logs.slice(0, -1)) {
    await using file = await openFile(join(directory, name), 'r').catch((error: NodeJS.ErrnoException): undefined => {
      // LevelDB removes a log once its rows are in a synced table.
      if (error.code !== 'ENOENT') throw error;
    });
    await file?.datasync();
  }
}

/** The values of these keys, in order; undefined for a missing key. */
export async function readRows(
  database: Database,
  keys: Buffer[],
  snapshot?: Snapshot,
): Promise<(Buffer | undefined)[]> {
  const options = snapshot ? { snapshot } : {};
  if (keys.length <= SYNC_READS_MAX) return keys.map((key) => database.getSync(key, options));
  return database.getMany(keys, options);
}

export function readTotals(row: Buffer | undefined): { batchNumber: number; totals: Totals } {
  if (!row) throw new DamagedRow('the totals are missing');
  const reader = new RowReader(row);
  const batchNumber = reader.varint();
  const totals = {
    captures: reader.varint(),
    blocks: reader.varint(),
    revisits: reader.varint(),
    payloadBytes: reader.varint(),
    uniquePayloadBytes: reader.varint(),
  };
  return { batchNumber, totals };
}

function totalsRow(batchNumber: number, totals: Totals): Buffer {
  const writer = new RowWriter();
  writer.varint(batchNumber);
  writer.varint(totals.captures);
  writer.varint(totals.blocks);
  writer.varint(totals.revisits);
  writer.varint(totals.payloadBytes);
  writer.varint(totals.uniquePayloadBytes);
  return writer.finish();
}

function markKey(batchNumber: number): Buffer {
  const at = batchNumber % MARKS;
  return Buffer.concat([tableKey(TABLE.meta, 'mark'), Buffer.of(at >>> 8, at & 0xff)]);
}

async function loadMimes(database: Database): Promise<MimeDictionary> {
  const mimes = new MimeDictionary();
  const { from, to } = tableRange(TABLE.mimes);
  for await (const [key, value] of database.iterator({ gte: from, lt: to })) {
    if (numberOfMimeKey(key) !== mimes.size + 1) throw new DamagedRow('a media type is missing');
    mimes.add(value.toString('utf8'));
  }
  return mimes;
}

/** The files of a directory; none if it is missing. */
export function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw levelError(error, directory);
  });
}

/** Fails if the file that names the tables is missing: LevelDB would start a new database and remove them. */
async function refuseHeadless(directory: string): Promise<void> {
  const names = await namesIn(directory);
  if (names.includes('CURRENT') || !names.some((name) => /^MANIFEST-|\.(?:ldb|sst|log)$/.test(name))) return;
  throw new PinakesError('CATALOG_DAMAGED', { where: directory, detail: 'the file CURRENT is missing' });
}
