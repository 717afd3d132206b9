/**
 * Writes rows as a Parquet table, for callers that do not use the engine themselves. The table is written beside its
 * place and renamed when it is complete. This takes a fixed amount of memory.
 */
import { mkdtemp, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { type DuckDBAppender, DuckDBInstance, DuckDBTimestampMillisecondsValue } from '@duckdb/node-api';
import { fileError, PinakesError, refuseExisting } from '../../base/index.ts';

const FLUSH_ROWS = 10_000;

export type ParquetColumn = {
  readonly name: string;
  readonly type: 'VARCHAR' | 'SMALLINT' | 'INTEGER' | 'BIGINT' | 'BOOLEAN' | 'TIMESTAMP_MS';
};
export type ParquetValue = string | number | boolean | null;
type ParquetRows = Iterable<readonly ParquetValue[]> | AsyncIterable<readonly ParquetValue[]>;

/** Writes the rows. Returns their number. */
export async function writeParquetTable(
  path: string,
  columns: readonly ParquetColumn[],
  rows: ParquetRows,
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
  rows: ParquetRows,
  signal: AbortSignal | undefined,
): Promise<number> {
  const settings = { memory_limit: '256MiB', threads: '2', temp_directory: scratch };
  const instance = await DuckDBInstance.create(join(scratch, 'rows.duckdb'), settings);
  const connection = await instance.connect();
  try {
    await connection.run(`CREATE TABLE rows (${columns.map(({ name, type }) => `"${name}" ${type}`).join(', ')})`);
    const appender = await connection.createAppender('rows');
    let count = 0;
    for await (const row of rows) {
      for (const [at, value] of row.entries()) append(appender, columns[at]!.type, value);
      appender.endRow();
      if (++count % FLUSH_ROWS > 0) continue;
      appender.flushSync();
      // Rows may be produced synchronously; without a pause nothing else would run, not even an abort.
      await setImmediate();
      signal?.throwIfAborted();
    }
    appender.closeSync();
    await connection.run(`COPY rows TO '${table.replaceAll("'", "''")}' (FORMAT parquet, COMPRESSION zstd)`);
    return count;
  } catch (cause) {
    throw engineError(cause);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

function append(appender: DuckDBAppender, type: ParquetColumn['type'], value: ParquetValue): void {
  if (value === null) appender.appendNull();
  else if (type === 'VARCHAR') appender.appendVarchar(String(value));
  else if (type === 'BOOLEAN') appender.appendBoolean(Boolean(value));
  else if (type === 'SMALLINT') appender.appendSmallInt(Number(value));
  else if (type === 'INTEGER') appender.appendInteger(Number(value));
  else if (type === 'BIGINT') appender.appendBigInt(BigInt(value));
  else appender.appendTimestampMilliseconds(new DuckDBTimestampMillisecondsValue(BigInt(value)));
}

function engineError(cause: unknown): unknown {
  if (cause instanceof PinakesError || !(cause instanceof Error)) return cause;
  const isFull = /no space left|disk full|max_temp_directory_size/i.test(cause.message);
  return isFull ? new PinakesError('DISK_FULL', { where: 'the table', cause }) : cause;
}
