/** WARC and ARC files as other crawlers write them, for tests of adding. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { formatW3cDate, utf8 } from '../../src/base/index.ts';
import { type Coding, type Field, MemberEncoder, type NewRecord, recordParts } from '../../src/warc/index.ts';

export type ForeignRecord = { readonly record: NewRecord; readonly block: Uint8Array };

let ids = 0;

/** Ids that no other record of this process has. */
export function foreignId(): string {
  return `<urn:foreign:${process.pid}-${++ids}>`;
}

export function sha1Of(bytes: Uint8Array): string {
  return `sha1:${createHash('sha1').update(bytes).digest('hex').toUpperCase()}`;
}

const HTTP = 'application/http; msgtype=response';

export function warcinfo(): ForeignRecord {
  const record: NewRecord = {
    type: 'warcinfo',
    recordId: foreignId(),
    date: '2020-01-01T00:00:00Z',
    contentType: 'application/warc-fields',
  };
  return { record, block: utf8('software: another crawler/1.0\r\n') };
}

export function response(url: string, time: number, body: Uint8Array, fields: readonly Field[] = []): ForeignRecord {
  const head = utf8(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Url: ${url}\r\n\r\n`);
  const record: NewRecord = {
    type: 'response',
    recordId: foreignId(),
    date: formatW3cDate(time),
    targetUri: url,
    payloadDigest: sha1Of(body),
    contentType: HTTP,
    fields,
  };
  return { record, block: Buffer.concat([head, body]) };
}

export function requestOf({ record }: ForeignRecord): ForeignRecord {
  const fields = [{ name: 'WARC-Concurrent-To', value: record.recordId }];
  const contentType = 'application/http; msgtype=request';
  const { date, targetUri } = record;
  const block = utf8(`GET ${targetUri} HTTP/1.1\r\n\r\n`);
  return { record: { type: 'request', recordId: foreignId(), date, targetUri, contentType, fields }, block };
}

/** A revisit as Heritrix writes it: a SHA-1, and the original by URI and date. */
export function revisitOf(original: ForeignRecord, url: string, time: number, isNamed = true): ForeignRecord {
  const record: NewRecord = {
    type: 'revisit',
    recordId: foreignId(),
    date: formatW3cDate(time),
    targetUri: url,
    payloadDigest: original.record.payloadDigest,
    contentType: HTTP,
    revisit: {
      profile: 'identical-payload-digest',
      ...(isNamed && { refersToTargetUri: original.record.targetUri, refersToDate: original.record.date }),
    },
  };
  return { record, block: utf8(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Url: ${url}\r\n\r\n`) };
}

export function members(
  records: readonly ForeignRecord[],
  coding: Coding = 'gzip',
  dictionary?: Uint8Array,
): { start: Uint8Array; members: Buffer[] } {
  const encoder = new MemberEncoder({ coding, dictionary });
  try {
    return {
      start: encoder.fileStart(),
      members: records.map(({ record, block }) => Buffer.from(encoder.encode(recordParts(record, block)))),
    };
  } finally {
    encoder.close();
  }
}

export async function writeForeign(
  path: string,
  records: readonly ForeignRecord[],
  coding: Coding = 'gzip',
  dictionary?: Uint8Array,
): Promise<string> {
  const file = members(records, coding, dictionary);
  await writeFile(path, Buffer.concat([file.start, ...file.members]));
  return path;
}

/** A file whose records were compressed together, as `gzip file.warc` does it. */
export async function writeWholeGzip(path: string, records: readonly ForeignRecord[]): Promise<string> {
  await writeFile(path, gzipSync(Buffer.concat(members(records, 'none').members)));
  return path;
}

export async function writeArc(path: string, documents: readonly { url: string; body: Uint8Array }[]): Promise<string> {
  const version = '1 0 Another\nURL IP-address Archive-date Content-type Archive-length\n';
  const parts: Uint8Array[] = [
    utf8(`filedesc://old.arc 0.0.0.0 20010101000000 text/plain ${version.length}\n${version}\n`),
  ];
  for (const [index, { url, body }] of documents.entries()) {
    const head = utf8('HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n');
    const date = `200101010000${String(index).padStart(2, '0')}`;
    parts.push(utf8(`${url} 192.0.2.1 ${date} text/html ${head.length + body.length}\n`), head, body, utf8('\n'));
  }
  await writeFile(path, Buffer.concat(parts));
  return path;
}
