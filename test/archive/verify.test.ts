import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, renameSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ClassicLevel } from 'classic-level';
import type { Archive } from '../../src/archive/index.ts';
import type { Block, Capture } from '../../src/catalog/index.ts';
import { WarcFileWriter } from '../../src/warc/index.ts';
import {
  bodyOf,
  gather,
  lostDays,
  openSample,
  problemsOf,
  samplePages,
  scratch,
  segmentFiles,
  writePages,
} from './archive-sample.ts';
import { catalogOf } from './opened-parts.ts';

const PAGES = samplePages(30);

async function firstBlock(archive: Archive): Promise<Block> {
  for await (const page of archive.blocks()) for (const block of page) return block;
  throw new Error('the archive does not have a block');
}

async function firstCapture(archive: Archive): Promise<Capture> {
  for await (const page of archive.captures({})) for (const capture of page) return capture;
  throw new Error('the archive does not have a capture');
}

async function filled(directory: string): Promise<Archive> {
  await writePages(join(directory, 'pages.warc.gz'), PAGES);
  const archive = await openSample(join(directory, 'archive'));
  await archive.add([join(directory, 'pages.warc.gz')]);
  return archive;
}

test('verification finds no problem in an archive after adds, deletions and compaction, quick and full', async (t) => {
  await using archive = closing(await filled(scratch(t)));
  assert.deepEqual(await problemsOf(archive.it, 'quick'), []);
  assert.deepEqual(await problemsOf(archive.it), []);
  await archive.it.delete({ prefix: 'http://a.test/' });
  assert.deepEqual(await problemsOf(archive.it, 'quick'), []);
  assert.deepEqual(await problemsOf(archive.it), []);
  await archive.it.compact();
  assert.deepEqual(await problemsOf(archive.it, 'quick'), []);
  assert.deepEqual(await problemsOf(archive.it), []);
  assert.deepEqual(
    await lostDays(
      archive.it,
      PAGES.filter(({ url }) => url.startsWith('http://b.')),
    ),
    [],
  );
});

test('the report counts segments, records, captures and contents', async (t) => {
  await using archive = closing(await filled(scratch(t)));
  const report = await archive.it.verify();
  assert.deepEqual(
    { ...report, bytes: 0 },
    { segments: 1, bytes: 0, records: 31, captures: 30, blocks: 10, unresolved: 0, errors: 0, warnings: 0 },
  );
});

test('a changed byte in a content is reported with its record and all captures that have the content', async (t) => {
  const directory = scratch(t);
  const before = await filled(directory);
  const block = await firstBlock(before);
  await before.close();
  const [file] = segmentFiles(join(directory, 'archive/volumes'));
  const bytes = readFileSync(file!);
  bytes[block.holder.offset + block.holder.length - 40]! ^= 0x10;
  writeFileSync(file!, bytes);
  await using archive = closing(await openSample(join(directory, 'archive')));
  for (const depth of ['quick', 'full'] as const) {
    const problems = await problemsOf(archive.it, depth);
    assert.ok(
      problems.some(({ level, offset }) => level === 'error' && offset === block.holder.offset),
      depth,
    );
  }
  const problems = await problemsOf(archive.it);
  const holder = problems.find(({ code }) => code === 'content-changed' || code === 'content-lost');
  assert.equal(holder?.offset, block.holder.offset);
  assert.equal(holder?.leaning, 3);
  assert.equal(holder?.examples.length, 3);
});

test('a payload that was replaced by another one of the same length is found by hashing', async (t) => {
  const directory = scratch(t);
  await writePages(join(directory, 'pages.warc'), PAGES.slice(0, 1), 'none');
  const archive = await openSample(join(directory, 'archive'));
  await archive.add([join(directory, 'pages.warc')], { inPlace: true });
  const file = join(directory, 'pages.warc');
  // The fingerprint of a linked file covers all of this small file, so the file is changed while the archive is closed.
  await archive.close();
  const manifest = join(directory, 'archive/volumes/linked.jsonl');
  const text = readFileSync(file, 'latin1');
  writeFileSync(file, text.replace('The scroll', 'The scrawl'), 'latin1');
  const lines = readFileSync(manifest, 'utf8').trimEnd().split('\n');
  const now = readFileSync(file);
  const sha256 = createHash('sha256').update(now).update(now).digest('hex');
  lines[1] = JSON.stringify({ ...JSON.parse(lines[1]!), sha256 });
  writeFileSync(manifest, `${lines.join('\n')}\n`);
  await using again = closing(await openSample(join(directory, 'archive')));
  assert.deepEqual(await problemsOf(again.it, 'quick'), []);
  assert.deepEqual(
    (await problemsOf(again.it)).map(({ code, leaning }) => ({ code, leaning })),
    [{ code: 'content-changed', leaning: 1 }],
  );
});

test('a changed head in a plain file is found by its block digest, in a response and in a revisit', async (t) => {
  const directory = scratch(t);
  const file = join(directory, 'heads.warc');
  const records = ['response', 'revisit'].map((type) => {
    const block = `HTTP/1.1 302 Found\r\nLocation: http://a.test/${type}\r\n\r\n`;
    const digest = `sha1:${createHash('sha1').update(block).digest('hex')}`;
    const moved = block.replace('http://a.test', 'http://b.test');
    const more =
      type === 'revisit' ? 'WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\n' : '';
    return `WARC/1.1\r\nWARC-Type: ${type}\r\nWARC-Record-ID: <urn:uuid:${randomUUID()}>\r\nWARC-Date: 2024-03-01T10:00:00Z\r\nWARC-Target-URI: http://a.test/${type}\r\nWARC-Block-Digest: ${digest}\r\n${more}Content-Type: application/http;msgtype=response\r\nContent-Length: ${moved.length}\r\n\r\n${moved}\r\n\r\n`;
  });
  writeFileSync(file, records.join(''));
  await using archive = closing(await openSample(join(directory, 'archive')));
  await archive.it.add([file], { inPlace: true });
  const reported = (await problemsOf(archive.it)).filter(({ code }) => code === 'digest-disagrees');
  assert.deepEqual(
    reported.map(({ offset }) => offset),
    [0, records[0]!.length],
  );
  for (const { message } of reported) assert.match(message, /: WARC-Block-Digest: sha1:[0-9a-f]{40}$/);
});

test('a missing segment is reported once, with the number of captures that it held', async (t) => {
  const directory = scratch(t);
  await (await filled(directory)).close();
  unlinkSync(segmentFiles(join(directory, 'archive/volumes'))[0]!);
  await using archive = closing(await openSample(join(directory, 'archive')));
  const problems = await problemsOf(archive.it);
  assert.deepEqual(
    problems.map(({ code, leaning }) => ({ code, leaning })),
    [{ code: 'segment-missing', leaning: 30 }],
  );
  assert.match(problems[0]!.message, /30 captures have their record there, 10 contents are held there/);
});

test('a segment that was cut short is reported at the opening and by verify, and the archive stays writable', async (t) => {
  const directory = scratch(t);
  await (await filled(directory)).close();
  const [file] = segmentFiles(join(directory, 'archive/volumes'));
  truncateSync(file!, 2000);
  const { findings, onFinding } = gather();
  await using archive = closing(await openSample(join(directory, 'archive'), { onFinding }));
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['segment-not-healed'],
  );
  await archive.it.store({ kind: 'bytes', time: 0, body: Buffer.from('still writable') });
  const codes = new Set((await problemsOf(archive.it)).map(({ code }) => code));
  assert.ok(codes.has('segment-short') && codes.has('capture-without-record') && codes.has('content-lost'));
});

test('a missing volume is reported once, and the contents of other volumes can be read', async (t) => {
  const directory = scratch(t);
  const before = await openSample(join(directory, 'archive'));
  await before.addVolume({ name: 'second', path: join(directory, 'second') });
  await writePages(join(directory, 'one.warc.gz'), PAGES.slice(0, 15));
  await writePages(join(directory, 'two.warc.gz'), PAGES.slice(15));
  await before.add([join(directory, 'one.warc.gz')], { volume: 'main' });
  await before.add([join(directory, 'two.warc.gz')], { volume: 'second' });
  assert.deepEqual(await problemsOf(before), []);
  await before.close();
  renameSync(join(directory, 'second'), join(directory, 'unplugged'));
  const archive = await openSample(join(directory, 'archive'));
  const problems = await problemsOf(archive);
  assert.deepEqual(
    problems.map(({ code, volume, leaning }) => ({ code, volume, leaning })),
    [{ code: 'volume-missing', volume: 'second', leaning: 15 }],
  );
  assert.deepEqual(await lostDays(archive, PAGES.slice(0, 15)), []);
  await assert.rejects(bodyOf(archive, PAGES[20]!), /volume second/);
  await archive.close();
});

test('verification finds every kind of difference between the catalog and the segments', async (t) => {
  const directory = scratch(t);
  const archive = await filled(directory);
  const catalog = catalogOf(archive);
  const capture = await firstCapture(archive);
  const phantom = { ...capture, place: { ...capture.place, offset: capture.place.offset + 1 } };
  await catalog.commit({ captures: [{ capture: phantom }] });
  assert.ok((await problemsOf(archive, 'quick')).some(({ code }) => code === 'capture-without-record'));
  await catalog.commit({ removeCaptures: [phantom] });
  assert.deepEqual(await problemsOf(archive), []);
  await archive.close();
  const database = join(directory, 'archive/catalog');
  const rows = await rowsIn(database);
  const fewer = await openSample(join(directory, 'archive'));
  await catalogOf(fewer).commit({ removeCaptures: [capture] });
  await fewer.close();
  const rowsWithout = await rowsIn(database);
  const [captureRow] = [...rows].filter(([key]) => !rowsWithout.has(key));
  const [, ...others] = [...rowsWithout].filter(([key, value]) => key.startsWith(BLOCKS) && rows.get(key) !== value);
  const [blockRow] = [...rowsWithout].filter(([key, value]) => key.startsWith(BLOCKS) && rows.get(key) !== value);
  assert.deepEqual(others, [], 'one block has a reference less');
  const codesWith = async (...changes: [key: string, value: string | undefined][]) => {
    await changeRows(database, [...rows, ...changes]);
    await using changed = closing(await openSample(join(directory, 'archive')));
    return [...new Set((await problemsOf(changed.it, 'quick')).map(({ code }) => code))].sort();
  };
  assert.deepEqual(await codesWith(), []);
  assert.deepEqual(await codesWith(blockRow!), ['references-wrong']);
  assert.deepEqual(await codesWith([blockRow![0], undefined]), ['content-missing', 'totals-wrong']);
  const withoutCapture = await codesWith([captureRow![0], undefined]);
  assert.ok(withoutCapture.includes('record-uncatalogued') && withoutCapture.includes('references-wrong'));
});

/** The first byte of the keys of blocks. */
const BLOCKS = '62';

const ENCODINGS = { keyEncoding: 'hex', valueEncoding: 'hex' } as const;

/** The rows of a LevelDB database that no process has open. */
async function rowsIn(directory: string): Promise<Map<string, string>> {
  const database = new ClassicLevel<string, string>(directory, ENCODINGS);
  const rows = new Map(await database.iterator().all());
  await database.close();
  return rows;
}

async function changeRows(directory: string, rows: readonly [string, string | undefined][]): Promise<void> {
  const database = new ClassicLevel<string, string>(directory, ENCODINGS);
  for (const [key, value] of rows) {
    if (value === undefined) await database.del(key);
    else await database.put(key, value);
  }
  await database.close();
}

test('damage in an added file is reported in the same words after a rebuild', async (t) => {
  const directory = scratch(t);
  const file = join(directory, 'pages.warc.gz');
  await writePages(file, PAGES.slice(0, 7));
  const foreign = readFileSync(file);
  foreign[foreign.length - 8]! ^= 1;
  writeFileSync(file, foreign);
  await using archive = closing(await openSample(join(directory, 'archive')));
  await archive.it.add([file]);
  const known = await problemsOf(archive.it);
  assert.deepEqual(
    known.map(({ code, level }) => [code, level]),
    [['record-damaged', 'error']],
  );
  await archive.it.rebuild();
  assert.deepEqual(await problemsOf(archive.it), known);
  const { place } = await firstCapture(archive.it);
  const [segment] = segmentFiles(join(directory, 'archive/volumes'));
  const bytes = readFileSync(segment!);
  bytes[place.offset + place.length - 8]! ^= 1;
  writeFileSync(segment!, bytes);
  const later = await problemsOf(archive.it);
  assert.deepEqual(
    later.filter(({ offset }) => offset === known[0]!.offset),
    known,
  );
  assert.ok(later.some(({ level, offset }) => level === 'error' && offset === place.offset));
});

test('a revisit whose original was never added is a warning and not an error', async (t) => {
  const directory = scratch(t);
  const file = join(directory, 'revisit.warc.gz');
  const writer = await WarcFileWriter.create(file, { coding: 'gzip' });
  const revisit = {
    profile: 'identical-payload-digest',
    refersToTargetUri: 'http://elsewhere.test/',
    refersToDate: '2020-01-01T00:00:00Z',
  } as const;
  await writer.write(
    {
      type: 'revisit',
      recordId: '<urn:uuid:00000000-0000-4000-8000-00000000aaaa>',
      date: '2024-01-01T00:00:00Z',
      targetUri: 'http://elsewhere.test/',
      payloadDigest: 'sha1:SPY26MJKW5H7YED73KP4SKZ3QEA5BN4S',
      contentType: 'application/http; msgtype=response',
      revisit,
    },
    Buffer.from('HTTP/1.1 200 OK\r\n\r\n'),
  );
  await writer.finish();
  await using archive = closing(await openSample(join(directory, 'archive')));
  await archive.it.add([file]);
  const report = await archive.it.verify();
  assert.deepEqual([report.errors, report.warnings, report.unresolved], [0, 1, 1]);
});

function closing(it: Archive): { readonly it: Archive } & AsyncDisposable {
  return { it, [Symbol.asyncDispose]: () => it.close() };
}
