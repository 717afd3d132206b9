/** Digests in CDX-9 and CDX-11 are SHA-1 or absent, since readers take any other digest for SHA-1. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { formatDigest, toBase32 } from '../../src/base/index.ts';
import { CDX_11, type CdxEntry, cdxLineFormatter, indexEntries, readRecords } from '../../src/warc/index.ts';
import { type ForeignRecord, response, revisitOf, warcinfo, writeForeign } from './foreign-file.ts';
import { contentOf, makeArchive, NOON, page } from './trial-archive.ts';

const BODY = contentOf('shared');
const OTHER = contentOf('another');
const base32 = (bytes: Uint8Array) => toBase32(createHash('sha1').update(bytes).digest());
const sha256 = (bytes: Uint8Array) =>
  formatDigest({ algorithm: 'sha256', bytes: createHash('sha256').update(bytes).digest() });

function called(name: string, { record, block }: ForeignRecord): ForeignRecord {
  return { record: { ...record, payloadDigest: name }, block };
}

const line = cdxLineFormatter(CDX_11, { onlySha1: true });

/** Path and digest of each line. */
function digests(lines: readonly string[]): string[] {
  return lines.map((text) => text.split(' ')).map((columns) => `${new URL(columns[2]!).pathname} ${columns[5]}`);
}

test('exported CDX lines have declared SHA-1 digests, and computed ones on request', async (t) => {
  const archive = await makeArchive(t);
  const declared = response('http://a.example/1-sha1', NOON, BODY);
  const records = [
    declared,
    response('http://a.example/2-again', NOON + 1000, BODY),
    called(sha256(OTHER), response('http://a.example/3-sha256', NOON, OTHER)),
    response('http://a.example/4-sha1-of-the-same', NOON + 1000, OTHER),
    revisitOf(response('http://gone.example/', NOON, contentOf('gone')), 'http://a.example/5-unresolved', NOON),
  ];
  await archive.add([await writeForeign(join(archive.directory, 'a.warc.gz'), [warcinfo(), ...records])]);
  await archive.store(page('http://a.example/6-stored', NOON, contentOf('stored')));
  const exported = (kind: 'declared-sha1' | 'computed-sha1') =>
    Array.fromAsync(archive.exportCdxj({}, line, { digests: kind }));
  const all = (third: string, last: string) => [
    `/1-sha1 ${base32(BODY)}`,
    `/2-again ${base32(BODY)}`,
    `/3-sha256 ${third}`,
    `/4-sha1-of-the-same ${base32(OTHER)}`,
    `/5-unresolved ${base32(contentOf('gone'))}`,
    `/6-stored ${last}`,
  ];
  assert.deepEqual(digests(await exported('declared-sha1')), all('-', '-'));
  assert.deepEqual(digests(await exported('computed-sha1')), all(base32(OTHER), base32(contentOf('stored'))));
  const own = (await Array.fromAsync(archive.exportCdxj({}))).filter((text) => text.includes('"sha256:'));
  assert.equal(own.length, 5, 'CDXJ still has the digests of the archive');
});

test('CDX lines of files have declared SHA-1 digests, and computed ones on request', async (t) => {
  const { directory } = await makeArchive(t);
  const undeclared = { ...response('http://a.example/3-none', NOON, BODY) };
  const records = [
    response('http://a.example/1-sha1', NOON, BODY),
    called(sha256(OTHER), response('http://a.example/2-sha256', NOON, OTHER)),
    { ...undeclared, record: { ...undeclared.record, payloadDigest: undefined } },
    called(sha256(OTHER), revisitOf(undeclared, 'http://a.example/4-revisit', NOON)),
  ];
  const path = await writeForeign(join(directory, 'a.warc.gz'), [warcinfo(), ...records]);
  const entries = async (computesSha1: boolean): Promise<CdxEntry[]> =>
    Array.fromAsync(indexEntries(readRecords(path), { filename: 'a.warc.gz', computesSha1 }));
  const all = (second: string) => [
    `/1-sha1 ${base32(BODY)}`,
    `/2-sha256 ${second}`,
    `/3-none ${base32(BODY)}`,
    '/4-revisit -',
  ];
  assert.deepEqual(digests((await entries(false)).map(line)), all('-'));
  assert.deepEqual(digests((await entries(true)).map(line)), all(base32(OTHER)));
});
