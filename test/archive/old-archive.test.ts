/**
 * An archive that an earlier version of the program wrote opens, and everything that was true of it is still true.
 *
 * ```
 *   test/fixtures/archive-1/         an archive of the first format, as it was after it was closed
 *   test/fixtures/archive-1-files/   a file that was added to it by copying, and one that was added in place
 *   test/fixtures/archive-1.json     what must be true of it, compared with what was stored when the archive was made
 * ```
 * The program can no longer be made to write these files, so they are never written again. The archive has two
 * collections with common contents, a recompressed segment, segments that compaction wrote, deletions before compaction
 * and after it, open segments, odd records, and revisits of another crawler with and without their original.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, captureId, type StreamOrder, type StreamQuery } from '../../src/archive/index.ts';
import { toHex } from '../../src/base/index.ts';
import { parsePageId } from '../../src/url/index.ts';
import { openWithParts } from './opened-parts.ts';
import {
  allCaptures,
  audit,
  bytesOf,
  contentOf,
  NOON,
  page,
  temporaryDirectory,
  trialOptions,
  walk,
} from './trial-archive.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures');
/** A day after the archive was made. */
const NEXT_DAY = NOON + 101 * 86_400_000;

type OldCapture = {
  readonly url: string;
  readonly time: number;
  readonly collection: string;
  readonly kind: string;
  readonly status: number;
  readonly mime: string;
  readonly id: string;
  /** Digest and overflow number, or null when the original of a revisit is not known. */
  readonly content: string | null;
  /** SHA-256 of the payload as the archive returns it. */
  readonly sha256: string | null;
};

type OldArchive = {
  readonly captures: readonly OldCapture[];
  readonly deleted: readonly {
    readonly url: string;
    readonly time: number;
    readonly collection: string;
    readonly sha256: string;
    readonly compacted: boolean;
  }[];
  /** Streams that were stopped in the middle, and the ids of the records that they must still deliver. */
  readonly streams: readonly { readonly order: StreamOrder; readonly cursor: string; readonly records: string[] }[];
  readonly snapshot: { readonly name: string; readonly records: string[] };
  readonly segments: readonly object[];
  readonly pages: readonly { readonly url: string; readonly id: string }[];
  /** The codes of the problems that verification finds. */
  readonly problems: readonly string[];
  readonly totals: object;
  readonly stats: { readonly unresolvedRevisits: number };
};

const OLD = JSON.parse(await readFile(join(FIXTURES, 'archive-1.json'), 'utf8')) as OldArchive;

/** A copy of the archive. Its list of files that were added in place names the fixture wherever the checkout is. */
async function copied(t: TestContext): Promise<string> {
  const directory = await temporaryDirectory(t);
  await cp(join(FIXTURES, 'archive-1'), directory, { recursive: true });
  const manifest = join(directory, 'volumes/linked.jsonl');
  const path = JSON.stringify(FIXTURES).slice(1, -1);
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replaceAll('<fixtures>', path));
  return directory;
}

async function opened(t: TestContext, directory?: string): Promise<Archive> {
  const options = trialOptions({ clock: () => NEXT_DAY, seed: 99 });
  const archive = await openWithParts(directory ?? (await copied(t)), options);
  t.after(() => archive.close().catch(() => {}));
  return archive;
}

async function capturesOf(archive: Archive): Promise<OldCapture[]> {
  const captures: OldCapture[] = [];
  for (const capture of await allCaptures(archive)) {
    const { url, time, kind, status, mime, block } = capture;
    const payload = block ? await bytesOf((await archive.open(capture)).payload) : undefined;
    captures.push({
      url,
      time,
      collection: await archive.collections.name(capture.collection),
      kind,
      status,
      mime,
      id: captureId(capture),
      content: block ? `sha256:${toHex(block.digest)}${block.overflow > 0 ? `~${block.overflow}` : ''}` : null,
      sha256: payload ? createHash('sha256').update(payload).digest('hex') : null,
    });
  }
  return captures;
}

/** The captures without what compaction and a rebuild may change: which of several records holds a content. */
function contents(captures: readonly OldCapture[]): string[] {
  return captures.map(({ url, time, collection, id, sha256 }) => [url, time, collection, id, sha256].join(' ')).sort();
}

async function recordIds(archive: Archive, query: StreamQuery): Promise<string[]> {
  const ids: string[] = [];
  for await (const { head } of await archive.stream(query)) ids.push(head.recordId ?? 'nothing');
  return ids;
}

/** The problems of the archive, without the revisit whose original it never had. */
async function auditOld(archive: Archive): Promise<string[]> {
  return (await audit(archive)).filter((problem) => !problem.includes('http://foreign.example/never'));
}

async function assertDeletedStayAway(archive: Archive): Promise<void> {
  const there = new Set((await allCaptures(archive)).map(({ url, collection }) => `${collection} ${url}`));
  for (const { url, collection } of OLD.deleted)
    assert.ok(!there.has(`${await archive.collections.find(collection)} ${url}`), `${url} is back`);
}

test('an old archive has its captures, contents, segments, pages and totals, and no deleted capture', async (t) => {
  const archive = await opened(t);
  assert.deepEqual(await capturesOf(archive), OLD.captures);
  await assertDeletedStayAway(archive);
  assert.deepEqual(await archive.totals(), OLD.totals);
  assert.equal((await archive.stats()).unresolvedRevisits, OLD.stats.unresolvedRevisits);
  const segments = [];
  for (const { volume, name, collection, state, bytes, records, deadBytes } of await archive.segments()) {
    const collectionName = await archive.collections.name(collection);
    segments.push({ volume, name, collection: collectionName, state, bytes, records, deadBytes });
  }
  assert.deepEqual(segments, OLD.segments);
  for (const { url, id } of OLD.pages) assert.equal((await archive.getPage(parsePageId(id)!)).capture.url, url);
  for (const { id, url, time } of OLD.captures) {
    const capture = await archive.captureById(id);
    assert.deepEqual([capture?.url, capture?.time], [url, time]);
  }
  const problems: string[] = [];
  await archive.verify({ onProblem: ({ code }) => void problems.push(code) });
  assert.deepEqual(problems.sort(), OLD.problems);
  assert.deepEqual(await auditOld(archive), []);
});

test('I8: a named snapshot of an old archive is the same, also after later changes and a rebuild, and old cursors are refused', async (t) => {
  const directory = await copied(t);
  const archive = await opened(t, directory);
  const { name: snapshot, records } = OLD.snapshot;
  const expired = { code: 'CURSOR_EXPIRED', detail: 'an earlier version of Pinakes made it' };
  for (const { order, cursor } of OLD.streams) await assert.rejects(archive.stream({ order, cursor }), expired);
  assert.deepEqual(await recordIds(archive, { snapshot }), records);
  await archive.store(page('http://new.example/', NEXT_DAY, contentOf('new')), { collection: 'spring' });
  await archive.delete({ url: 'http://spring.example/last' });
  await archive.compact();
  await archive.close();
  const again = await opened(t, directory);
  assert.deepEqual(await recordIds(again, { snapshot }), records);
  await again.createSnapshot('newer');
  const newer = await recordIds(again, { snapshot: 'newer' });
  await again.rebuild();
  assert.deepEqual(await recordIds(again, { snapshot }), records);
  assert.deepEqual(await recordIds(again, { snapshot: 'newer' }), newer);
});

test('I5, I6: an old archive is compacted and rebuilt: deleted contents leave it, and everything else stays', async (t) => {
  const archive = await opened(t);
  const wanted = contents(OLD.captures);
  await archive.removeSnapshot(OLD.snapshot.name);
  assert.ok((await archive.compact()).segments > 0);
  assert.deepEqual(contents(await capturesOf(archive)), wanted);
  const linked = new Set((await archive.segments()).flatMap(({ volume, name }) => (volume === 'linked' ? [name] : [])));
  const living = new Set(OLD.captures.map(({ sha256 }) => sha256));
  const gone = new Set(OLD.deleted.map(({ sha256 }) => sha256).filter((sha256) => !living.has(sha256)));
  const kept = (await walk(archive)).filter(
    ({ segment, payloadSha256 }) => !linked.has(segment) && gone.has(payloadSha256),
  );
  assert.deepEqual(kept, []);
  assert.deepEqual(await auditOld(archive), []);
  await archive.rebuild();
  assert.deepEqual(contents(await capturesOf(archive)), wanted);
  await assertDeletedStayAway(archive);
  assert.deepEqual(await auditOld(archive), []);
});

test('an old archive is rebuilt from its segments and tombstones alone', async (t) => {
  const archive = await opened(t);
  await archive.rebuild();
  assert.deepEqual(contents(await capturesOf(archive)), contents(OLD.captures));
  await assertDeletedStayAway(archive);
  assert.deepEqual(await auditOld(archive), []);
});

test('an old archive shares its contents with new captures, and knows the files that were added to it', async (t) => {
  const archive = await opened(t);
  const report = await archive.add([join(FIXTURES, 'archive-1-files/added.warc.gz')], { collection: 'spring' });
  assert.deepEqual([report.filesKnown, report.captures, report.failures], [1, 0, []]);
  const shared = page('http://new.example/', NEXT_DAY, contentOf('spring 3'));
  const { isNew, capture } = await archive.store(shared, { collection: 'autumn' });
  assert.deepEqual([isNew, capture.kind], [false, 'revisit']);
  const open = OLD.segments.filter((segment) => 'state' in segment && segment.state === 'open').length;
  assert.equal(
    (await archive.segments()).filter(({ state }) => state === 'open').length,
    open,
    'its open segments grow on',
  );
  assert.deepEqual(await auditOld(archive), []);
});
