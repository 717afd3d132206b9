/** Damaged files with records: WARC, ARC and WACZ, and WARC files with damaged pages. */
import { gzipSync } from 'node:zlib';
import { type Random, seededIds, seededRandom } from '../../src/base/index.ts';
import { MemberEncoder, recordParts } from '../../src/warc/index.ts';
import { baseInputs } from './base-input.ts';
import { damage } from './mutation.ts';
import { PAGE_URL, type PageInput, pageInputs } from './page-input.ts';
import { zipFile } from './zip-file.ts';

export type FileInput = { readonly name: string; readonly bytes: Buffer };

const WARCS = baseInputs(0);
const PAGES = pageInputs();

/** A WARC file with a page in a sound record. */
export function warcOfPage(page: PageInput, random: Random): FileInput {
  const head = Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: ${page.mime}\r\n\r\n`);
  const encoder = new MemberEncoder({ coding: 'gzip' });
  const targetUri = `${PAGE_URL}/${Math.floor(random() * 2 ** 40)}`;
  const record = {
    type: 'response',
    recordId: seededIds(random)(),
    date: '2024-03-01T10:00:00Z',
    targetUri,
    contentType: 'application/http;msgtype=response',
  } as const;
  const bytes = Buffer.from(encoder.encode(recordParts(record, Buffer.concat([head, page.bytes]))));
  encoder.close();
  return { name: 'page.warc.gz', bytes };
}

function wacz(random: Random): FileInput {
  const warc = WARCS[Math.floor(random() * WARCS.length)]!.bytes;
  const index =
    'test,example)/1 20240301100000 {"url": "http://example.test/1", "length": "4", "offset": "0", "filename": "data.warc.gz"}\n';
  const bytes = zipFile([
    { name: 'archive/data.warc.gz', content: warc, isStored: true },
    { name: 'indexes/index.cdx.gz', content: gzipSync(index), isStored: true },
    {
      name: 'pages/pages.jsonl',
      content:
        '{"format": "json-pages-1.0", "id": "pages"}\n{"url": "http://example.test/1", "ts": "2024-03-01T10:00:00Z"}\n',
    },
    {
      name: 'datapackage.json',
      content:
        '{"profile": "data-package", "wacz_version": "1.1.1", "resources": [{"path": "archive/data.warc.gz", "hash": "sha256:0", "bytes": 9}]}',
    },
  ]);
  return { name: 'damaged.wacz', bytes };
}

/** The damaged file of a seed. */
export function damagedFile(seed: number): FileInput {
  const random = seededRandom(seed);
  const kind = random();
  if (kind < 0.25) {
    const page = PAGES[Math.floor(random() * PAGES.length)]!;
    const bytes = damage(page, random, PAGES).at(-1)?.bytes ?? page.bytes;
    return warcOfPage({ ...page, bytes }, random);
  }
  const base = kind < 0.5 ? wacz(random) : WARCS[Math.floor(random() * WARCS.length)]!;
  const bytes = damage(base, random, WARCS).at(-1)?.bytes ?? base.bytes;
  // Some files have the name of another kind, as in real collections.
  return { name: kind < 0.5 ? 'damaged.wacz' : random() < 0.9 ? 'damaged.warc.gz' : 'damaged.wacz', bytes };
}
