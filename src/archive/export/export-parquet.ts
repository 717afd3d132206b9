/**
 * The captures of a slice as a Parquet table, with the columns of Common Crawl's columnar index that an archive can
 * fill, and a few more: `collection`, `record_type`, `payload_bytes`.
 */
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { formatDigest } from '../../base/index.ts';
import type { Block, Capture } from '../../catalog/index.ts';
import { hostOfKey } from '../../url/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { type Selection, selectCaptures } from '../selection.ts';
import { writeParquet } from './parquet.ts';
import type { ParquetValue } from './parquet-table.ts';

export type ParquetExportOptions = {
  readonly force?: boolean;
  readonly onProgress?: (progress: { captures: number; bytes: number }) => void;
  readonly signal?: AbortSignal | undefined;
};

export type ParquetExportReport = { captures: number; bytes: number };

const COLUMNS = [
  { name: 'url_surtkey', type: 'VARCHAR' },
  { name: 'url', type: 'VARCHAR' },
  { name: 'url_host_name', type: 'VARCHAR' },
  { name: 'url_host_tld', type: 'VARCHAR' },
  { name: 'url_host_name_reversed', type: 'VARCHAR' },
  { name: 'url_protocol', type: 'VARCHAR' },
  { name: 'url_port', type: 'INTEGER' },
  { name: 'url_path', type: 'VARCHAR' },
  { name: 'url_query', type: 'VARCHAR' },
  { name: 'fetch_time', type: 'TIMESTAMP_MS' },
  { name: 'fetch_status', type: 'SMALLINT' },
  { name: 'content_digest', type: 'VARCHAR' },
  { name: 'content_mime_type', type: 'VARCHAR' },
  { name: 'warc_filename', type: 'VARCHAR' },
  { name: 'warc_record_offset', type: 'BIGINT' },
  { name: 'warc_record_length', type: 'BIGINT' },
  { name: 'collection', type: 'VARCHAR' },
  { name: 'record_type', type: 'VARCHAR' },
  { name: 'payload_bytes', type: 'BIGINT' },
] as const;

export async function exportParquet(
  archive: OpenedArchive,
  selection: Selection,
  path: string,
  options: ParquetExportOptions = {},
): Promise<ParquetExportReport> {
  const { force = false } = options;
  const captures = await writeParquet(path, COLUMNS, rowsOf(archive, selection, options), { force });
  return { captures, bytes: (await stat(path)).size };
}

async function* rowsOf(
  archive: OpenedArchive,
  selection: Selection,
  { onProgress, signal }: ParquetExportOptions,
): AsyncGenerator<ParquetValue[]> {
  let captures = 0;
  await using view = await archive.catalog.longView();
  for await (const page of selectCaptures(view, selection)) {
    signal?.throwIfAborted();
    const held = page.filter((capture) => capture.block !== undefined);
    const blocks = await view.getBlocks(held.map((capture) => capture.block!));
    const sizes = new Map(held.map((capture, index) => [capture, blocks[index]]));
    for (const capture of page) yield await rowOf(archive, capture, sizes.get(capture));
    captures += page.length;
    onProgress?.({ captures, bytes: 0 });
  }
}

async function rowOf(archive: OpenedArchive, capture: Capture, block: Block | undefined): Promise<ParquetValue[]> {
  const url = URL.parse(capture.url);
  // In the key of an IPv6 address, the port looks like one more group.
  const host = /^\[(.+)\]$/.exec(url?.hostname ?? '')?.[1] ?? hostOfKey(capture.urlKey);
  const segment = await archive.segmentRegistry.find(capture.place.segment);
  return [
    capture.urlKey || null,
    capture.url || null,
    host || null,
    (host.includes('.') && host.slice(host.lastIndexOf('.') + 1)) || null,
    host.split('.').reverse().join('.') || null,
    url?.protocol.slice(0, -1) || null,
    url?.port ? Number(url.port) : null,
    url?.pathname || null,
    url?.search.slice(1) || null,
    capture.time,
    capture.status || null,
    capture.block ? formatDigest({ algorithm: 'sha256', bytes: capture.block.digest }) : null,
    capture.mime || null,
    segment ? basename(segment.name) : null,
    capture.place.offset,
    capture.place.length,
    await archive.collections.name(capture.collection),
    capture.kind,
    block?.size ?? null,
  ];
}
