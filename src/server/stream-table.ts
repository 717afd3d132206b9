/**
 * Sends a stream as Parquet tables. Each reply is one complete file with the requested number of rows. The cursor of
 * the next table is known before the reply begins, so it is sent in the header fields.
 */
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Archive, type StreamedRecord, type StreamQuery, writeParquet } from '../archive/index.ts';
import { CURSOR_FIELD, END_FIELD } from './http/stream-body.ts';

/** A table ends early when its texts have this many characters in total. */
const TABLE_CHARACTERS_MAX = 32 * 1024 * 1024;

const COLUMNS = [
  { name: 'type', type: 'VARCHAR' },
  { name: 'url', type: 'VARCHAR' },
  { name: 'time', type: 'TIMESTAMP_MS' },
  { name: 'record_id', type: 'VARCHAR' },
  { name: 'collection', type: 'VARCHAR' },
  { name: 'status', type: 'BIGINT' },
  { name: 'mime', type: 'VARCHAR' },
  { name: 'payload_digest', type: 'VARCHAR' },
  { name: 'payload_bytes', type: 'BIGINT' },
  { name: 'refers_to', type: 'VARCHAR' },
  { name: 'volume', type: 'VARCHAR' },
  { name: 'segment', type: 'VARCHAR' },
  { name: 'offset', type: 'BIGINT' },
  { name: 'length', type: 'BIGINT' },
] as const;

type Row = (string | number | null)[];

export async function sendTable(
  response: ServerResponse,
  archive: Archive,
  query: StreamQuery,
  options: { readonly rows: number; readonly filename: string; readonly begin: () => void },
): Promise<void> {
  const scratch = await mkdtemp(join(archive.scratch, 'table-'));
  try {
    const path = join(scratch, 'table.parquet');
    const { rows, cursor, isEnd } = await takeRows(archive, query, options.rows);
    await writeParquet(path, COLUMNS, rows, query.signal ? { signal: query.signal } : {});
    const bytes = (await stat(path)).size;
    options.begin();
    response.writeHead(200, {
      'cache-control': 'no-store',
      'content-type': 'application/vnd.apache.parquet',
      'content-disposition': `attachment; filename="${options.filename}"`,
      'content-length': bytes,
      'x-content-type-options': 'nosniff',
      [CURSOR_FIELD]: cursor,
      [END_FIELD]: isEnd ? 'yes' : 'no',
    });
    if (response.req.method === 'HEAD') response.end();
    else await pipeline(createReadStream(path), response);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function takeRows(
  archive: Archive,
  query: StreamQuery,
  rowsMax: number,
): Promise<{ rows: Row[]; cursor: string; isEnd: boolean }> {
  const stream = await archive.stream(query);
  const rows: Row[] = [];
  let characters = 0;
  for await (const record of stream) {
    const row = await rowOf(record);
    rows.push(row);
    for (const value of row) characters += typeof value === 'string' ? value.length : 0;
    if (rows.length < rowsMax && characters < TABLE_CHARACTERS_MAX) continue;
    return { rows, cursor: stream.cursor(), isEnd: false };
  }
  return { rows, cursor: stream.cursor(), isEnd: true };
}

async function rowOf(record: StreamedRecord): Promise<Row> {
  const { head, segment } = record;
  const payloadBytes = await record.payloadBytes();
  return [
    head.type,
    head.targetUri ?? null,
    head.time ?? null,
    head.recordId ?? null,
    record.collection,
    record.status || null,
    record.mime || null,
    head.get('warc-payload-digest') ?? null,
    payloadBytes,
    head.get('warc-refers-to') ?? null,
    segment.volume,
    segment.name,
    head.offset,
    record.length ?? null,
  ];
}
