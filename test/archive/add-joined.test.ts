/** Files that were joined from several codings (`cat a.warc b.warc.gz`): all of their records are added. */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Finding, utf8 } from '../../src/base/index.ts';
import type { Coding } from '../../src/warc/index.ts';
import { type ForeignRecord, members, response, writeForeign } from './foreign-file.ts';
import {
  allCaptures,
  audit,
  contentOf,
  makeArchive,
  NOON,
  payloadAt,
  temporaryDirectory,
  walk,
} from './trial-archive.ts';

/** A few megabytes, so that several ranges of a scan are in each part. */
function pages(name: string): ForeignRecord[] {
  return Array.from({ length: 60 }, (_, n) =>
    response(`http://${name}.example/${n}`, NOON, contentOf(`${name} ${n}`, 250_000)),
  );
}

const PARTS = { first: pages('first'), second: pages('second') };

for (const [codings, workers] of [
  [['none', 'gzip'], 0],
  [['gzip', 'none'], 2],
  [['gzip', 'zstd'], 2],
] as const)
  test(`every record of ${codings.join(' and then ')} is added, with ${workers} threads`, async (t) => {
    const archive = await makeArchive(t);
    const file = join(await temporaryDirectory(t), 'joined');
    const part = (records: ForeignRecord[], coding: Coding) => members(records, coding).members;
    const bytes = [...part(PARTS.first, codings[0]), ...part(PARTS.second, codings[1])];
    await writeFile(file, Buffer.concat(bytes));
    const codes: string[] = [];
    const report = await archive.add([file], { workers, onFinding: ({ code }) => codes.push(code) });
    assert.deepEqual([report.captures, report.failures, codes], [120, [], ['coding-changed']]);
    assert.equal((await allCaptures(archive)).length, 120);
    for (const name of ['first', 'second'])
      assert.deepEqual(
        await payloadAt(archive, `http://${name}.example/59`),
        Buffer.from(contentOf(`${name} 59`, 250_000)),
      );
    for (const { length } of await walk(archive)) assert.ok(length, 'each has a segment of its own member');
    assert.deepEqual(await audit(archive), []);
    assert.equal((await archive.verify()).errors, 0);
    assert.deepEqual((await archive.add([file])).captures, 0);
  });

test('records behind known ones in a joined file are added, even where reading has to start at the beginning of the file', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  const known = Array.from({ length: 3 }, (_, n) => contentOf(`known ${n}`, 1_000_000));
  await writeForeign(
    join(directory, 'known.warc.gz'),
    known.map((body, n) => response(`http://known.example/${n}`, NOON, body)),
  );
  await archive.add([join(directory, 'known.warc.gz')]);
  const arc = [contentOf('new 1'), ...known, contentOf('new 2')].map((body, n) => {
    const block = Buffer.concat([utf8('HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n'), body]);
    return Buffer.concat([
      utf8(`http://arc.example/${n} 192.0.2.1 20200101000000 text/html ${block.length}\n`),
      block,
      utf8('\n'),
    ]);
  });
  const file = join(directory, 'joined.warc.gz');
  const plain = members(PARTS.first.slice(1, 2), 'none').members;
  await writeFile(file, Buffer.concat([...members(PARTS.first.slice(0, 1), 'gzip').members, ...plain, ...arc]));
  const report = await archive.add([file]);
  assert.deepEqual([report.captures, report.duplicates, report.failures], [7, 3, []]);
  assert.deepEqual(await payloadAt(archive, 'http://arc.example/4'), Buffer.from(contentOf('new 2')));
});

test('adding a joined file in place catalogues the records in its first coding and reports the rest as an error', async (t) => {
  const archive = await makeArchive(t);
  const file = join(await temporaryDirectory(t), 'joined.warc.gz');
  const bytes = [...members(PARTS.first, 'gzip').members, ...members(PARTS.second, 'none').members];
  await writeFile(file, Buffer.concat(bytes));
  for (const captures of [60, 0]) {
    const reported: string[] = [];
    const onFinding = ({ level, code }: Finding) => reported.push(`${level} ${code}`);
    const report = await archive.add([file], { inPlace: true, onFinding });
    assert.deepEqual([report.captures, report.failures, reported], [captures, [], ['error coding-changed']]);
  }
  assert.equal((await archive.verify()).errors, 1);
  assert.deepEqual((await archive.add([file])).captures, 60);
});

test('records of another coding in a segment are reported when the segment is catalogued, and compaction keeps them', async (t) => {
  const reported: string[] = [];
  const onFinding = ({ level, code }: Finding) => void reported.push(`${level} ${code}`);
  const archive = await makeArchive(t, { onFinding });
  const path = join(await temporaryDirectory(t), 'volume');
  const file = join(path, 'default/joined.warc.gz');
  await mkdir(join(path, 'default'), { recursive: true });
  const bytes = [
    ...members(PARTS.first.slice(0, 3), 'gzip').members,
    ...members(PARTS.second.slice(0, 3), 'none').members,
  ];
  await writeFile(file, Buffer.concat(bytes));
  await archive.addVolume({ name: 'second', path });
  assert.deepEqual(reported, ['error coding-changed']);
  await archive.delete({ url: 'http://first.example/1' });
  const { damaged } = await archive.compact();
  assert.deepEqual(
    damaged.map(({ segment }) => segment),
    ['default/joined.warc.gz'],
  );
  assert.deepEqual(await readFile(file), Buffer.concat(bytes));
});
