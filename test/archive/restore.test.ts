/** Restoring damaged and lost records from mirrors, and what goes with them. */
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, openArchive } from '../../src/archive/index.ts';
import type { Place } from '../../src/catalog/index.ts';
import { pinakes } from '../journeys/pinakes-process.ts';
import { segmentFiles } from './archive-sample.ts';
import { damageRecord, placeOf } from './damage-sample.ts';
import {
  allCaptures,
  answers,
  bytesOf,
  contentOf,
  makeArchive,
  NOON,
  page,
  payloadAt,
  type TrialOptions,
  temporaryDirectory,
  trialOptions,
} from './trial-archive.ts';
import { problemsOf } from './two-volumes.ts';

const PAGES = 12;
const request = Buffer.from('GET / HTTP/1.1\r\nHost: site.example\r\n\r\n');
const urlOf = (number: number) => `http://site.example/${number}`;
const laterOf = (number: number) => `http://later.example/${number}`;

/** Pages with requests, and a revisit of each, in an archive with a mirror. */
async function mirrored(t: TestContext, options: TrialOptions = {}): Promise<Archive> {
  const archive = await makeArchive(t, options);
  for (let number = 0; number < PAGES; number++)
    for (const url of [urlOf(number), laterOf(number)])
      await archive.store({ ...page(url, NOON + number, contentOf(`page ${number}`)), request });
  await archive.mirrors.add({ name: 'attic', target: join(await temporaryDirectory(t), 'attic') });
  await archive.mirrors.sync('attic');
  return archive;
}

async function streamed(archive: Archive): Promise<string[]> {
  const found: string[] = [];
  for await (const { head } of await archive.stream())
    if (head.type !== 'warcinfo') found.push(`${head.type} ${head.targetUri}`);
  return found.sort();
}

const memberAt = (archive: Archive, place: Place) => bytesOf(archive.records.memberPieces(place));

for (const coding of ['gzip', 'zstd'] as const)
  test(`records without copies are restored from a mirror, byte for byte, with their requests (${coding})`, async (t) => {
    const archive = await mirrored(t);
    if (coding === 'zstd') {
      await archive.setVolumeWritable('main', false);
      await archive.setVolumeWritable('main', true);
      await archive.recompress();
      await archive.mirrors.sync('attic');
    }
    const [before, whole] = [await answers(archive), await streamed(archive)];
    const damaged = [urlOf(1), urlOf(5), laterOf(7)];
    const members = [];
    for (const url of damaged) members.push(await memberAt(archive, await placeOf(archive, url)));
    for (const url of damaged)
      await damageRecord(archive, await placeOf(archive, url), coding === 'zstd' ? 'start' : 'middle');
    archive.forgetRecentRecords();
    const planned = await archive.restore({ dryRun: true });
    assert.deepEqual(planned, { checked: PAGES * 2, restored: 3, left: [], unread: [] });
    assert.notEqual((await problemsOf(archive)).length, 0);
    assert.deepEqual(await archive.restore(), planned);
    for (const [index, url] of damaged.entries())
      assert.deepEqual(await memberAt(archive, await placeOf(archive, url)), members[index]);
    assert.deepEqual(await problemsOf(archive), []);
    assert.deepEqual(await answers(archive), before);
    assert.deepEqual(await streamed(archive), whole, 'requests stay');
    await archive.rebuild();
    assert.deepEqual([await answers(archive), await streamed(archive)], [before, whole]);
    assert.equal((await archive.restore()).restored, 0);
  });

test('a content whose capture was deleted is restored for those that refer to it, and no deleted capture comes back', async (t) => {
  const archive = await mirrored(t);
  const place = await placeOf(archive, urlOf(2));
  await archive.delete({ url: urlOf(2) });
  await archive.delete({ url: urlOf(3) });
  await archive.delete({ url: laterOf(3) });
  const before = await answers(archive);
  await damageRecord(archive, place, 'middle');
  archive.forgetRecentRecords();
  assert.deepEqual(await archive.restore(), { checked: PAGES * 2 - 3 + 1, restored: 1, left: [], unread: [] });
  assert.deepEqual(await answers(archive), before);
  await archive.compact();
  assert.deepEqual(await payloadAt(archive, laterOf(2)), Buffer.from(contentOf('page 2')));
  assert.equal((await allCaptures(archive)).length, PAGES * 2 - 3);
  assert.deepEqual(await problemsOf(archive), []);
});

test('a lost segment is restored from a mirror, except for records that the mirror has with other bytes', async (t) => {
  const first = await mirrored(t, { policies: { segmentBytesMax: 8000 } });
  const before = await answers(first);
  const place = await placeOf(first, urlOf(1));
  const { name } = (await first.segments()).find(({ number }) => number === place.segment)!;
  const mirror = join(first.connector.mirrors![0]!.target, 'volumes', 'main', name);
  await first.close();
  rmSync(segmentFiles(first.directory).find((path) => path.includes(name))!);
  const sound = readFileSync(mirror);
  chmodSync(mirror, 0o644);
  writeFileSync(mirror, Buffer.from(sound).fill(0x55, place.offset + 400, place.offset + 440));
  const archive = await openArchive(first.directory, trialOptions({ seed: 3 }));
  t.after(() => archive.close());
  const { restored, left } = await archive.restore();
  assert.deepEqual(left, [{ segment: name, offset: place.offset, why: 'no copy or mirror has it' }]);
  assert.ok(restored > 1);
  writeFileSync(mirror, sound);
  assert.equal((await archive.restore()).restored, 1);
  assert.deepEqual(await answers(archive), before);
});

test('what a snapshot keeps, or no mirror has, is left and named, and a mirror that is away is named', async (t) => {
  const archive = await mirrored(t);
  await archive.createSnapshot('kept');
  await damageRecord(archive, await placeOf(archive, urlOf(4)), 'middle');
  archive.forgetRecentRecords();
  const whys = async () => (await archive.restore()).left.map(({ why }) => why);
  assert.deepEqual(await whys(), ['the snapshot kept keeps its segment']);
  await archive.removeSnapshot('kept');
  await archive.store(page('http://new.example/', NOON, contentOf('new')));
  await damageRecord(archive, await placeOf(archive, 'http://new.example/'), 'middle');
  archive.forgetRecentRecords();
  assert.deepEqual(await whys(), ['no copy or mirror has it']);
  assert.deepEqual(await payloadAt(archive, urlOf(4)), Buffer.from(contentOf('page 4')));
  rmSync(archive.connector.mirrors![0]!.target, { recursive: true });
  assert.deepEqual(
    (await archive.restore()).unread.map(({ mirror }) => mirror),
    ['attic'],
  );
});

test('I15 reading falls back to a mirror for damaged and lost records, and takes only what has the right digest', async (t) => {
  const first = await mirrored(t, { policies: { segmentBytesMax: 8000 } });
  const before = await answers(first);
  const { target } = first.connector.mirrors![0]!;
  const [damaged, lost] = [await placeOf(first, urlOf(1)), await placeOf(first, urlOf(9))];
  assert.notEqual(damaged.segment, lost.segment);
  const nameOf = async ({ segment }: Place) => (await first.segments()).find(({ number }) => number === segment)!.name;
  const [damagedIn, lostIn] = [await nameOf(damaged), await nameOf(lost)];
  await damageRecord(first, damaged, 'middle');
  // A revisit's own record.
  await damageRecord(first, await placeOf(first, laterOf(2)), 'middle');
  await first.close();
  rmSync(segmentFiles(first.directory).find((path) => path.includes(lostIn))!);
  const open = async (seed: number) => {
    const archive = await openArchive(first.directory, trialOptions({ seed }));
    t.after(() => archive.close());
    return archive;
  };
  const archive = await open(3);
  assert.deepEqual(await answers(archive), before);
  const damageOf = async (of: Archive, url: string) => {
    const { payload, damage } = await of.get(url);
    await bytesOf(payload);
    return damage();
  };
  assert.deepEqual(await damageOf(archive, urlOf(1)), []);
  // Other bytes in the mirror do not count.
  const path = join(target, 'volumes', 'main', damagedIn);
  chmodSync(path, 0o644);
  writeFileSync(path, readFileSync(path).fill(0x55, damaged.offset + 400, damaged.offset + 440));
  archive.forgetRecentRecords();
  assert.equal((await damageOf(archive, urlOf(1))).length, 1);
  // A mirror that is away costs only what it alone has.
  renameSync(target, `${target}-away`);
  await archive.close();
  const alone = await open(4);
  await assert.rejects(payloadAt(alone, urlOf(9)), { code: 'OBJECT_MISSING' });
  assert.deepEqual(await payloadAt(alone, urlOf(5)), Buffer.from(contentOf('page 5')));
});

test('`pinakes verify --heal` restores from a mirror, and with --dry-run only says so', async (t) => {
  const archive = await mirrored(t);
  const before = await answers(archive);
  await damageRecord(archive, await placeOf(archive, urlOf(6)), 'middle');
  await archive.close();
  const verify = (...more: string[]) =>
    pinakes(archive.directory, 'verify', '--heal', '--archive', archive.directory, ...more);
  const planned = verify('--dry-run');
  assert.deepEqual([planned.code, planned.err.includes('would restore 1 record from copies and mirrors')], [1, true]);
  assert.equal(pinakes(archive.directory, 'verify', '--dry-run', '--archive', archive.directory).code, 2);
  const healed = verify('--json');
  const { restored, left, isHealed, errors } = JSON.parse(healed.out.trimEnd().split('\n').at(-1)!);
  assert.deepEqual([healed.code, restored, left, isHealed, errors], [0, 1, 0, true, 0]);
  const again = await openArchive(archive.directory, trialOptions({ seed: 3 }));
  t.after(() => again.close());
  assert.deepEqual(await answers(again), before);
});
