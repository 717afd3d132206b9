/**
 * Sample files for the journeys of `pinakes warc`, made on the spot: a chunked response, a request, a revisit of
 * another URL, a revisit by 304, and a body with a content coding; an ARC file; packages.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { digestOf, utf8 } from '../../src/base/index.ts';
import {
  type Coding,
  formatCdxjLine,
  indexEntries,
  type NewRecord,
  readRecords,
  WarcFileWriter,
  type WrittenRecord,
  writeWacz,
} from '../../src/warc/index.ts';

export const PAGE = '<p>hello</p>\n';
export const PAGE_SHA1 = 'SPY26MJKW5H7YED73KP4SKZ3QEA5BN4S';
export const PAGE_HTTP_HEAD = [
  'HTTP/1.1 200 OK',
  'Date: Fri, 01 Mar 2024 10:00:00 GMT',
  'Content-Type: text/html',
  'Last-Modified: Thu, 29 Feb 2024 09:00:00 GMT',
  'ETag: "v1"',
  'Transfer-Encoding: chunked',
  '\r\n',
].join('\r\n');
export const PAGE_BLOCK = `${PAGE_HTTP_HEAD}d\r\n${PAGE}\r\n0\r\n\r\n`;
const POST_BODY = 'name=Kallimachos&shelf=7';
export const CODED_TEXT = 'The catalogue of all books. '.repeat(20);

const REVISIT_HEAD =
  'HTTP/1.1 200 OK\r\nDate: Sat, 02 Mar 2024 10:00:00 GMT\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n';
const NOT_MODIFIED_HEAD = 'HTTP/1.1 304 Not Modified\r\nDate: Sun, 03 Mar 2024 10:00:00 GMT\r\nETag: "v1"\r\n\r\n';

export function id(number: number): string {
  return `<urn:uuid:00000000-0000-4000-8000-${String(number).padStart(12, '0')}>`;
}

/** A directory that is removed after the test. */
export function scratch(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-journey-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const refersTo = {
  refersTo: id(1),
  refersToTargetUri: 'http://www.example.test/a',
  refersToDate: '2024-03-01T10:00:00.250Z',
};
const response = 'application/http;msgtype=response';
const payloadDigest = `sha1:${PAGE_SHA1}`;

const SAMPLE_RECORDS: readonly (readonly [NewRecord, string | Uint8Array])[] = [
  [
    { type: 'warcinfo', recordId: id(9), date: '2024-03-01T09:59:59Z', contentType: 'application/warc-fields' },
    'software: sample/1\r\n',
  ],
  [
    {
      type: 'response',
      recordId: id(1),
      date: '2024-03-01T10:00:00.250Z',
      targetUri: 'http://www.example.test/a',
      payloadDigest,
      blockDigest: digestOf('sha1', utf8(PAGE_BLOCK)),
      contentType: response,
      fields: [{ name: 'WARC-IP-Address', value: '192.0.2.10' }],
    },
    PAGE_BLOCK,
  ],
  [
    {
      type: 'revisit',
      recordId: id(2),
      date: '2024-03-02T10:00:00Z',
      targetUri: 'http://cdn.example.test/copy?id=7',
      payloadDigest,
      contentType: response,
      revisit: { profile: 'identical-payload-digest', ...refersTo, truncated: true },
    },
    REVISIT_HEAD,
  ],
  [
    {
      type: 'revisit',
      recordId: id(3),
      date: '2024-03-03T10:00:00Z',
      targetUri: 'http://www.example.test/a',
      payloadDigest,
      contentType: response,
      revisit: { profile: 'server-not-modified', ...refersTo },
    },
    NOT_MODIFIED_HEAD,
  ],
  [
    {
      type: 'response',
      recordId: id(4),
      date: '2024-03-04T10:00:00Z',
      targetUri: 'http://www.example.test/form',
      contentType: response,
    },
    'HTTP/1.1 303 See Other\r\nLocation: /done\r\n\r\n',
  ],
  [
    {
      type: 'request',
      recordId: id(5),
      date: '2024-03-04T10:00:00Z',
      targetUri: 'http://www.example.test/form',
      contentType: 'application/http;msgtype=request',
      fields: [{ name: 'WARC-Concurrent-To', value: id(4) }],
    },
    `POST /form HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 24\r\n\r\n${POST_BODY}`,
  ],
  [
    {
      type: 'response',
      recordId: id(6),
      date: '2024-03-05T10:00:00Z',
      targetUri: 'http://www.example.test/coded',
      contentType: response,
    },
    Buffer.concat([
      Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n'),
      gzipSync(CODED_TEXT),
    ]),
  ],
];

/** The places of SAMPLE_RECORDS. */
export type SamplePlaces = readonly WrittenRecord[];

export async function writeSample(path: string, coding: Coding = 'gzip'): Promise<SamplePlaces> {
  const writer = await WarcFileWriter.create(path, { coding });
  const places: WrittenRecord[] = [];
  for (const [record, block] of SAMPLE_RECORDS) places.push(await writer.write(record, Buffer.from(block)));
  await writer.finish();
  return places;
}

/** Pages of one site, numerous and similar enough that a dictionary saves space. */
export async function writeSite(path: string, site: string, pages = 400): Promise<void> {
  const writer = await WarcFileWriter.create(path, { coding: 'gzip' });
  for (let page = 0; page < pages; page++) {
    const rows = Array.from(
      { length: 12 },
      (_, row) => `<li><a href="/${site}/${(page * 31 + row * 17) % 97}">Scroll ${page}.${row}</a></li>\n`,
    );
    await writer.write(
      {
        type: 'response',
        recordId: id(page),
        date: '2024-03-01T10:00:00Z',
        targetUri: `http://${site}.test/${page}`,
        contentType: response,
      },
      utf8(
        `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><title>Page ${page} of ${site}</title><ul>${rows.join('')}`,
      ),
    );
  }
  await writer.finish();
}

/** Bytes that do not compress, so that processing them takes a while. */
export async function writeNoise(path: string, records: number, recordBytes: number): Promise<void> {
  const writer = await WarcFileWriter.create(path, { coding: 'none' });
  let state = 0x9e3779b9;
  for (let number = 0; number < records; number++) {
    const block = Buffer.alloc(recordBytes);
    for (let at = 0; at + 4 <= recordBytes; at += 4) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      block.writeUInt32LE((state ^ (state >>> 13)) >>> 0, at);
    }
    await writer.write(
      {
        type: 'resource',
        recordId: id(number),
        date: '2024-03-01T10:00:00Z',
        targetUri: `http://noise.test/${number}`,
        contentType: 'application/octet-stream',
      },
      block,
    );
  }
  await writer.finish();
}

const ARC_DOCUMENT = `HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n${PAGE}`;
const ARC_VERSION = '1 0 ExampleOrg\nURL IP-address Archive-date Content-type Archive-length\n\n';

export const ARC_FILE =
  `filedesc://demo.arc 0.0.0.0 20240301100000 text/plain ${ARC_VERSION.length}\n${ARC_VERSION}` +
  `http://www.example.test:80/a 192.0.2.10 20240301100000 text/html ${ARC_DOCUMENT.length}\n${ARC_DOCUMENT}\n` +
  `dns:www.example.test 192.0.2.53 20240301095959 text/dns 9\n192.0.2.1\n`;

/** A package of WARC files with a correct index. */
export async function writePackage(path: string, warcs: readonly string[]): Promise<void> {
  const indexLines: string[] = [];
  for (const warc of warcs) {
    for await (const entry of indexEntries(readRecords(warc), { filename: basename(warc) }))
      indexLines.push(formatCdxjLine(entry));
  }
  await writeWacz(path, { software: 'sample/1', createdMs: 1709287200000, warcs, pages: [], indexLines });
}

/** A file that is compressed as a single gzip member, as some tools write it. */
export function gzipWhole(plain: Uint8Array, path: string): void {
  writeFileSync(path, gzipSync(plain));
}

/** The beginning of a JPEG, which is not an archive file under any name. */
export const JPEG = Buffer.concat([
  Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10]),
  Buffer.from('JFIF\0\x01\x01\0\0\x01\0\x01\0\0'),
  Buffer.alloc(2000, 0x5a),
]);
