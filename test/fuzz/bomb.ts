/**
 * Small files that demand a lot of memory, time, or depth. Each is read by its own process, which has to stay within
 * the same limits as all others.
 */
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { MemberEncoder, recordParts } from '../../src/warc/index.ts';
import { type FileInput, warcOfPage } from './file-input.ts';
import { docx, pagePdf, pdfOf } from './page-input.ts';
import { zipFile } from './zip-file.ts';

const MIB = 1024 * 1024;

const record = (length: number | string) =>
  `WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\nWARC-Date: 2024-03-01T10:00:00Z\r\nWARC-Target-URI: http://example.test/bomb\r\nContent-Type: text/html\r\nContent-Length: ${length}\r\n\r\n`;

const zeros = (mebibytes: number) => Buffer.alloc(mebibytes * MIB);

function overlapping(): FileInput {
  const warc = Buffer.concat([Buffer.from(record(64 * MIB)), zeros(64), Buffer.from('\r\n\r\n')]);
  const others = Array.from({ length: 2000 }, (_, at) => ({ name: `archive/${at}.warc`, content: '', sharesWith: 0 }));
  return { name: 'overlapping.wacz', bytes: zipFile([{ name: 'archive/first.warc', content: warc }, ...others]) };
}

function nestedPackages(): FileInput {
  let bytes: Buffer = Buffer.alloc(0);
  for (let depth = 0; depth < 50; depth++)
    bytes = zipFile([{ name: `archive/${depth}.wacz`, content: bytes, isStored: true }]);
  return { name: 'nested.wacz', bytes };
}

function members(): FileInput[] {
  const endless = [
    ['a block that never ends', Buffer.concat([Buffer.from(record(10 ** 15)), zeros(256)])],
    ['a record without a length', Buffer.concat([Buffer.from(record('')), zeros(256)])],
    ['a member that goes on', Buffer.concat([Buffer.from(`${record(4)}abcd\r\n\r\n`), zeros(256)])],
    [
      'a head that never ends',
      Buffer.concat([Buffer.from('WARC/1.1\r\n'), Buffer.alloc(128 * MIB, 'X-Field: value\r\n')]),
    ],
    ['an ARC line that never ends', Buffer.concat([Buffer.from('http://example.test/'), Buffer.alloc(128 * MIB, 'x')])],
  ] as const;
  return endless.flatMap(([name, bytes]) => [
    { name: `${name}.warc.gz`, bytes: gzipSync(bytes) },
    { name: `${name}.warc.zst`, bytes: zstdCompressSync(bytes) },
  ]);
}

const page = (mime: string, bytes: Uint8Array): FileInput =>
  warcOfPage({ name: mime, mime, bytes: Buffer.from(bytes) }, seededRandom(bytes.length));

/** A page with one content coding, or several. */
function coded(coding: string, body: Buffer): FileInput {
  const head = Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: ${coding}\r\n\r\n`);
  const encoder = new MemberEncoder({ coding: 'gzip' });
  const random = seededRandom(body.length);
  const bytes = encoder.encode(
    recordParts(
      {
        type: 'response',
        recordId: seededIds(random)(),
        date: '2024-03-01T10:00:00Z',
        targetUri: `http://example.test/${coding}`,
        contentType: 'application/http;msgtype=response',
      },
      Buffer.concat([head, body]),
    ),
  );
  encoder.close();
  return { name: 'coded.warc.gz', bytes: Buffer.from(bytes) };
}

function pages(): FileInput[] {
  const deep = (before: string, after: string, count: number) =>
    Buffer.from(before.repeat(count) + after.repeat(count));
  const image = deflateSync(zeros(300));
  const imagePdf = pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /XObject << /I 5 0 R >> >> >>',
    '<< /Length 5 >>\nstream\n/I Do\nendstream',
    Buffer.concat([
      Buffer.from(
        `<< /Type /XObject /Subtype /Image /Width 10000 /Height 10000 /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode /Length ${image.length} >>\nstream\n`,
      ),
      image,
      Buffer.from('\nendstream'),
    ]),
  ]);
  return [
    page('text/html', deep('<div>', '</div>', 500_000)),
    page('text/html', deep('<a href="x">', '', 300_000)),
    page('image/svg+xml', deep('<g>', '</g>', 500_000)),
    page('application/rss+xml', Buffer.from(`<rss>${'<channel>'.repeat(300_000)}`)),
    page('application/feed+json', deep('{"items":[', '', 300_000)),
    page('application/manifest+json', deep('[', ']', 1_000_000)),
    page('text/css', deep('@media x {', '}', 300_000)),
    page('text/javascript', deep('import(`${', '}`)', 200_000)),
    page('application/pdf', pagePdf(Buffer.alloc(200 * MIB, 'BT (words) Tj ET\n'))),
    page('application/pdf', pagePdf(zeros(500))),
    page('application/pdf', imagePdf),
    page('application/vnd.openxmlformats-officedocument.wordprocessingml.document', docx('<w:p>'.repeat(20 * MIB))),
    coded('gzip', gzipSync(zeros(500))),
    coded('gzip, gzip', gzipSync(gzipSync(zeros(500)))),
    coded('zstd', zstdCompressSync(zeros(500))),
    coded(Array.from({ length: 200 }, () => 'gzip').join(', '), gzipSync('x')),
  ];
}

/** All bombs, each with its own name. */
export function bombs(): FileInput[] {
  const all = [overlapping(), nestedPackages(), ...members(), ...pages()];
  return all.map(({ name, bytes }, at) => ({ name: `${at} ${name}`, bytes }));
}

/** Requests to a server that demand a lot. */
export const BOMB_REQUESTS: readonly string[] = [
  `/cdx?url=example.test/*&fl=${Array.from({ length: 7000 }, () => 'original').join(',')}`,
  `/cdx?url=example.test/*&filter=${encodeURIComponent('original:(a+)+$')}&limit=100000`,
  `/cdx?url=${'a'.repeat(30_000)}`,
  '/cdx?url=*&matchType=domain&collapse=urlkey&output=json',
];
