/** Bytes of segments that are lost in ways that no checksum shows. Every output reports the records that it lacks. */
import assert from 'node:assert/strict';
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Archive, OutputDamage, StreamQuery } from '../../src/archive/index.ts';
import { readRecords } from '../../src/warc/index.ts';
import { segmentFiles } from './archive-sample.ts';
import { breakFile } from './bad-sector-sample.ts';
import { damageUrl, placeOf } from './damage-sample.ts';
import { requestOf, response, warcinfo, writeForeign } from './foreign-file.ts';
import { allCaptures, contentOf, makeArchive, NOON, page, temporaryDirectory } from './trial-archive.ts';

const urlOf = (n: number) => `http://a.example/${n}`;

async function filled(archive: Archive, pages = 6): Promise<Archive> {
  for (let n = 0; n < pages; n++) await archive.store(page(urlOf(n), NOON + n, contentOf(`page ${n}`)));
  return archive;
}

type Given = { readonly urls: readonly (string | undefined)[]; readonly reported: readonly OutputDamage[] };

async function urlsIn(path: string): Promise<(string | undefined)[]> {
  const urls: (string | undefined)[] = [];
  for await (const { head } of readRecords(path)) if (head.type === 'response') urls.push(head.targetUri);
  return urls.sort();
}

async function streamed(t: TestContext, archive: Archive, query: StreamQuery): Promise<Given> {
  const reported: OutputDamage[] = [];
  const parts: Buffer[] = [];
  for await (const { bytes } of archive.streamWarc({ ...query, onDamage: (damage) => reported.push(damage) }))
    parts.push(Buffer.from(bytes));
  const path = join(await temporaryDirectory(t), 'streamed.warc.gz');
  writeFileSync(path, Buffer.concat(parts));
  return { urls: await urlsIn(path), reported };
}

async function exported(t: TestContext, archive: Archive, concurrentRecords: boolean): Promise<Given> {
  const reported: OutputDamage[] = [];
  const path = join(await temporaryDirectory(t), 'slice.warc.gz');
  const onDamage = (damage: OutputDamage) => reported.push(damage);
  const report = await archive.exportWarc({}, path, { software: 'pinakes/test', concurrentRecords, onDamage });
  const urls = await urlsIn(path);
  assert.equal(report.captures, urls.length);
  return { urls, reported };
}

const WAYS: readonly [string, (t: TestContext, archive: Archive) => Promise<Given>][] = [
  ['a stream', (t, archive) => streamed(t, archive, {})],
  ['a stream in the order of URLs', (t, archive) => streamed(t, archive, { order: 'url' })],
  ['an export', (t, archive) => exported(t, archive, true)],
  ['an export without concurrent records', (t, archive) => exported(t, archive, false)],
];

for (const [name, give] of WAYS) {
  test(`${name} reports a record that was overwritten with NULs`, async (t) => {
    const archive = await filled(await makeArchive(t));
    const { offset } = await damageUrl(archive, urlOf(2), 'all');
    const { urls, reported } = await give(t, archive);
    assert.deepEqual(urls, [0, 1, 3, 4, 5].map(urlOf));
    assert.deepEqual(
      reported.map(({ offset, comes }) => [offset, comes]),
      [[offset, 'nothing']],
    );
  });

  test(`${name} reports the missing records of a segment that was cut off between two records`, async (t) => {
    const archive = await filled(await makeArchive(t));
    const { offset } = await placeOf(archive, urlOf(5));
    truncateSync(segmentFiles(archive.directory)[0]!, offset);
    const { urls, reported } = await give(t, archive);
    assert.deepEqual(urls, [0, 1, 2, 3, 4].map(urlOf));
    assert.ok(reported.length > 0 && reported.every((one) => one.comes === 'nothing' && one.offset === offset));
  });
}

for (const coding of ['gzip', 'zstd', 'none'] as const)
  for (const [name, give] of WAYS)
    test(`${name} contains everything except the content of a bad sector, and reports that: ${coding}`, async (t) => {
      const archive = await makeArchive(t);
      const file = join(await temporaryDirectory(t), 'others.warc');
      const pages = Array.from({ length: 200 }, (_, n) => response(urlOf(n), NOON + n, contentOf(`page ${n}`)));
      await writeForeign(file, [warcinfo(), ...pages], coding);
      await archive.add([file], { inPlace: true, workers: 0 });
      const captures = await allCaptures(archive);
      const sector = Math.floor(statSync(file).size / 8192) * 4096;
      await breakFile(t, file, sector, { to: sector + 4096 });
      const { urls, reported } = await give(t, archive);
      const isHit = ({ offset, length }: { offset: number; length: number }) =>
        offset < sector + 4096 && offset + length > sector;
      const hit = new Set(captures.filter(({ place }) => isHit(place)).map(({ url }) => url));
      assert.ok(hit.size > 0 && hit.size < 20);
      const all = captures.map(({ url }) => url).sort();
      const missing = all.filter((url) => !urls.includes(url));
      assert.deepEqual(
        urls,
        all.filter((url) => !missing.includes(url)),
      );
      assert.deepEqual(
        missing.filter((url) => !hit.has(url)),
        [],
      );
      assert.ok(
        reported.length > 0 && reported.every(({ offset }) => offset + 8192 > sector && offset < sector + 8192),
        JSON.stringify(reported),
      );
    });

test('verification reports a record that was overwritten with NULs, even when the catalog does not have the record', async (t) => {
  const archive = await filled(await makeArchive(t));
  const { offset } = await damageUrl(archive, urlOf(2), 'all');
  await archive.rebuild();
  assert.equal((await allCaptures(archive)).length, 5);
  const problems: (string | number | undefined)[] = [];
  await archive.verify({ onProblem: ({ code, offset }) => void problems.push(code, offset) });
  assert.deepEqual(problems, ['record-damaged', offset]);
});

test('a stream without `onDamage` stops at a bad sector', async (t) => {
  const archive = await filled(await makeArchive(t));
  await breakFile(t, segmentFiles(archive.directory)[0]!, 4096, { to: 8192 });
  for (const order of ['storage', 'url'] as const)
    await assert.rejects(
      async () => {
        for await (const _ of archive.streamWarc({ order }));
      },
      { code: 'VOLUME_IO' },
    );
});

test('a stream is complete when a bad sector can be read at the second attempt, whichever read failed', async (t) => {
  const archive = await filled(await makeArchive(t));
  for (let after = 0; after < 8; after++) {
    const repair = await breakFile(t, segmentFiles(archive.directory)[0]!, 4096, { times: 1, after });
    const { urls, reported } = await streamed(t, archive, {});
    repair();
    assert.deepEqual([urls.length, reported], [6, []], `read ${after}`);
  }
});

test("a stream reports NULs in the place of records in another writer's file, and accepts NULs that are padding", async (t) => {
  const archive = await makeArchive(t);
  const file = join(await temporaryDirectory(t), 'others.warc.gz');
  const pages = Array.from({ length: 200 }, (_, n) => response(urlOf(n), NOON + n, contentOf(`page ${n}`)));
  await writeForeign(file, pages);
  const sound = readFileSync(file);
  writeFileSync(file, Buffer.concat([sound, Buffer.alloc(1000)]));
  await archive.add([file], { inPlace: true, workers: 0 });
  assert.deepEqual((await streamed(t, archive, {})).reported, []);
  const { offset, length } = await placeOf(archive, urlOf(100));
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill(0, offset, offset + length));
  const { urls, reported } = await streamed(t, archive, {});
  assert.equal(urls.length, 199);
  assert.deepEqual(
    reported.map(({ code, comes }) => [code, comes]),
    [['record-damaged', 'nothing']],
  );
});

test('an export reports a request that was overwritten with NULs', async (t) => {
  const archive = await makeArchive(t);
  const file = join(await temporaryDirectory(t), 'crawl.warc.gz');
  const pages = [0, 1, 2].map((n) => response(urlOf(n), NOON + n, contentOf(`page ${n}`)));
  await writeForeign(
    file,
    pages.flatMap((one) => [one, requestOf(one)]),
  );
  await archive.add([file], { workers: 0 });
  const before = await placeOf(archive, urlOf(1));
  const behind = await placeOf(archive, urlOf(2));
  const segment = segmentFiles(archive.directory)[0]!;
  writeFileSync(segment, readFileSync(segment).fill(0, before.offset + before.length, behind.offset));
  const { urls, reported } = await exported(t, archive, true);
  assert.equal(urls.length, 3);
  assert.deepEqual(
    reported.map(({ offset, comes }) => [offset, comes]),
    [[before.offset + before.length, 'nothing']],
  );
});
