/** Takedowns with proof: a signed log of them, and a search of every file for the bytes, whatever the catalog says. */
import assert from 'node:assert/strict';
import { appendFile, copyFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type Archive, createArchive, openArchive } from '../../src/archive/index.ts';
import { digestOf, toHex } from '../../src/base/index.ts';
import { openOnVolume } from './bucket-trial.ts';
import { response, warcinfo, writeForeign } from './foreign-file.ts';
import { BucketVolume } from './memory-bucket.ts';
import { contentOf, makeArchive, NOON, page, temporaryDirectory, trialOptions } from './trial-archive.ts';

const SECRET = contentOf('secret');
const DIGEST = `sha256:${toHex(digestOf('sha256', SECRET).bytes)}`;
const GROUND = { reason: 'The author asked for it.', by: 'Ana Kovač' };
const BY = { by: 'the auditor' };
const LOG = join('volumes', 'main', '_pinakes', 'takedowns');

/** An archive in which a secret was stored under two URLs, beside others. */
async function withSecret(t: Parameters<typeof makeArchive>[0]): Promise<Archive> {
  const archive = await makeArchive(t);
  await archive.store(page('http://a.example/', NOON, SECRET));
  await archive.store(page('http://b.example/', NOON, SECRET), { collection: 'other' });
  await archive.store(page('http://c.example/', NOON, contentOf('kept')));
  return archive;
}

async function takeDownSecret(archive: Archive): Promise<number> {
  const capture = await archive.findCapture('http://a.example/');
  const key = `sha256:${toHex(capture!.block!.digest)}`;
  return (await archive.takeDown({ keys: [key] }, GROUND)).takedown;
}

async function entriesOf(archive: Archive): Promise<string[]> {
  const names = await readdir(join(archive.directory, LOG));
  return names.filter((name) => /^\d/.test(name)).sort();
}

test('the log says who took what down, when and why, from which segments, and what else used it, without the bytes', async (t) => {
  const archive = await withSecret(t);
  const id = await takeDownSecret(archive);
  const { takedowns, problems, keys } = await archive.takedownLog.read();
  assert.deepEqual([problems, keys.length, takedowns.length], [[], 1, 1]);
  const [takedown] = takedowns;
  const { reason, by, contents, urls, captures, listed, collections, kept, segments, end, search } = takedown!;
  assert.deepEqual({ reason, by }, GROUND);
  assert.deepEqual([takedown!.id, contents, urls, captures, kept, search], [id, [DIGEST], [], 2, [], undefined]);
  assert.deepEqual(
    listed.map(({ url, collection, content }) => [url, collection, content]),
    [
      ['http://a.example/', 'default', DIGEST],
      ['http://b.example/', 'other', DIGEST],
    ],
  );
  assert.deepEqual([collections, end?.captures], [['default', 'other'], 2]);
  assert.deepEqual(segments, [...new Set(listed.map(({ segment }) => segment))].sort());
  for (const name of await entriesOf(archive)) {
    const bytes = await readFile(join(archive.directory, LOG, name));
    assert.ok(!bytes.includes(Buffer.from(SECRET)));
  }
  assert.equal((await stat(join(archive.directory, 'takedown-key.pem'))).mode & 0o777, 0o600);
});

test('a takedown of a URL says which of its contents other captures keep', async (t) => {
  const archive = await withSecret(t);
  await archive.takeDown({ urls: ['http://a.example/'] }, GROUND);
  const [{ kept, urls, contents } = assert.fail()] = (await archive.takedownLog.read()).takedowns;
  assert.deepEqual([urls.length, contents, kept], [1, [], [{ content: DIGEST, captures: 1 }]]);
});

test('a takedown without a reason or a name is refused, and changes nothing', async (t) => {
  const archive = await withSecret(t);
  for (const ground of [
    { reason: ' ', by: 'x' },
    { reason: 'x', by: '' },
  ])
    await assert.rejects(archive.takeDown({ urls: ['http://a.example/'] }, ground), { code: 'BAD_ARGUMENT' });
  assert.equal((await archive.totals()).captures, 3);
  assert.deepEqual((await archive.takedownLog.read()).takedowns, []);
});

test('the log outlives the catalog, and an entry that one volume lost is read from another and written again', async (t) => {
  const archive = await withSecret(t);
  const second = await temporaryDirectory(t);
  await archive.addVolume({ name: 'second', path: second });
  await takeDownSecret(archive);
  await archive.close();
  await rm(join(archive.directory, 'catalog'), { recursive: true });
  await rm(join(archive.directory, LOG), { recursive: true });
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => again.close());
  const { takedowns, problems } = await again.takedownLog.read();
  assert.deepEqual([takedowns.length, takedowns[0]!.reason, problems], [1, GROUND.reason, []]);
  await again.takedownLog.check(undefined, BY);
  assert.deepEqual(await readdir(join(again.directory, LOG)), await readdir(join(second, '_pinakes', 'takedowns')));
});

class CountingVolume extends BucketVolume {
  logReads = 0;

  override async *stream(name: string, from?: number, to?: number): AsyncGenerator<Uint8Array> {
    if (name.startsWith('_pinakes/takedowns/')) this.logReads++;
    yield* super.stream(name, from, to);
  }
}

test('appending to the log reads none of the entries that every volume has', async (t) => {
  const directory = await temporaryDirectory(t);
  await createArchive(directory, {});
  const volume = new CountingVolume('main', new Map());
  const archive = await openOnVolume(directory, volume);
  t.after(() => archive.close());
  for (const name of ['a', 'b', 'c']) await archive.takeDown({ urls: [`http://${name}.example/`] }, GROUND);
  assert.equal(volume.logReads, 0);
  const { takedowns, problems } = await archive.takedownLog.read();
  assert.deepEqual([takedowns.map(({ id }) => id), problems], [[1, 3, 5], []]);
});

test('an entry of which a crash left a half is not the newest', async (t) => {
  const archive = await withSecret(t);
  await takeDownSecret(archive);
  await writeFile(join(archive.directory, LOG, `000000003-${'0'.repeat(64)}.open`), '{');
  await archive.takeDown({ urls: ['http://c.example/'] }, GROUND);
  assert.deepEqual((await archive.takedownLog.read()).problems, []);
});

test('a change of an entry, its removal, and a removal at the end of the log are seen', async (t) => {
  for (const harm of ['changed', 'removed', 'end removed', 'all removed'] as const) {
    const archive = await withSecret(t);
    await takeDownSecret(archive);
    await archive.takedownLog.check(undefined, BY);
    assert.deepEqual((await archive.takedownLog.read()).problems, []);
    const paths = (await entriesOf(archive)).map((name) => join(archive.directory, LOG, name));
    assert.equal(paths.length, 3);
    const [first, , last] = paths as [string, string, string];
    if (harm === 'changed') await writeFile(first, (await readFile(first, 'utf8')).replace('Ana', 'Eva'));
    else if (harm === 'all removed') await Promise.all(paths.map((path) => rm(path)));
    else await rm(harm === 'removed' ? first : last);
    const { problems } = await archive.takedownLog.read();
    assert.ok(problems.length > 0, harm);
    const said = problems.join('\n');
    if (harm === 'changed') assert.match(said, /entry 1: its bytes were changed/);
    if (harm === 'removed') assert.match(said, /entry 1 is missing/);
    if (harm === 'end removed') assert.match(said, /newest entry, number 3, is missing/);
    // Without the note of the catalog, the record of the deletion still says that there was one.
    await archive.close();
    await rm(join(archive.directory, 'catalog'), { recursive: true });
    const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
    const later = (await again.takedownLog.read()).problems.join('\n');
    if (harm === 'all removed') assert.match(later, /has no entry/);
    await again.close();
  }
});

test('I6 a search finds the bytes until they are compacted, and states in the log that they are gone', async (t) => {
  const archive = await withSecret(t);
  const id = await takeDownSecret(archive);
  const before = await archive.takedownLog.check(id, BY);
  assert.deepEqual([before.isGone, before.found, before.unsearched], [false, 1, []]);
  assert.deepEqual([before.findings[0]!.why, before.findings[0]!.what], ['content', DIGEST]);
  await archive.compact();
  const after = await archive.takedownLog.check(id, BY);
  assert.deepEqual([after.isGone, after.found, after.unsearched], [true, 0, []]);
  assert.ok(after.places.some(({ place, records }) => place === 'volume main' && records > 0));
  const [{ search } = assert.fail()] = (await archive.takedownLog.read()).takedowns;
  assert.deepEqual([search?.id, search?.isGone, search?.by], [after.id, true, BY.by]);
  assert.deepEqual((await archive.takedownLog.read()).problems, []);
});

test('a search finds bytes in files that no list names, and in damaged records', async (t) => {
  const archive = await withSecret(t);
  const id = await takeDownSecret(archive);
  await archive.compact();
  const { directory } = archive;
  const isGone = async () => (await archive.takedownLog.check(id, BY)).isGone;
  assert.equal(await isGone(), true);
  const foreign = await writeForeign(join(await temporaryDirectory(t), 'f.warc.gz'), [
    warcinfo(),
    response('http://z.example/', NOON, SECRET),
  ]);
  const own = contentOf('plain');
  await mkdir(join(directory, 'exports', 'job'), { recursive: true });
  const hidden = [
    join(directory, 'volumes', 'main', '.superseded.1.x.warc.gz'),
    join(directory, 'volumes', 'main', 'odd name.bin'),
    join(directory, 'exports', 'job', 'x.warc.gz'),
    join(directory, 'spool', 'left'),
  ];
  for (const path of hidden) {
    await copyFile(foreign, path);
    const { findings } = await archive.takedownLog.check(id, BY);
    assert.deepEqual(
      findings.map(({ why, what }) => [why, what]),
      [['content', DIGEST]],
      path,
    );
    await rm(path);
  }
  // The bare bytes, as a spool has them.
  await writeFile(join(directory, 'spool', 'body'), SECRET);
  assert.equal((await archive.takedownLog.check(id, BY)).findings[0]?.why, 'file');
  await rm(join(directory, 'spool', 'body'));
  // A record whose content was damaged still says what it was.
  const declared = `WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:0>\r\nWARC-Date: 2026-01-01T12:00:00Z\r\nWARC-Target-URI: http://d.example/\r\nWARC-Payload-Digest: ${DIGEST}\r\nContent-Length: ${own.length}\r\n\r\n`;
  const damaged = join(directory, 'volumes', 'main', '.set-aside.warc.gz');
  await writeFile(damaged, gzipSync(Buffer.concat([Buffer.from(declared), own, Buffer.from('\r\n\r\n')])));
  assert.equal((await archive.takedownLog.check(id, BY)).findings[0]?.why, 'declared content');
  // Bytes that cannot be read are not called gone.
  await writeFile(damaged, Buffer.concat([await readFile(foreign), Buffer.alloc(500, 7)]).subarray(60));
  const unread = await archive.takedownLog.check(id, BY);
  assert.deepEqual([unread.isGone, unread.unsearched.length > 0 || unread.found > 0], [false, true]);
  await rm(damaged);
  assert.equal(await isGone(), true);
});

test('a search finds every record of a barred URL, and bytes in directories that are named', async (t) => {
  const archive = await withSecret(t);
  await archive.takeDown({ urls: ['http://a.example/'] }, GROUND);
  await archive.compact();
  const elsewhere = await temporaryDirectory(t);
  assert.equal((await archive.takedownLog.check(undefined, { ...BY, also: [elsewhere] })).isGone, true);
  await writeForeign(join(elsewhere, 'e.warc.gz'), [warcinfo(), response('http://a.example/', NOON, contentOf('new'))]);
  const { findings } = await archive.takedownLog.check(undefined, { ...BY, also: [elsewhere] });
  assert.deepEqual(
    findings.map(({ place, file, why }) => [place, file, why]),
    [[elsewhere, 'e.warc.gz', 'url']],
  );
});

test('a missing volume is named, and nothing is said to be gone', async (t) => {
  const archive = await withSecret(t);
  const second = await temporaryDirectory(t);
  await archive.addVolume({ name: 'second', path: second });
  const id = await takeDownSecret(archive);
  await archive.compact();
  assert.equal((await archive.takedownLog.check(id, BY)).isGone, true);
  await archive.close();
  await rm(second, { recursive: true });
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => again.close());
  const { isGone, unsearched } = await again.takedownLog.check(id, BY);
  assert.deepEqual([isGone, unsearched.map(({ what }) => what)], [false, ['volume second']]);
  await assert.rejects(again.takedownLog.check(99, BY), { code: 'TAKEDOWN_MISSING' });
});

test('a linked file that is missing, or not in the list any more, is named, and nothing is said to be gone', async (t) => {
  let archive = await withSecret(t);
  const { directory } = archive;
  const reopen = async (seed: number) => {
    await archive.close();
    archive = await openArchive(directory, trialOptions({ seed }));
  };
  t.after(() => archive.close());
  const id = await takeDownSecret(archive);
  await archive.compact();
  const linked = await writeForeign(join(await temporaryDirectory(t), 'l.warc.gz'), [
    warcinfo(),
    response('http://l.example/', NOON, contentOf('linked')),
  ]);
  await archive.add([linked], { inPlace: true });
  const whole = await archive.takedownLog.check(id, BY);
  assert.deepEqual([whole.isGone, whole.unsearched], [true, []]);
  assert.ok(whole.places.some(({ place, records }) => place === 'volume linked' && records > 0));
  await rename(linked, `${linked}-away`);
  await reopen(2);
  const unread = await archive.takedownLog.check(id, BY);
  assert.deepEqual([unread.isGone, unread.found, unread.unsearched.length], [false, 0, 1]);
  assert.match(unread.unsearched[0]!.what, /^volume linked: /);
  const [{ search } = assert.fail()] = (await archive.takedownLog.read()).takedowns;
  assert.equal(search?.isGone, false, 'nothing is signed as proved');
  await rename(`${linked}-away`, linked);
  assert.equal((await archive.takedownLog.check(id, BY)).isGone, true);
  // A line of the list that cannot be read may have named a file with the bytes.
  await appendFile(join(directory, 'volumes', 'linked.jsonl'), 'not a line\n{}\n');
  await reopen(3);
  const later = await archive.takedownLog.check(id, BY);
  assert.equal(later.isGone, false);
  assert.match(later.unsearched[0]!.why, /^line \d+ of the list of its files cannot be read$/);
});

test('a receipt is one page without scripts, and shows text of others as text', async (t) => {
  const archive = await withSecret(t);
  const reason = 'Asked by <script>alert(1)</script> & "others"';
  const { takedown } = await archive.takeDown(
    { urls: ['http://a.example/'], withContents: true },
    { ...GROUND, reason },
  );
  const fresh = await archive.takedownLog.receipt(takedown);
  assert.match(fresh, /have not been examined yet/);
  await archive.compact();
  await archive.takedownLog.check(takedown, BY);
  const receipt = await archive.takedownLog.receipt(takedown);
  assert.ok(!/<script|<img|<link|https?:\/\/(?!a\.example|b\.example)/.test(receipt));
  assert.match(receipt, /Asked by &#60;script&#62;/);
  assert.match(receipt, /Nothing of the material was found/);
  assert.ok(receipt.includes(DIGEST) && receipt.includes('http://b.example/'));
  assert.ok(!receipt.includes('<!-- secret -->'));
});
