/** The missing originals of revisits are searched for again only after records were stored. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Archive, openArchive } from '../../src/archive/index.ts';
import { type ForeignRecord, response, revisitOf, warcinfo, writeForeign } from './foreign-file.ts';
import { catalogOf } from './opened-parts.ts';
import { audit, bytesOf, contentOf, makeArchive, NOON, page, trialOptions } from './trial-archive.ts';

const URL_OF = (n: number) => `http://revisit.example/${n}`;

test('an unresolved revisit finds its original once that is stored, and earlier adds do not search for it', async (t) => {
  const archive = await makeArchive(t);
  const original = response('http://original.example/', NOON, contentOf('original'));
  const revisits = Array.from({ length: 5 }, (_, n) => revisitOf(original, URL_OF(n), NOON + 1000 * (n + 1)));
  const early = await writeForeign(join(archive.directory, 'early.warc.gz'), [warcinfo(), ...revisits]);
  const late = await writeForeign(join(archive.directory, 'late.warc.gz'), [warcinfo(), original]);
  assert.equal((await archive.add([early], { workers: 0 })).unresolved, 5);
  const searches = t.mock.method(catalogOf(archive), 'findAliases');
  await archive.add([early], { workers: 0 });
  assert.equal(countOfDigests(searches), 0, 'adding known captures costs nothing');
  const unrelated = response('http://unrelated.example/', NOON, contentOf('unrelated'));
  await archive.add([await writeForeign(join(archive.directory, 'unrelated.warc.gz'), [unrelated])], { workers: 0 });
  assert.equal(countOfDigests(searches), 0, 'nor does adding unrelated captures');
  await archive.store(page('http://other.example/', NOON, contentOf('other')));
  await archive.close();
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => again.close());
  assert.equal((await again.stats()).unresolvedRevisits, 5);
  // Deletes one of the revisits and compacts. The notes of the other revisits move with their records.
  await again.delete({ url: URL_OF(0) });
  assert.equal((await again.stats()).unresolvedRevisits, 4);
  await again.compact();
  assert.equal((await again.stats()).unresolvedRevisits, 4);
  assert.equal((await again.add([late], { workers: 0 })).captures, 1);
  assert.equal((await again.stats()).unresolvedRevisits, 0);
  for (let n = 1; n < 5; n++)
    assert.deepEqual(await bytesOf((await again.get(URL_OF(n))).payload), Buffer.from(contentOf('original')));
  assert.deepEqual(await audit(again), []);
});

/** The number of digests that were looked up. */
function countOfDigests(searches: { readonly mock: { readonly calls: readonly { arguments: unknown[] }[] } }): number {
  return searches.mock.calls.reduce((sum, call) => sum + (call.arguments[0] as Uint8Array[]).length, 0);
}

/** Ways in which a revisit may name its original, and the record that has to be stored for each. */
const original = () => response('http://original.example/', NOON, contentOf('original'));
const notModified = (): ForeignRecord => {
  const { record, block } = revisitOf(original(), 'http://original.example/', NOON + 60_000, false);
  return { record: { ...record, payloadDigest: undefined, revisit: { profile: 'server-not-modified' } }, block };
};
type Way = { readonly name: string; readonly revisit: () => ForeignRecord; readonly arrivals?: readonly Arrival[] };
type Arrival = 'in a file' | 'in a file added in place' | 'from a crawl' | 'before the next start';
const ARRIVALS: readonly Arrival[] = ['in a file', 'in a file added in place', 'from a crawl', 'before the next start'];

const ways: readonly Way[] = [
  {
    name: 'the digest that another writer gave it',
    revisit: () => revisitOf(original(), URL_OF(1), NOON + 60_000, false),
    arrivals: ['in a file', 'in a file added in place'],
  },
  { name: 'URI and date', revisit: () => withoutDigest(revisitOf(original(), URL_OF(1), NOON + 60_000)) },
  { name: 'a SHA-256', revisit: () => withSha256(revisitOf(original(), URL_OF(1), NOON + 60_000, false)) },
  { name: 'its URL, as a "not modified"', revisit: notModified },
];

test('a revisit that names its original only by record id finds it, whichever is stored first', async (t) => {
  const archive = await makeArchive(t);
  const url = 'http://original.example/';
  const meant = response(url, NOON, contentOf('meant'));
  const other = response(url, NOON + 1000, contentOf('other'));
  const named = (time: number, original = meant): ForeignRecord => {
    const { record, block } = withoutDigest(revisitOf(meant, url, time, false));
    const revisit = { profile: 'identical-payload-digest', refersTo: original.record.recordId } as const;
    return { record: { ...record, revisit }, block };
  };
  const fileOf = (file: string, records: ForeignRecord[]) =>
    writeForeign(join(archive.directory, `${file}.warc.gz`), [warcinfo(), ...records]);
  assert.equal((await archive.add([await fileOf('early', [other, named(NOON + 60_000)])])).unresolved, 1);
  await archive.add([await fileOf('late', [meant])]);
  assert.equal((await archive.stats()).unresolvedRevisits, 0);
  assert.equal((await archive.add([await fileOf('later', [named(NOON + 70_000)])])).unresolved, 0);
  const again = response(url, NOON + 75_000, contentOf('again'));
  const together = named(NOON + 80_000, again);
  assert.equal((await archive.add([await fileOf('together', [again, together])])).unresolved, 0);
  const expected = [
    [60_000, 'meant'],
    [70_000, 'meant'],
    [80_000, 'again'],
  ] as const;
  for (const [after, content] of expected)
    assert.deepEqual(await bytesOf((await archive.get(url, NOON + after)).payload), Buffer.from(contentOf(content)));
  // A catalog that is made again while the deleted original is still there finds it by the same name.
  await archive.delete({ url, to: NOON + 500 });
  await archive.rebuild();
  await archive.compact();
  for (const [after, content] of expected)
    assert.deepEqual(await bytesOf((await archive.get(url, NOON + after)).payload), Buffer.from(contentOf(content)));
});

function withoutDigest({ record, block }: ForeignRecord): ForeignRecord {
  return { record: { ...record, payloadDigest: undefined }, block };
}

function withSha256({ record, block }: ForeignRecord): ForeignRecord {
  const sha256 = createHash('sha256').update(contentOf('original')).digest('hex');
  return { record: { ...record, payloadDigest: `sha256:${sha256}` }, block };
}

for (const { name, revisit, arrivals = ARRIVALS } of ways) {
  for (const arrival of arrivals) {
    test(`a revisit known by ${name} finds an original that arrives ${arrival}`, async (t) => {
      const archive = await makeArchive(t);
      const fileOf = (file: string, records: ForeignRecord[]) =>
        writeForeign(join(archive.directory, `${file}.warc.gz`), [warcinfo(), ...records]);
      const early = await archive.add([await fileOf('early', [revisit()])], { workers: 0 });
      assert.equal(early.unresolved, 1);
      const other = response('http://other.example/', NOON, contentOf('other'));
      await archive.add([await fileOf('other', [other])], { workers: 0 });
      assert.equal((await archive.stats()).unresolvedRevisits, 1);
      let later: Archive = archive;
      if (arrival === 'in a file' || arrival === 'in a file added in place')
        await archive.add([await fileOf('late', [original()])], { workers: 0, inPlace: arrival !== 'in a file' });
      else {
        await archive.store(page('http://original.example/', NOON, contentOf('original')));
        if (arrival === 'from a crawl') {
          const next = response('http://next.example/', NOON, contentOf('next'));
          await archive.add([await fileOf('next', [next])], { workers: 0 });
        } else {
          await archive.close();
          later = await openArchive(archive.directory, trialOptions({ seed: 2 }));
          t.after(() => later.close());
        }
      }
      assert.equal((await later.stats()).unresolvedRevisits, 0);
      const { payload } = await later.get(revisit().record.targetUri!, NOON + 60_000);
      assert.deepEqual(await bytesOf(payload), Buffer.from(contentOf('original')));
    });
  }
}

for (const isNamed of [false, true])
  test(`a rebuild finds the content of a revisit whose original add turned into a revisit, ${isNamed ? 'named by visit and then deleted' : 'known by its digest alone'}`, async (t) => {
    const archive = await makeArchive(t);
    const body = contentOf('shared');
    const urls = ['holder', 'original', 'again'].map((name) => `http://x.example/${name}`) as [string, string, string];
    const [holderUrl, originalUrl, againUrl] = urls;
    await archive.store(page(holderUrl, NOON, body), { collection: 'z' });
    const foreign = response(originalUrl, NOON + 1000, body);
    const records = [warcinfo(), foreign, revisitOf(foreign, againUrl, NOON + 9000, isNamed)];
    const file = await writeForeign(join(archive.directory, 'f.warc.gz'), records);
    await archive.add([file], { collection: 'a', workers: 0 });
    const read = async () => bytesOf((await archive.get(againUrl)).payload);
    if (isNamed) await archive.delete({ url: originalUrl });
    await archive.rebuild();
    assert.ok((await read()).equals(body));
    for (const url of [holderUrl, originalUrl]) await archive.delete({ url });
    await archive.compact();
    assert.ok((await read()).equals(body));
    await archive.rebuild();
    assert.ok((await read()).equals(body));
    assert.deepEqual(await audit(archive), []);
  });
