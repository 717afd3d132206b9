/**
 * An archive opens in spite of damage and losses: in an open segment, in tombstones, or in a segment that was about to
 * lose or replace records. All other records stay.
 */
import assert from 'node:assert/strict';
import { appendFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { dropCatalog, openArchive } from '../../src/archive/index.ts';
import type { Finding } from '../../src/base/index.ts';
import { catalogOf, openWithParts } from '../archive/opened-parts.ts';
import { allCaptures, contentOf, makeArchive, NOON, page, trialOptions } from '../archive/trial-archive.ts';

const NAMES = ['0', '1', '2', '3', '4', '5'];

async function openSegment(t: Parameters<typeof makeArchive>[0]) {
  const archive = await makeArchive(t);
  for (const name of NAMES) await archive.store(page(`http://x.example/${name}`, NOON, contentOf(name, 1300)));
  const path = join(archive.directory, 'volumes/main', `${(await archive.segments())[0]!.name}.open`);
  const places = (await allCaptures(archive)).map(({ place }) => place).sort((a, b) => a.offset - b.offset);
  await archive.close();
  const { directory } = archive;
  const reopened = async () => {
    await dropCatalog(directory);
    const again = await openArchive(directory, trialOptions({ seed: 2 }));
    const names = (await allCaptures(again)).map(({ url }) => new URL(url).pathname.slice(1)).sort();
    await again.close();
    return { names, bytes: (await stat(path)).size };
  };
  return { path, places, good: await readFile(path), reopened };
}

test('the last record of an open segment is kept when the middle of the segment is damaged', async (t) => {
  const { path, places, good, reopened } = await openSegment(t);
  const { offset, length } = places[1]!;
  // A flag for a missing field makes the member seem to continue to the end of the file. Some changes to the last bytes
  // of the member do that too.
  const changes = [[3, 0x04], ...Array.from({ length: 12 }, (_, index) => [length - 20 + index, 0x40])];
  for (const [index, bit] of changes) {
    const at = offset + index!;
    const bad = Buffer.from(good);
    bad[at]! ^= bit!;
    await writeFile(path, bad);
    const { names, bytes } = await reopened();
    assert.ok(names.includes('5'), `the last capture, with byte ${at} changed`);
    assert.equal(bytes, good.length, `the length, with byte ${at} changed`);
  }
});

test('a torn last record of any length is cut off, and all records before it stay', async (t) => {
  const { path, places, good, reopened } = await openSegment(t);
  const last = places.at(-1)!;
  for (const kept of [1, 3, 9, 12, 40, last.length - 9, last.length - 1]) {
    await writeFile(path, good.subarray(0, last.offset + kept));
    const { names, bytes } = await reopened();
    assert.deepEqual(names, NAMES.slice(0, -1), `${kept} bytes of the last record`);
    assert.equal(bytes, last.offset);
  }
});

/**
 * An archive whose process was killed when the tombstone of its first capture was durable, but not yet in the catalog.
 */
async function halfDeleted(t: Parameters<typeof makeArchive>[0]) {
  const archive = await makeArchive(t);
  for (const name of NAMES) await archive.store(page(`http://x.example/${name}`, NOON, contentOf(name, 1300)));
  await archive.setVolumeWritable('main', false);
  const path = join(archive.directory, 'volumes/main', (await archive.segments())[0]!.name);
  const [first] = await allCaptures(archive);
  await archive.setVolumeWritable('main', true);
  await archive.close();
  await writeFile(`${path}.tombstones.open`, `${first!.place.offset} -\n`);
  const reopened = async () => {
    const findings: Finding[] = [];
    const again = await openArchive(archive.directory, {
      ...trialOptions({ seed: 2 }),
      onFinding: (finding) => findings.push(finding),
    });
    const names = (await allCaptures(again)).map(({ url }) => new URL(url).pathname.slice(1)).sort();
    const { errors } = await again.verify();
    await again.close();
    return { names, errors, codes: findings.map(({ code }) => code) };
  };
  return { archive, path, first: first!.place, reopened };
}

test('a deletion is carried out although its segment is missing, cut off, or damaged at the record', async (t) => {
  for (const harm of ['gone', 'cut', 'damaged']) {
    const { path, first, reopened } = await halfDeleted(t);
    const good = await readFile(path);
    if (harm === 'gone') await rename(path, `${path}.away`);
    if (harm === 'cut') await writeFile(path, good.subarray(0, first.offset));
    if (harm === 'damaged') await writeFile(path, good.fill(0x55, first.offset, first.offset + 100));
    assert.deepEqual((await reopened()).names, NAMES.slice(1), harm);
    if (harm === 'gone') await rename(`${path}.away`, path);
    assert.deepEqual((await reopened()).names, NAMES.slice(1), harm);
  }
});

test('an archive with damaged tombstones opens and reports them', async (t) => {
  const { path, reopened } = await halfDeleted(t);
  await writeFile(`${path}.tombstones.open`, 'what was here is gone\n-7 -\n');
  assert.deepEqual(await reopened(), { names: NAMES, errors: 0, codes: ['tombstones-damaged'] });
  await writeFile(`${path}.tombstones.open`, Buffer.alloc(500));
  assert.deepEqual(await reopened(), { names: NAMES, errors: 0, codes: ['tombstones-damaged'] });
});

test('an archive opens although a replacement disappeared in the middle of its swap', async (t) => {
  const { archive, reopened } = await halfDeleted(t);
  const { directory } = archive;
  const again = await openWithParts(directory, trialOptions({ seed: 3 }));
  const catalog = catalogOf(again);
  const commit = catalog.commit.bind(catalog);
  // The state after a process was killed in the middle of a swap.
  catalog.commit = (group) =>
    group.segments?.some(({ to }) => !to) ? Promise.reject(new Error('killed')) : commit(group);
  await assert.rejects(again.compact(), /killed/);
  const fresh = (await again.segments()).at(-1)!;
  await again.close();
  await rm(join(directory, 'volumes/main', fresh.name));
  const { codes } = await reopened();
  assert.deepEqual(codes, ['segment-not-healed', 'segment-missing']);
  const repaired = await openArchive(directory, trialOptions({ seed: 4 }));
  await repaired.rebuild();
  assert.equal((await allCaptures(repaired)).length, NAMES.length - 1);
  assert.equal((await repaired.verify()).errors, 0);
  await repaired.close();
});

test('a missing segment and a segment that was cut off are reported when the archive is opened', async (t) => {
  const { path, reopened } = await halfDeleted(t);
  const tombstones = `${path}.tombstones.open`;
  await rename(path, `${path}.away`);
  assert.deepEqual((await reopened()).codes, ['segment-missing']);
  await rename(tombstones, `${tombstones}.away`);
  assert.deepEqual((await reopened()).codes, ['segment-missing'], 'its tombstones delete nothing that is there');
  await rename(`${tombstones}.away`, tombstones);
  await writeFile(path, (await readFile(`${path}.away`)).subarray(0, 1000));
  assert.deepEqual((await reopened()).codes, ['segment-not-healed']);
  await rename(`${path}.away`, path);
  assert.deepEqual((await reopened()).codes, []);
});

test('an empty segment is not reported as missing after an interrupted removal', async (t) => {
  const archive = await makeArchive(t);
  const { directory } = archive;
  const catalog = catalogOf(archive);
  const path = join(directory, 'second');
  await mkdir(join(path, 'default'), { recursive: true });
  await writeFile(join(path, 'default/begun.warc.gz.open'), '');
  const commit = catalog.commit.bind(catalog);
  catalog.commit = (group) =>
    group.segments?.some(({ to }) => !to) ? Promise.reject(new Error('killed')) : commit(group);
  await assert.rejects(archive.addVolume({ name: 'second', path }), /killed/);
  await archive.close();
  const findings: Finding[] = [];
  const onFinding = (finding: Finding) => findings.push(finding);
  const again = await openArchive(directory, { ...trialOptions({ seed: 2 }), onFinding });
  assert.deepEqual([findings, await again.segments()], [[], []]);
  await again.close();
});

test('missing or older tombstones are reported at every opening until they are restored, and deleted captures stay deleted', async (t) => {
  const { archive: first, path, reopened } = await halfDeleted(t);
  const file = `${path}.tombstones.open`;
  await reopened();
  const earlier = await readFile(file);
  const archive = await openArchive(first.directory, trialOptions({ seed: 3 }));
  const next = (await allCaptures(archive)).find(({ url }) => url === 'http://x.example/1')!;
  await archive.close();
  await appendFile(file, `${next.place.offset} -\n`);
  assert.deepEqual((await reopened()).names, NAMES.slice(2));
  const latest = await readFile(file);
  for (const lost of [earlier, latest.subarray(0, 0), undefined]) {
    if (lost) await writeFile(file, lost);
    else await rm(file);
    for (let opening = 0; opening < 2; opening++) {
      const { names, codes } = await reopened();
      assert.deepEqual({ names, codes }, { names: NAMES.slice(2), codes: ['tombstones-lost'] });
    }
  }
  await writeFile(file, latest);
  assert.deepEqual(await reopened(), { names: NAMES.slice(2), errors: 0, codes: [] });
});
