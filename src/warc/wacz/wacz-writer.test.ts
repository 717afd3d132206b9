import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { type Finding, parseW3cDate } from '../../base/index.ts';
import type { CdxEntry } from '../cdx/cdx-entry.ts';
import { formatCdxjLine } from '../cdx/cdxj.ts';
import { exactRange } from './cdx-search.ts';
import type { WaczPage } from './wacz-page.ts';
import { openWacz } from './wacz-reader.ts';
import { verifyWacz } from './wacz-verify.ts';
import { type NewWacz, writeWacz } from './wacz-writer.ts';

const made: string[] = [];
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'pinakes-wacz-writer-'));
  made.push(directory);
});
after(async () => {
  for (const each of made) await rm(each, { recursive: true });
});

const WARC = gzipSync('WARC/1.1\r\nWARC-Type: warcinfo\r\n\r\n');

function entryOf(number: number): CdxEntry {
  return {
    urlKey: `test,example)/${String(number).padStart(5, '0')}`,
    timestamp: '20240301100000',
    url: `http://www.example.test/${number}`,
    mime: 'text/html',
    status: '200',
    digest: 'sha1:SPY26MJKW5H7YED73KP4SKZ3QEA5BN4S',
    redirect: undefined,
    robotFlags: undefined,
    length: 10,
    offset: number % 20,
    filename: 'Demo One.warc.gz',
    extra: [],
  };
}

const PAGES: readonly WaczPage[] = [
  { id: 'p1', url: 'http://www.example.test/1', ts: '2024-03-01T10:00:00Z', title: 'Título \u{1f4a1}' },
];

async function contentOf(lines: number): Promise<NewWacz> {
  const warc = join(directory, 'Demo One.warc.gz');
  const other = join(directory, 'other.warc');
  await writeFile(warc, WARC);
  await writeFile(other, '');
  return {
    software: 'pinakes-test 1',
    createdMs: parseW3cDate('2024-03-03T11:00:00Z')!,
    title: 'A demonstration',
    mainPageUrl: 'http://www.example.test/1',
    warcs: [warc, other],
    pages: PAGES,
    indexLines: Array.from({ length: lines }, (_, i) => formatCdxjLine(entryOf(lines - 1 - i))),
  };
}

async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

const fail = (finding: Finding) => assert.fail(finding.message);

test('a written package is read again, and verifies without a finding', async () => {
  const path = join(directory, 'out.wacz');
  const written = await writeWacz(path, await contentOf(5000), { linesPerBlock: 300, sortMemoryBytesMax: 100_000 });
  assert.equal(written.indexLines, 5000);
  assert.equal(written.pages, 1);
  assert.equal(written.bytes, (await readFile(path)).length);
  const wacz = await openWacz(path, { onFinding: fail });
  assert.equal(wacz.package?.title, 'A demonstration');
  assert.equal(wacz.package?.created, '2024-03-03T11:00:00Z');
  const warcs = await collect(wacz.warcs());
  assert.deepEqual(
    warcs.map(({ name, length, isStored }) => [name, length, isStored]),
    [
      ['archive/Demo One.warc.gz', WARC.length, true],
      ['archive/other.warc', 0, true],
    ],
  );
  const bytes = await readFile(path);
  assert.deepEqual(bytes.subarray(warcs[0]!.offset, warcs[0]!.offset + WARC.length), WARC);
  assert.deepEqual(await collect(wacz.pages()), PAGES);
  const entries = await collect(wacz.index());
  assert.deepEqual(
    entries,
    Array.from({ length: 5000 }, (_, i) => entryOf(i)),
  );
  assert.deepEqual(await collect(wacz.search(exactRange('test,example)/04242'))), [entryOf(4242)]);
  await wacz.close();
  const verification = await verifyWacz(path);
  assert.deepEqual(verification.findings, []);
  assert.equal(verification.files, 7);
});

test('the files have the order and the methods of py-wacz', async () => {
  const path = join(directory, 'out.wacz');
  await writeWacz(path, await contentOf(3));
  const wacz = await openWacz(path, { onFinding: fail });
  assert.deepEqual(
    wacz.entries.map(({ name, method }) => [name, method]),
    [
      ['indexes/index.cdx.gz', 0],
      ['indexes/index.idx', 8],
      ['archive/Demo One.warc.gz', 0],
      ['archive/other.warc', 0],
      ['pages/pages.jsonl', 8],
      ['datapackage.json', 8],
      ['datapackage-digest.json', 8],
    ],
  );
  await wacz.close();
});

test('the same content gives the same bytes', async () => {
  const content = await contentOf(3);
  await writeWacz(join(directory, 'one.wacz'), content);
  await writeWacz(join(directory, 'two.wacz'), content);
  assert.deepEqual(await readFile(join(directory, 'one.wacz')), await readFile(join(directory, 'two.wacz')));
});

test('an existing file is replaced only when asked', async () => {
  const path = join(directory, 'out.wacz');
  await writeFile(path, 'precious');
  const content = await contentOf(3);
  await assert.rejects(writeWacz(path, content), { code: 'FILE_EXISTS' });
  assert.equal(await readFile(path, 'utf8'), 'precious');
  await writeWacz(path, content, { replace: true });
  assert.deepEqual((await verifyWacz(path)).findings, []);
});

test('a failure leaves neither a partial package nor a temporary file behind', async () => {
  const path = join(directory, 'out.wacz');
  const content = await contentOf(3);
  const missing = join(directory, 'missing.warc.gz');
  await assert.rejects(writeWacz(path, { ...content, warcs: [...content.warcs, missing] }), {
    code: 'FILE_MISSING',
    where: missing,
  });
  const twice = join(directory, '.', 'Demo One.warc.gz');
  await assert.rejects(writeWacz(path, { ...content, warcs: [twice, twice] }), { code: 'BAD_ARGUMENT' });
  async function* failing(): AsyncGenerator<string> {
    yield 'a 20240301100000 {}';
    throw new Error('the index broke');
  }
  await assert.rejects(writeWacz(path, { ...content, indexLines: failing() }), /the index broke/);
  await assert.rejects(writeWacz(path, { ...content, warcs: [directory] }), { code: 'FILE_IS_DIRECTORY' });
  assert.deepEqual((await readdir(directory)).sort(), ['Demo One.warc.gz', 'other.warc']);
});

test('a WARC file that grows during the writing is added up to its former size; a WARC file that shrinks is refused', async () => {
  const content = await contentOf(3);
  const [warc, other] = content.warcs as [string, string];
  await writeFile(other, Buffer.alloc(3_000_000));
  async function* growing(): AsyncGenerator<WaczPage> {
    yield* PAGES;
    await appendFile(warc, 'tail');
  }
  const path = join(directory, 'grown.wacz');
  await writeWacz(path, { ...content, pages: growing() });
  assert.deepEqual((await verifyWacz(path)).findings, []);

  // The second file is cut while the first one, which is large, is being copied.
  const slow = join(directory, 'slow.warc');
  await writeFile(slow, Buffer.alloc(40_000_000));
  const writing = writeWacz(join(directory, 'cut.wacz'), { ...content, warcs: [slow, other] });
  const rejected = assert.rejects(writing, { code: 'FILE_CHANGED', where: other });
  const sizeOfPackage = async () => {
    const scratch = (await readdir(directory)).find((name) => name.startsWith('.cut.wacz')) ?? 'none yet';
    return (await stat(join(directory, scratch, 'package')).catch(() => undefined))?.size ?? 0;
  };
  while ((await sizeOfPackage()) < 1_000_000) await new Promise(setImmediate);
  await truncate(other, 10);
  await rejected;
  assert.ok(!existsSync(join(directory, 'cut.wacz')));
});

const validator = spawnSync('wacz', ['--version']);

test('py-wacz says that the package is valid', {
  skip: validator.status !== 0 && 'py-wacz is not installed',
}, async () => {
  const path = join(directory, 'out.wacz');
  const content = await contentOf(2000);
  await writeWacz(path, content);
  const { stdout, status } = spawnSync('wacz', ['validate', '-f', path], { encoding: 'utf8' });
  assert.match(stdout, /Validation succeeded, the passed WACZ is valid/);
  assert.equal(status, 0);
});

const corpora = fileURLToPath(new URL('../../../../shared/corpora/', import.meta.url));
const indexer = spawnSync('cdxj-indexer', ['--help']);
const skip =
  (!existsSync(corpora) && 'shared corpora absent') ||
  ((validator.status !== 0 || indexer.status !== 0) && 'py-wacz is not installed');

test('a package of real WARC files is the same as the package of py-wacz', { skip }, async () => {
  const warc = `${corpora}wacz/webrecorder+py-wacz/fixtures__example-collection.warc`;
  const theirs = join(directory, 'theirs.wacz');
  assert.equal(spawnSync('wacz', ['create', '-o', theirs, warc]).status, 0);
  const peer = await openWacz(theirs, { onFinding: fail });
  const entries = await collect(peer.index());
  const ours = join(directory, 'ours.wacz');
  const content = { ...(await contentOf(0)), warcs: [warc], indexLines: entries.map(formatCdxjLine) };
  await writeWacz(ours, content);
  const mine = await openWacz(ours, { onFinding: fail });
  assert.deepEqual(await collect(mine.index()), entries);
  const hashOf = (wacz: typeof mine) => wacz.package?.resources.find(({ path }) => path.endsWith(basename(warc)))?.hash;
  assert.equal(hashOf(mine), hashOf(peer));
  await peer.close();
  await mine.close();
  assert.deepEqual((await verifyWacz(ours)).findings, []);
  assert.match(spawnSync('wacz', ['validate', '-f', ours], { encoding: 'utf8' }).stdout, /is valid/);
});
