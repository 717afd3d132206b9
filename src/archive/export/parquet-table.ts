/**
 * Rows as a Parquet table, for callers with rows and without the engine. The table is written beside its place and
 * renamed when complete, within a fixed amount of memory.
 */
import { mkdtemp, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { type DuckDBAppender, DuckDBInstance, DuckDBTimestampMillisecondsValue } from '@duckdb/node-api';
import { fileError, refuseExisting } from '../../base/index.ts';

const FLUSH_ROWS = 10_000;

export type ParquetColumn = { readonly name: string; readonly type: 'VARCHAR' | 'BIGINT' | 'BOOLEAN' | 'TIMESTAMP_MS' };
export type ParquetValue = string | number | boolean | null;

/** Writes the rows. Returns their number. */
export async function writeParquetTable(
  path: string,
  columns: readonly ParquetColumn[],
  rows: Iterable<readonly ParquetValue[]>,
  options: { readonly force?: boolean; readonly signal?: AbortSignal } = {},
): Promise<number> {
  await refuseExisting(path, options.force);
  const scratch = await mkdtemp(join(dirname(path), `.${basename(path)}-`)).catch((cause: unknown) => {
    throw fileError(cause, path, 'writing');
  });
  try {
    const table = join(scratch, 'table.parquet');
    const count = await fill(scratch, table, columns, rows, options.signal);
    const file = await open(table, 'r+');
    await file.sync().finally(() => file.close());
    await rename(table, path);
    return count;
  } catch (error) {
    throw fileError(error, path, 'writing');
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function fill(
  scratch: string,
  table: string,
  columns: readonly ParquetColumn[],
  rows: Iterable<readonly ParquetValue[]>,
  signal: AbortSignal | undefined,
): Promise<number> {
  const settings = { memory_limit: '256MiB', threads: '2', temp_directory: scratch };
  const instance = await DuckDBInstance.create(join(scratch, 'rows.duckdb'), settings);
  const connection = await instance.connect();
  try {
    await connection.run(`CREATE TABLE rows (${columns.map(({ name, type }) => `"${name}" ${type}`).join(', ')})`);
    const appender = await connection.createAppender('rows');
    let count = 0;
    for (const row of rows) {
      for (const [at, value] of row.entries()) append(appender, columns[at]!.type, value);
      appender.endRow();
      if (++count % FLUSH_ROWS > 0) continue;
      appender.flushSync();
      // Rows are produced synchronously, so without a pause nothing else would run, not even an abort.
      await setImmediate();
      signal?.throwIfAborted();
    }
    appender.closeSync();
    await connection.run(`COPY rows TO '${table.replaceAll("'", "''")}' (FORMAT parquet, COMPRESSION zstd)`);
    return count;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

function append(appender: DuckDBAppender, type: ParquetColumn['type'], value: ParquetValue): void {
  if (value === null) appender.appendNull();
  else if (type === 'VARCHAR') appender.appendVarchar(String(value));
  else if (type === 'BOOLEAN') appender.appendBoolean(Boolean(value));
  else if (type === 'BIGINT') appender.appendBigInt(BigInt(value));
  else appender.appendTimestampMilliseconds(new DuckDBTimestampMillisecondsValue(BigInt(value)));
}
