/**
 * A segment that cannot be read when the catalog is made. The records that it refers to stay, and the rest of the
 * archive can be read.
 */
import assert from 'node:assert/strict';
import { copyFileSync, cpSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, dropCatalog, formatContentKey, openArchive } from '../../src/archive/index.ts';
import { breakFile } from './bad-sector-sample.ts';
import { response, revisitOf, writeForeign } from './foreign-file.ts';
import { leaveTombstones } from './opened-parts.ts';
import {
  allCaptures,
  audit,
  bytesOf,
  contentOf,
  makeArchive,
  NOON,
  page,
  payloadAt,
  temporaryDirectory,
  trialOptions,
} from './trial-archive.ts';

const DAY = 24 * 60 * 60 * 1000;

test('I5 No capture loses its content: compaction keeps a record that a file refers to, even if the file was missing during the rebuild', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  const body = contentOf('shared');
  const original = response('http://a.example/', NOON, body);
  const copied = await writeForeign(join(directory, 'copied.warc.gz'), [
    original,
    response('http://stays.example/', NOON, contentOf('stays')),
  ]);
  const linked = await writeForeign(join(directory, 'linked.warc.gz'), [
    response('http://linked.example/', NOON, contentOf('linked')),
    revisitOf(original, 'http://a.example/', NOON + DAY),
  ]);
  await archive.add([copied], { workers: 0 });
  await archive.add([linked], { workers: 0, inPlace: true, collection: 'linked' });
  assert.equal((await archive.delete({ url: 'http://a.example/', to: NOON + 1 })).captures, 1);
  assert.deepEqual(await payloadAt(archive, 'http://a.example/'), Buffer.from(body));

  await archive.close();
  renameSync(linked, `${linked}.away`);
  await dropCatalog(archive.directory);
  const without = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  const { segments, waiting } = await without.compact();
  assert.deepEqual([segments, waiting.length], [0, 1]);
  await without.close();

  renameSync(`${linked}.away`, linked);
  const again = await openArchive(archive.directory, trialOptions({ seed: 3 }));
  t.after(() => again.close());
  assert.deepEqual(await payloadAt(again, 'http://a.example/'), Buffer.from(body));
  assert.deepEqual((await again.compact()).waiting, []);
  assert.deepEqual(await payloadAt(again, 'http://a.example/'), Buffer.from(body));
  assert.equal((await again.verify()).errors, 0);
});

/** An archive with a copied file, and a file in place with a revisit of the copied record. */
async function archiveThatLeansOutside(t: TestContext) {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  const body = contentOf('shared');
  const original = response('http://a.example/', NOON, body);
  const copied = await writeForeign(join(directory, 'copied.warc.gz'), [original]);
  const linked = await writeForeign(join(directory, 'linked.warc.gz'), [
    revisitOf(original, 'http://a.example/', NOON + DAY),
  ]);
  await archive.add([copied], { workers: 0 });
  await archive.add([linked], { workers: 0, inPlace: true, collection: 'linked' });
  return { archive, body, linked };
}

test('I5 No capture loses its content when its original is deleted while the file with the revisit is missing', async (t) => {
  const { archive, body, linked } = await archiveThatLeansOutside(t);
  await archive.close();
  renameSync(linked, `${linked}.away`);
  await dropCatalog(archive.directory);
  const without = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  const [kept] = await allCaptures(without);
  const key = formatContentKey('main', kept!.block!);
  assert.deepEqual(await bytesOf((await without.content(key)).payload), Buffer.from(body));
  assert.equal((await without.delete({ url: 'http://a.example/' })).captures, 1);
  await assert.rejects(without.content(key), { code: 'CONTENT_MISSING' }, 'a deleted content cannot be read');
  await without.close();
  const still = await openArchive(archive.directory, trialOptions({ seed: 3 }));
  await assert.rejects(still.content(key), { code: 'CONTENT_MISSING' });
  assert.equal((await still.verify()).errors, 1, 'the missing file');
  await still.close();

  renameSync(`${linked}.away`, linked);
  const again = await openArchive(archive.directory, trialOptions({ seed: 4 }));
  t.after(() => again.close());
  assert.deepEqual(await payloadAt(again, 'http://a.example/'), Buffer.from(body));
  await again.delete({ url: 'http://a.example/' });
  await again.compact();
  assert.equal((await again.totals()).blocks, 0);
  assert.deepEqual(await audit(again), []);
});

for (const how of ['copied', 'added in place'])
  test(`a bad sector under a file that was ${how} loses only the content of the sector when the catalog is made again`, async (t) => {
    const archive = await makeArchive(t);
    const directory = await temporaryDirectory(t);
    const isInPlace = how === 'added in place';
    const pages = (name: string) =>
      Array.from({ length: 1500 }, (_, n) => response(`http://${name}.example/${n}`, NOON, contentOf(`${name} ${n}`)));
    const sound = await writeForeign(join(directory, 'sound.warc.gz'), pages('sound'));
    const bad = await writeForeign(join(directory, 'bad.warc.gz'), pages('bad'));
    await archive.add([sound], { workers: 0, collection: 'a-sound' });
    await archive.add([bad], { workers: 0, collection: 'bad', inPlace: isInPlace });
    await archive.delete({ url: 'http://sound.example/7' });
    const { name, bytes } = (await archive.segments()).find((segment) => segment.name.startsWith('bad/'))!;
    const file = isInPlace ? bad : join(archive.directory, 'volumes/main', `${name}.open`);
    await archive.close();
    const repair = await breakFile(t, file, bytes - 10_000);
    await dropCatalog(archive.directory);
    const without = await openArchive(archive.directory, trialOptions({ seed: 2 }));
    const there = await allCaptures(without);
    assert.equal(there.filter(({ url }) => url.startsWith('http://sound.')).length, 1499);
    assert.ok(there.length > 1499, 'everything before the bad sector was catalogued');
    const codes: string[] = [];
    await without.verify({ onProblem: ({ code }) => void codes.push(code) });
    assert.deepEqual(codes, ['segment-unreadable']);
    const { segments, waiting } = await without.compact();
    assert.deepEqual([segments, waiting.length], [0, 1]);
    const { captures } = await without.delete({ url: 'http://bad.example/3' });
    await without.close();
    repair();
    const again = await openArchive(archive.directory, trialOptions({ seed: 3 }));
    t.after(() => again.close());
    assert.equal((await allCaptures(again)).length, 2999 - captures);
    assert.deepEqual(await audit(again), []);
  });

test('compaction and migration leave a segment with a bad sector where it is, and continue with the others', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  await archive.addVolume({ name: 'second', path: join(directory, 'second') });
  for (const name of ['one', 'two']) {
    const pages = Array.from({ length: 30 }, (_, n) =>
      response(`http://${name}.example/${n}`, NOON, contentOf(`${name} ${n}`)),
    );
    const file = await writeForeign(join(directory, `${name}.warc.gz`), pages);
    await archive.add([file], { workers: 0, collection: name, volume: 'main' });
    await archive.delete({ url: `http://${name}.example/3` });
  }
  const { name } = (await archive.segments()).find((segment) => segment.name.startsWith('one/'))!;
  const repair = await breakFile(t, join(archive.directory, 'volumes/main', `${name}.open`), 40_000);
  const { segments, damaged } = await archive.compact();
  assert.deepEqual([segments, damaged.map(({ segment }) => segment)], [1, [name]]);
  const { segments: moved, failures } = await archive.migrate('main', 'second');
  assert.deepEqual([moved, failures.map(({ code }) => code)], [2, ['VOLUME_IO']]);
  repair();
  assert.equal((await archive.migrate('main', 'second')).segments, 1);
  assert.equal((await archive.compact()).segments, 1);
  assert.equal((await allCaptures(archive)).length, 58);
  assert.deepEqual(await audit(archive), []);
});

/**
 * Four collections with a segment each: `holder` has the contents of `gone` and `leaning`, `other` is independent. One
 * page of each is deleted, except in `holder`.
 */
async function leaningArchive(t: TestContext): Promise<Archive> {
  const archive = await makeArchive(t);
  const store = (collection: string, path: string, content: string, time = NOON) =>
    archive.store(page(`http://${collection}.example/${path}`, time, contentOf(content)), { collection });
  for (const [collection, shared] of [
    ['holder', 'kept'],
    ['gone', 'kept'],
    ['leaning', 'kept'],
    ['other', 'other'],
  ] as const) {
    await store(collection, 'shared', shared);
    await store(collection, 'deleted', `deleted from ${collection}`);
    await store(collection, 'own', `own of ${collection}`);
  }
  for (const collection of ['gone', 'leaning', 'other'])
    await archive.delete({ url: `http://${collection}.example/deleted` });
  await archive.delete({ url: 'http://gone.example/shared' });
  return archive;
}

async function fileOf(archive: Archive, collection: string, suffix = ''): Promise<string> {
  const { name } = (await archive.segments()).find((segment) => segment.name.startsWith(`${collection}/`))!;
  return join(archive.directory, 'volumes/main', `${name}${suffix}.open`);
}

test('I5 No capture loses its content when the link to the file with the revisit is damaged', async (t) => {
  const { archive, body } = await archiveThatLeansOutside(t);
  await archive.delete({ url: 'http://a.example/', to: NOON + 1 });
  await archive.close();
  await dropCatalog(archive.directory);
  const list = join(archive.directory, 'volumes/linked.jsonl');
  const lines = readFileSync(list);
  writeFileSync(list, Buffer.from(lines).fill(0, lines.indexOf('\n') + 1));
  const codes: string[] = [];
  const onFinding = ({ code }: { code: string }) => void codes.push(code);
  const without = await openArchive(archive.directory, { ...trialOptions({ seed: 2 }), onFinding });
  assert.deepEqual(codes, ['links-damaged']);
  assert.equal((await without.verify()).errors, 1);
  assert.equal((await without.compact()).waiting.length, 1);
  await without.close();
  writeFileSync(list, lines);
  const again = await openArchive(archive.directory, trialOptions({ seed: 3 }));
  t.after(() => again.close());
  assert.deepEqual(await payloadAt(again, 'http://a.example/'), Buffer.from(body));
  assert.deepEqual(await audit(again), []);
});

for (const [what, broken, suffix, stay] of [
  ['the record that holds a content', 'holder', '', ['gone']],
  ['a revisit that refers to what stays', 'leaning', '', ['gone', 'leaning']],
  ['tombstones', 'other', '.tombstones', ['other']],
] as const)
  test(`a bad sector under ${what} is reported, and compaction spares this segment and those that depend on it`, async (t) => {
    const archive = await leaningArchive(t);
    if (suffix) await leaveTombstones(archive, (await archive.segments()).find(({ name }) => name.startsWith(broken))!);
    const repair = await breakFile(t, await fileOf(archive, broken, suffix), 0);
    const { damaged } = await archive.compact();
    assert.deepEqual(
      damaged.map(({ segment }) => segment.split('/')[0]),
      [broken],
    );
    const left = (await archive.segments()).filter(({ deadBytes }) => deadBytes > 0);
    assert.deepEqual(left.map(({ name }) => name.split('/')[0]).sort(), stay);
    repair();
    await archive.compact();
    assert.ok((await archive.segments()).every(({ deadBytes }) => deadBytes === 0));
    assert.deepEqual(await payloadAt(archive, 'http://leaning.example/shared'), Buffer.from(contentOf('kept')));
    assert.equal((await allCaptures(archive)).length, 8);
    assert.deepEqual(await audit(archive), []);
  });

test('I5 No capture loses its content when its revisit names another revisit, whose original cannot be read', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  const original = response('http://a.example/', NOON, contentOf('shared'));
  const named = revisitOf(original, 'http://b.example/', NOON + DAY);
  const { record, block } = revisitOf(named, 'http://c.example/', NOON + 2 * DAY);
  const { payloadDigest: _, ...undigested } = record;
  for (const [collection, one] of [
    ['holder', original],
    ['named', named],
    ['leaning', { record: undigested, block }],
  ] as const) {
    await writeForeign(join(directory, `${collection}.warc.gz`), [one]);
  }
  await archive.addVolume({ name: 'second', path: directory });
  assert.deepEqual(await payloadAt(archive, 'http://c.example/'), Buffer.from(contentOf('shared')));
  for (const url of ['http://a.example/', 'http://b.example/']) await archive.delete({ url });
  const repair = await breakFile(t, join(directory, 'holder.warc.gz'), 0);
  assert.deepEqual((await archive.compact()).segments, 0, 'deleted records that revisits name stay');
  repair();
  await archive.rebuild();
  assert.deepEqual(await payloadAt(archive, 'http://c.example/'), Buffer.from(contentOf('shared')));
  await archive.compact();
  assert.deepEqual(await payloadAt(archive, 'http://c.example/'), Buffer.from(contentOf('shared')));
  assert.ok((await archive.segments()).every(({ deadBytes }) => deadBytes === 0));
  assert.deepEqual(await audit(archive), []);
});

test('recompression leaves out only the segment with a bad sector', async (t) => {
  const archive = await makeArchive(t, { policies: { segmentBytesMax: 64 * 1024 } });
  for (let n = 0; n < 120; n++) await archive.store(page(`http://a.example/${n}`, NOON + n, contentOf(`page ${n}`)));
  const sealed = (await archive.segments()).filter(({ state }) => state === 'sealed');
  assert.ok(sealed.length > 1);
  const { name } = sealed[0]!;
  const repair = await breakFile(t, join(archive.directory, 'volumes/main', name), 0);
  const left = [{ segment: name, isDamaged: true }];
  for (const dryRun of [true, false]) {
    const report = await archive.recompress({ worthwhileShare: 2, dryRun });
    assert.equal(report.segments, sealed.length);
    assert.deepEqual(
      report.left.map(({ segment, isDamaged }) => ({ segment, isDamaged })),
      left,
    );
  }
  repair();
  assert.equal((await archive.recompress({ worthwhileShare: 2 })).segments, 1);
  assert.deepEqual(await audit(archive), []);
});

test('the next migration reports a leftover file of an interrupted one when it has a bad sector, and keeps it', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  for (const name of ['one', 'two'])
    await archive.store(page(`http://${name}.example/`, NOON, contentOf(name)), { collection: name });
  await archive.addVolume({ name: 'second', path: join(directory, 'second') });
  const copies = join(directory, 'copies');
  const volume = join(archive.directory, 'volumes/main');
  cpSync(volume, copies, { recursive: true });
  assert.equal((await archive.migrate('main', 'second')).segments, 2);
  const names = (await archive.segments()).map(({ name }) => name);
  for (const name of names) cpSync(join(copies, `${name}.open`), join(volume, name));
  const repair = await breakFile(t, join(volume, names[0]!), 0);
  const { failures } = await archive.migrate('main', 'second');
  assert.deepEqual(
    failures.map(({ code }) => code),
    ['VOLUME_IO'],
  );
  assert.deepEqual(
    names.map((name) => existsSync(join(volume, name))),
    [true, false],
  );
  repair();
  assert.deepEqual((await archive.migrate('main', 'second')).failures, []);
  assert.ok(!existsSync(join(volume, names[0]!)));
  assert.deepEqual(await audit(archive), []);
});

test('a rebuild leaves out a segment whose tombstones have a bad sector, and brings no deleted capture back', async (t) => {
  const archive = await makeArchive(t);
  for (const name of ['one', 'two'])
    for (const path of ['a', 'b'])
      await archive.store(page(`http://${name}.example/${path}`, NOON, contentOf(name + path)), { collection: name });
  const { name } = (await archive.segments()).find((segment) => segment.name.startsWith('one/'))!;
  const gone = (await allCaptures(archive)).find(({ url }) => url === 'http://one.example/a')!;
  await archive.close();
  writeFileSync(join(archive.directory, 'volumes/main', `${name}.tombstones.open`), `${gone.place.offset} -\n`);
  await dropCatalog(archive.directory);
  const repair = await breakFile(t, join(archive.directory, 'volumes/main', `${name}.tombstones.open`), 0);
  const without = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  const urls = (captures: readonly { url: string }[]) => captures.map(({ url }) => url).sort();
  assert.deepEqual(urls(await allCaptures(without)), ['http://two.example/a', 'http://two.example/b']);
  await without.close();
  repair();
  const again = await openArchive(archive.directory, trialOptions({ seed: 3 }));
  t.after(() => again.close());
  const expected = ['http://one.example/b', 'http://two.example/a', 'http://two.example/b'];
  assert.deepEqual(urls(await allCaptures(again)), expected);
  assert.deepEqual(await audit(again), []);
});

for (const times of [1, Infinity])
  test(`a void replacement segment that the disk cannot read ${times === 1 ? 'at first' : 'at all'} brings no deleted capture back`, async (t) => {
    const archive = await makeArchive(t);
    for (const path of ['a', 'b', 'c', 'd'])
      await archive.store(page(`http://one.example/${path}`, NOON, contentOf(path)), { collection: 'one' });
    await archive.delete({ url: 'http://one.example/a' });
    // A segment is sealed before it is replaced.
    await archive.setVolumeWritable('main', false);
    await archive.setVolumeWritable('main', true);
    await archive.close();
    const copy = join(await temporaryDirectory(t), 'copy');
    cpSync(archive.directory, copy, { recursive: true });
    const compacted = await openArchive(copy, trialOptions({ seed: 2 }));
    await compacted.compact();
    const { name } = (await compacted.segments()).find((segment) => segment.name.startsWith('one/'))!;
    await compacted.close();

    const deleting = await openArchive(archive.directory, trialOptions({ seed: 3 }));
    await deleting.delete({ url: 'http://one.example/b' });
    await deleting.close();
    const givenUp = join(archive.directory, 'volumes/main', name);
    copyFileSync(join(copy, 'volumes/main', name), givenUp);
    await dropCatalog(archive.directory);
    const repair = await breakFile(t, givenUp, 0, { times });
    const without = await openArchive(archive.directory, trialOptions({ seed: 4 }));
    const urls = (captures: readonly { url: string }[]) => captures.map(({ url }) => url).sort();
    const expected = ['http://one.example/c', 'http://one.example/d'];
    assert.deepEqual(urls(await allCaptures(without)), expected);
    const problems: string[] = [];
    await without.verify({ onProblem: ({ code, segment }) => void problems.push(`${code} ${segment}`) });
    assert.deepEqual(problems, [`segment-unreadable ${name}`]);
    await without.delete({ url: 'http://one.example/c' });
    await without.close();
    repair();
    const again = await openArchive(archive.directory, trialOptions({ seed: 5 }));
    t.after(() => again.close());
    assert.deepEqual(urls(await allCaptures(again)), expected.slice(1));
    assert.ok(!existsSync(givenUp));
    assert.deepEqual(await audit(again), []);
  });
