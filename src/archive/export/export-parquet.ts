/**
 * The captures of a slice as a Parquet table, with the columns of Common Crawl's columnar index that an archive can
 * fill, and a few more: `collection`, `record_type`, `payload_bytes`. DuckDB writes it in this process within a fixed
 * amount of memory, and spills to a file beside the output.
 */
import { mkdtemp, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type DuckDBAppender, DuckDBInstance, DuckDBTimestampMillisecondsValue } from '@duckdb/node-api';
import { fileError, formatDigest, PinakesError, refuseExisting } from '../../base/index.ts';
import type { Block, Capture } from '../../catalog/index.ts';
import { hostOfKey } from '../../url/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { type Selection, selectCaptures } from '../selection.ts';

const MEMORY_MEBIBYTES = 256;
const THREADS = 2;

export type ParquetExportOptions = {
  readonly force?: boolean;
  readonly onProgress?: (progress: { captures: number; bytes: number }) => void;
  readonly signal?: AbortSignal | undefined;
};

export type ParquetExportReport = { captures: number; bytes: number };

const COLUMNS = [
  'url_surtkey VARCHAR',
  'url VARCHAR',
  'url_host_name VARCHAR',
  'url_host_tld VARCHAR',
  'url_host_name_reversed VARCHAR',
  'url_protocol VARCHAR',
  'url_port INTEGER',
  'url_path VARCHAR',
  'url_query VARCHAR',
  'fetch_time TIMESTAMP_MS',
  'fetch_status SMALLINT',
  'content_digest VARCHAR',
  'content_mime_type VARCHAR',
  'warc_filename VARCHAR',
  'warc_record_offset BIGINT',
  'warc_record_length BIGINT',
  'collection VARCHAR',
  'record_type VARCHAR',
  'payload_bytes BIGINT',
];

export async function exportParquet(
  archive: OpenedArchive,
  selection: Selection,
  path: string,
  options: ParquetExportOptions = {},
): Promise<ParquetExportReport> {
  await refuseExisting(path, options.force);
  const scratch = await mkdtemp(join(dirname(path), `.${basename(path)}-`)).catch((cause: unknown) => {
    throw fileError(cause, path, 'writing');
  });
  try {
    const table = join(scratch, 'table.parquet');
    const captures = await writeTable(archive, selection, scratch, table, options);
    const { size } = await stat(table);
    await place(table, path);
    return { captures, bytes: size };
  } catch (error) {
    throw fileError(error, path, 'writing');
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function place(from: string, to: string): Promise<void> {
  const file = await open(from, 'r+');
  await file.sync().finally(() => file.close());
  await rename(from, to);
}

async function writeTable(
  archive: OpenedArchive,
  selection: Selection,
  scratch: string,
  table: string,
  options: ParquetExportOptions,
): Promise<number> {
  const instance = await DuckDBInstance.create(join(scratch, 'captures.duckdb'), {
    memory_limit: `${MEMORY_MEBIBYTES}MiB`,
    threads: String(THREADS),
    temp_directory: scratch,
  });
  const connection = await instance.connect();
  try {
    await connection.run(`CREATE TABLE captures (${COLUMNS.join(', ')})`);
    const appender = await connection.createAppender('captures');
    const captures = await appendAll(archive, selection, appender, options);
    appender.closeSync();
    const target = table.replaceAll("'", "''");
    await connection.run(`COPY captures TO '${target}' (FORMAT parquet, COMPRESSION zstd)`);
    return captures;
  } catch (cause) {
    throw engineError(cause);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function appendAll(
  archive: OpenedArchive,
  selection: Selection,
  appender: DuckDBAppender,
  options: ParquetExportOptions,
): Promise<number> {
  let captures = 0;
  await using view = await archive.catalog.view();
  for await (const page of selectCaptures(view, selection)) {
    options.signal?.throwIfAborted();
    const held = page.filter((capture) => capture.block !== undefined);
    const blocks = await view.getBlocks(held.map((capture) => capture.block!));
    const sizes = new Map(held.map((capture, index) => [capture, blocks[index]]));
    for (const capture of page) appendRow(archive, appender, capture, sizes.get(capture));
    appender.flushSync();
    captures += page.length;
    options.onProgress?.({ captures, bytes: 0 });
  }
  return captures;
}

function appendRow(archive: OpenedArchive, appender: DuckDBAppender, capture: Capture, block: Block | undefined): void {
  const url = partsOf(capture.url);
  // In the key of an IPv6 address, the port looks like one more group.
  const host = /^\[(.+)\]$/.exec(url?.hostname ?? '')?.[1] ?? hostOfKey(capture.urlKey);
  const text = (value: string | undefined) => (value ? appender.appendVarchar(value) : appender.appendNull());
  text(capture.urlKey);
  text(capture.url);
  text(host);
  text(host.includes('.') ? host.slice(host.lastIndexOf('.') + 1) : undefined);
  text(host.split('.').reverse().join('.'));
  text(url?.protocol.slice(0, -1));
  if (url?.port) appender.appendInteger(Number(url.port));
  else appender.appendNull();
  text(url?.pathname);
  text(url?.search.slice(1));
  appender.appendTimestampMilliseconds(new DuckDBTimestampMillisecondsValue(BigInt(capture.time)));
  if (capture.status > 0) appender.appendSmallInt(capture.status);
  else appender.appendNull();
  text(capture.block && formatDigest({ algorithm: 'sha256', bytes: capture.block.digest }));
  text(capture.mime);
  const segment = archive.segmentRegistry.find(capture.place.segment);
  text(segment && basename(segment.name));
  appender.appendBigInt(BigInt(capture.place.offset));
  appender.appendBigInt(BigInt(capture.place.length));
  text(archive.collections.name(capture.collection));
  text(capture.kind);
  if (block) appender.appendBigInt(BigInt(block.size));
  else appender.appendNull();
  appender.endRow();
}

function partsOf(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}

function engineError(cause: unknown): unknown {
  if (cause instanceof PinakesError || !(cause instanceof Error)) return cause;
  const isFull = /no space left|disk full|max_temp_directory_size/i.test(cause.message);
  return isFull ? new PinakesError('DISK_FULL', { where: 'the table', cause }) : cause;
}
