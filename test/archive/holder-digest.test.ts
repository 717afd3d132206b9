/**
 * A rewritten revisit repeats the payload digest of the record that holds its content, since other tools find an
 * original only by the same text.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Archive } from '../../src/archive/index.ts';
import { type ForeignRecord, response, revisitOf, warcinfo, writeForeign } from './foreign-file.ts';
import { audit, bytesOf, contentOf, makeArchive, NOON, walk } from './trial-archive.ts';

const BODY = contentOf('one content of several names');
const nameOf = (algorithm: string) => `${algorithm}:${createHash(algorithm).update(BODY).digest('hex')}`;

function called(name: string, { record, block }: ForeignRecord): ForeignRecord {
  return { record: { ...record, payloadDigest: name }, block };
}

/** The payload digest of the revisit of a URL, and that of the record that the revisit points at. */
async function digestsOf(archive: Archive, url: string): Promise<[string | undefined, string | undefined]> {
  const records = await walk(archive);
  const own = records.find(({ head }) => head.type === 'revisit' && head.targetUri === url)!;
  const holder = records.find(
    ({ head }) =>
      head.type !== 'revisit' &&
      head.targetUri === own.head.get('warc-refers-to-target-uri') &&
      head.date === own.head.get('warc-refers-to-date'),
  );
  return [own.head.get('warc-payload-digest'), holder?.head.get('warc-payload-digest')];
}

test('a foreign revisit that add repoints gets the digest text of the new record', async (t) => {
  const archive = await makeArchive(t);
  const first = called(nameOf('md5'), response('http://first.example/', NOON, BODY));
  const second = response('http://second.example/', NOON + 1000, BODY);
  const revisit = revisitOf(second, 'http://revisit.example/', NOON + 60_000);
  const file = await writeForeign(join(archive.directory, 'a.warc.gz'), [warcinfo(), first, second, revisit]);
  await archive.add([file], { workers: 0 });
  const [own, holder] = await digestsOf(archive, 'http://revisit.example/');
  assert.deepEqual([own, holder], [nameOf('md5'), nameOf('md5')]);
  assert.deepEqual(await audit(archive), []);
});

test('a revisit that compaction repoints gets the digest text of the new record, and its former digest still leads to the content', async (t) => {
  const archive = await makeArchive(t);
  const first = called(nameOf('md5'), response('http://first.example/', NOON, BODY));
  const early = called(nameOf('sha512'), revisitOf(first, 'http://early.example/', NOON + 1000));
  const late = called(nameOf('sha1'), revisitOf(first, 'http://late.example/', NOON + 2000));
  const file = await writeForeign(join(archive.directory, 'a.warc.gz'), [warcinfo(), first, early, late]);
  assert.equal((await archive.add([file], { workers: 0 })).unresolved, 0);
  await archive.delete({ url: 'http://first.example/' });
  const { promoted, repointed } = await archive.compact();
  assert.deepEqual([promoted, repointed], [1, 1]);
  const [own, holder] = await digestsOf(archive, 'http://late.example/');
  assert.deepEqual([own, holder], [nameOf('sha512'), nameOf('sha512')]);
  await archive.rebuild();
  // A revisit in another file that knows the content only by the former digest.
  const lost = revisitOf(called(nameOf('sha1'), first), 'http://named.example/', NOON + 3000, false);
  const more = await writeForeign(join(archive.directory, 'b.warc.gz'), [warcinfo(), lost]);
  assert.equal((await archive.add([more], { workers: 0 })).unresolved, 0);
  assert.deepEqual(await bytesOf((await archive.get('http://named.example/')).payload), Buffer.from(BODY));
});
