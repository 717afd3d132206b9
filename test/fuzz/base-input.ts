/**
 * The sound files that are then damaged: WARC in every encoding and ARC in both versions. Each file has four records: a
 * first, a last, and two with neighbours on both sides. So thousands of files can be read in a minute. The same seed
 * makes the same bytes.
 */
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { assert, digestOf, type Random, seededIds, seededRandom } from '../../src/base/index.ts';
import {
  type Coding,
  MemberEncoder,
  type NewRecord,
  recordParts,
  trainDictionary,
  warcFields,
} from '../../src/warc/index.ts';

/** A record and its place in the file. */
export type PlacedRecord = { readonly id: string; readonly from: number; readonly to: number; readonly block: Buffer };

export type BaseInput = {
  readonly name: string;
  readonly format: 'warc' | 'arc';
  readonly coding: Coding;
  readonly bytes: Buffer;
  readonly records: readonly PlacedRecord[];
};

const RECORDS = 4;

const WORDS = 'archive record payload revisit segment the of a in and web page crawl library digest'.split(' ');

function text(random: Random, words: number): string {
  return Array.from({ length: words }, () => WORDS[Math.floor(random() * WORDS.length)]).join(' ');
}

function noise(random: Random, bytes: number): Buffer {
  return Buffer.from(Array.from({ length: bytes }, () => Math.floor(random() * 256)));
}

function chunked(body: Buffer, random: Random): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const bytes = Math.min(body.length - at, 1 + Math.floor(random() * 200));
    parts.push(Buffer.from(`${bytes.toString(16)}\r\n`), body.subarray(at, at + bytes), Buffer.from('\r\n'));
    at += bytes;
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

/** HTTP responses of the kinds that readers must distinguish. */
function httpResponse(random: Random, kind: number): Buffer {
  const page = Buffer.from(`<html><title>${text(random, 3)}</title>${text(random, 40)}</html>\n`);
  const head = (fields: string) => Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n${fields}\r\n`);
  switch (kind % 6) {
    case 0:
      return Buffer.concat([head(`Content-Length: ${page.length}\r\n`), page]);
    case 1:
      return Buffer.concat([head('Transfer-Encoding: chunked\r\n'), chunked(page, random)]);
    case 2:
      return Buffer.concat([head('Content-Encoding: gzip\r\n'), gzipSync(page)]);
    case 3:
      return Buffer.concat([
        head('Content-Encoding: zstd\r\nTransfer-Encoding: chunked\r\n'),
        chunked(zstdCompressSync(page), random),
      ]);
    case 4:
      return Buffer.concat([head('Content-Encoding: deflate\r\n'), deflateSync(page)]);
    default:
      return Buffer.concat([head(''), noise(random, 300)]);
  }
}

type Draft = { readonly record: NewRecord; readonly block: Buffer };

function drafts(random: Random, count: number): Draft[] {
  const id = seededIds(random);
  const date = '2024-03-01T10:00:00Z';
  const made: Draft[] = [
    {
      record: { type: 'warcinfo', recordId: id(), date, contentType: 'application/warc-fields' },
      block: Buffer.from(warcFields([{ name: 'software', value: 'fuzz' }])),
    },
  ];
  for (let i = 1; i < count; i++) {
    const targetUri = `http://example.test/${i}`;
    const block = httpResponse(random, Math.floor(random() * 6));
    const blockDigest = digestOf('sha1', block);
    const response = { recordId: id(), date, targetUri, blockDigest, contentType: 'application/http;msgtype=response' };
    if (i % 4 === 3) {
      const revisit = {
        profile: 'identical-payload-digest',
        refersToTargetUri: targetUri,
        refersToDate: date,
      } as const;
      const cut = block.subarray(0, block.indexOf('\r\n\r\n') + 4);
      made.push({ record: { ...response, type: 'revisit', revisit, blockDigest: undefined }, block: cut });
    } else {
      made.push({ record: { ...response, type: 'response' }, block });
    }
  }
  return made;
}

function warcInput(name: string, coding: Coding, seed: number, level?: number, dictionary?: Uint8Array): BaseInput {
  const made = drafts(seededRandom(seed), RECORDS);
  const encoder = new MemberEncoder({ coding, level, dictionary });
  const parts: Uint8Array[] = [encoder.fileStart()];
  let at = parts[0]!.length;
  const records: PlacedRecord[] = [];
  for (const { record, block } of made) {
    const member = encoder.encode(recordParts(record, block));
    records.push({ id: record.recordId, from: at, to: at + member.length, block });
    parts.push(member);
    at += member.length;
  }
  encoder.close();
  return { name, format: 'warc', coding, bytes: Buffer.concat(parts), records };
}

function arcInput(name: string, version: 1 | 2, isCompressed: boolean, seed: number): BaseInput {
  const random = seededRandom(seed);
  const fields =
    version === 1
      ? 'URL IP-address Archive-date Content-type Archive-length'
      : 'URL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename Archive-length';
  const middle = version === 1 ? '' : ' 200 - - 0 demo.arc';
  const head = (url: string, mime: string, bytes: number) =>
    `${url} 192.0.2.10 20240301100000 ${mime}${middle} ${bytes}\n`;
  const block = Buffer.from(`${version} 0 Fuzz\n${fields}\n\n`);
  const parts: Buffer[] = [];
  const records: PlacedRecord[] = [];
  let at = 0;
  const put = (url: string, mime: string, body: Buffer) => {
    const record = Buffer.concat([Buffer.from(head(url, mime, body.length)), body, Buffer.from('\n')]);
    const member = isCompressed ? gzipSync(record) : record;
    records.push({ id: url, from: at, to: at + member.length, block: body });
    parts.push(member);
    at += member.length;
  };
  put('filedesc://demo.arc', 'text/plain', block);
  for (let i = 1; i < RECORDS; i++) put(`http://example.test/${i}`, 'text/html', httpResponse(random, seed + i));
  return { name, format: 'arc', coding: isCompressed ? 'gzip' : 'none', bytes: Buffer.concat(parts), records };
}

/** All kinds of files, for one seed. */
export function baseInputs(seed: number): BaseInput[] {
  const samples = Array.from({ length: 40 }, (_, i) =>
    Buffer.concat(drafts(seededRandom(seed + i), 4).map(({ block }) => block)),
  );
  const dictionary = trainDictionary(samples, { bytesMax: 4096 });
  assert(dictionary, 'the samples give a dictionary');
  return [
    warcInput('warc.gz', 'gzip', seed),
    warcInput('warc.gz stored', 'gzip', seed + 1, 0),
    warcInput('warc', 'none', seed + 2),
    warcInput('warc.zst', 'zstd', seed + 3),
    warcInput('warc.zst with dictionary', 'zstd', seed + 4, 3, dictionary),
    arcInput('arc', 1, false, seed + 5),
    arcInput('arc v2', 2, false, seed + 6),
    arcInput('arc.gz', 1, true, seed + 7),
    arcInput('arc.gz v2', 2, true, seed + 8),
  ];
}
