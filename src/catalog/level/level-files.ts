/**
 * Checks the files of a LevelDB database byte for byte. LevelDB itself does not: the binding reads without verifying
 * checksums, so that a flipped bit gives a wrong answer or ends the process.
 *
 * ```
 *   table     block, type(1), checksum(4) ...   footer(48) = handles of metaindex and index block, padding, magic(8)
 *   block     entries = shared, unshared, length of value (varints), key, value; ...  restarts(4 each), their number(4)
 *   handle    varints: offset, size. The values of both index blocks are handles
 *   log       blocks of 32 KiB = records: checksum(4) length(2) type(1) bytes; the last bytes of a block, less than 7,
 *             are padding
 *   MANIFEST  a log of edits: fields with a tag each; 6 takes a table out, 7 puts one in
 * ```
 * (doc/table_format.md, doc/log_format.md and db/version_edit.cc of LevelDB.)
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileDamage } from '../catalog.ts';
import { DamagedRow, RowReader } from '../row-bytes.ts';
import { namesIn } from './level-database.ts';
import { levelSum } from './level-sum.ts';
import { decodeSnappy } from './snappy.ts';

const FOOTER_BYTES = 48;
const TABLE_MAGIC = Buffer.from('57fb808b247547db', 'hex');
const BLOCK_TRAILER_BYTES = 5;
const SNAPPY = 1;
/** Index blocks are far smaller. */
const INDEX_BYTES_MAX = 256 * 1024 * 1024;
const LOG_BLOCK_BYTES = 32 * 1024;
const LOG_HEAD_BYTES = 7;
const [FULL, FIRST, MIDDLE, LAST] = [1, 2, 3, 4] as const;

type Edit = { readonly added: number[]; readonly removed: number[] };

/**
 * The damaged files. Tables that are being written or removed meanwhile are skipped. `rest` is called after each file.
 */
export async function* checkDatabaseFiles(
  directory: string,
  rest: () => Promise<void> = async () => {},
): AsyncGenerator<FileDamage> {
  const names = await namesIn(directory);
  const current = await currentTables(directory, names);
  if ('detail' in current) {
    yield current;
    return;
  }
  for (const number of current.tables) {
    const damage = await tableDamage(directory, number);
    // LevelDB may have merged a missing table into other tables since.
    if (damage && (await isCurrent(directory, number))) yield damage;
    await rest();
  }
  for (const file of names.filter((name) => /^\d+\.log$/.test(name))) {
    const detail = await damageIn(directory, file, (bytes) => void logRecords(bytes));
    if (detail !== undefined && detail !== GONE) yield { file, detail };
    await rest();
  }
}

const GONE = 'it is not there';

async function tableDamage(directory: string, number: number): Promise<FileDamage | undefined> {
  const name = String(number).padStart(6, '0');
  const detail = await damageIn(directory, `${name}.ldb`, checkTable);
  if (detail === undefined) return undefined;
  // The suffix of older releases of LevelDB.
  const older = detail === GONE ? await damageIn(directory, `${name}.sst`, checkTable) : detail;
  return older === undefined ? undefined : { file: `${name}.ldb`, detail: older };
}

async function isCurrent(directory: string, number: number): Promise<boolean> {
  const current = await currentTables(directory, await readdir(directory));
  return 'detail' in current || current.tables.has(number);
}

async function damageIn(directory: string, file: string, check: (bytes: Buffer) => void): Promise<string | undefined> {
  try {
    check(await readFile(join(directory, file)));
    return undefined;
  } catch (error) {
    if (error instanceof DamagedRow) return error.message;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return code === 'ENOENT' ? GONE : message;
  }
}

/** The tables of the database. A new database has none of these files. */
async function currentTables(
  directory: string,
  names: readonly string[],
): Promise<FileDamage | { readonly tables: ReadonlySet<number> }> {
  const tables = new Set<number>();
  if (!names.some((name) => /^(?:CURRENT|MANIFEST-.*|.*\.(?:ldb|sst|log))$/.test(name))) return { tables };
  let manifest = '';
  const detail = await damageIn(directory, 'CURRENT', (bytes) => {
    manifest = /^(MANIFEST-\d+)\n$/.exec(bytes.toString('latin1'))?.[1] ?? '';
    if (manifest === '') throw new DamagedRow('it names no manifest');
  });
  if (detail !== undefined) return { file: 'CURRENT', detail };
  const damage = await damageIn(directory, manifest, (bytes) => {
    for (const record of logRecords(bytes)) {
      const { added, removed } = editOf(record);
      for (const number of removed) tables.delete(number);
      for (const number of added) tables.add(number);
    }
  });
  return damage === undefined ? { tables } : { file: manifest, detail: damage };
}

function checkTable(bytes: Buffer): void {
  const footer = bytes.subarray(-FOOTER_BYTES);
  if (footer.length < FOOTER_BYTES || !footer.subarray(-TABLE_MAGIC.length).equals(TABLE_MAGIC))
    throw new DamagedRow('it does not end like a table');
  const handles = new RowReader(footer);
  for (let index = 0; index < 2; index++) {
    const entries = indexEntries(blockAt(bytes, handles));
    for (const entry of entries) blockAt(bytes, new RowReader(entry));
  }
}

/** The block of a handle, still packed, and its type. */
function blockAt(bytes: Buffer, handle: RowReader): { readonly packed: Buffer; readonly type: number } {
  const offset = handle.varint();
  const size = handle.varint();
  const end = offset + size + BLOCK_TRAILER_BYTES;
  if (end > bytes.length - FOOTER_BYTES) throw new DamagedRow(`the block at ${offset} goes beyond its end`);
  const summed = bytes.subarray(offset, end - 4);
  if (levelSum(summed) !== bytes.readUInt32LE(end - 4))
    throw new DamagedRow(`the checksum of the block at ${offset} is wrong`);
  return { packed: summed.subarray(0, size), type: summed[size]! };
}

/** The values of an index block. */
function indexEntries({ packed, type }: { readonly packed: Buffer; readonly type: number }): Buffer[] {
  const block = type === SNAPPY ? decodeSnappy(packed, INDEX_BYTES_MAX) : packed;
  const restarts = block.length < 4 ? Number.POSITIVE_INFINITY : block.readUInt32LE(block.length - 4);
  const end = block.length - 4 * (restarts + 1);
  if (end < 0) throw new DamagedRow('a block in it has more restarts than bytes');
  const reader = new RowReader(block.subarray(0, end));
  const values: Buffer[] = [];
  while (!reader.isAtEnd) {
    reader.varint();
    const keyBytes = reader.varint();
    const valueBytes = reader.varint();
    reader.bytes(keyBytes);
    values.push(reader.bytes(valueBytes));
  }
  return values;
}

/** The records of a log. A last record that is cut short was never acknowledged. */
function logRecords(bytes: Buffer): Buffer[] {
  const records: Buffer[] = [];
  let parts: Buffer[] = [];
  for (let at = 0; at + LOG_HEAD_BYTES <= bytes.length; ) {
    const left = LOG_BLOCK_BYTES - (at % LOG_BLOCK_BYTES);
    const length = bytes.readUInt16LE(at + 4);
    const type = bytes[at + 6]!;
    if (left < LOG_HEAD_BYTES) {
      at += left;
      continue;
    }
    const end = at + LOG_HEAD_BYTES + length;
    if (LOG_HEAD_BYTES + length > left) throw new DamagedRow(`the record at ${at} is too long`);
    if (end > bytes.length) break;
    if (levelSum(bytes.subarray(at + 6, end)) !== bytes.readUInt32LE(at))
      throw new DamagedRow(`the checksum of the record at ${at} is wrong`);
    if (type === FULL || type === FIRST) parts = [];
    parts.push(bytes.subarray(at + LOG_HEAD_BYTES, end));
    if (type === FULL || type === LAST) records.push(Buffer.concat(parts));
    else if (type !== FIRST && type !== MIDDLE) throw new DamagedRow(`the record at ${at} is of no known type`);
    at = end;
  }
  return records;
}

/** The tables that an edit of a MANIFEST adds and removes. */
function editOf(record: Buffer): Edit {
  const reader = new RowReader(record);
  const edit: Edit = { added: [], removed: [] };
  const text = () => reader.bytes(reader.varint());
  while (!reader.isAtEnd) {
    const tag = reader.varint();
    if (tag === 1) text();
    else if (tag === 2 || tag === 3 || tag === 4 || tag === 9) reader.varint();
    else if (tag === 5) {
      reader.varint();
      text();
    } else if (tag === 6) {
      reader.varint();
      edit.removed.push(reader.varint());
    } else if (tag === 7) {
      reader.varint();
      edit.added.push(reader.varint());
      reader.varint();
      text();
      text();
    } else throw new DamagedRow(`it has a field of the unknown kind ${tag}`);
  }
  return edit;
}
