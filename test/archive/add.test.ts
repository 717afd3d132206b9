/** What adding files guarantees. */
import assert from 'node:assert/strict';
import { copyFile, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AddOptions, Archive } from '../../src/archive/index.ts';
import type { Finding } from '../../src/base/index.ts';
import { trainDictionary } from '../../src/warc/index.ts';
import {
  type ForeignRecord,
  members,
  requestOf,
  response,
  revisitOf,
  warcinfo,
  writeArc,
  writeForeign,
  writeWholeGzip,
} from './foreign-file.ts';
import { catalogOf } from './opened-parts.ts';
import {
  allCaptures,
  answers,
  audit,
  bytesOf,
  contentOf,
  makeArchive,
  NOON,
  page,
  payloadAt,
  temporaryDirectory,
  walk,
} from './trial-archive.ts';

function site(name: string, count: number, from = 0): ForeignRecord[] {
  const records = [warcinfo()];
  for (let n = from; n < from + count; n++) {
    const one = response(`http://${name}.example/${n}`, NOON + n * 1000, contentOf(`${name} ${n}`));
    records.push(one, requestOf(one));
  }
  return records;
}

async function segmentBytes(archive: Archive): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (const { name } of await archive.segments()) parts.push(await bytesOf(archive.segmentBytes(name)));
  return Buffer.concat(parts);
}

test('I4 Bytes pass through: kept members are copied byte for byte, and duplicates become revisits with their own head', async (t) => {
  const archive = await makeArchive(t);
  const records = site('a', 20);
  const twin = response('http://twin.example/', NOON, contentOf('a 3'), [{ name: 'X-Kept', value: 'yes' }]);
  const file = await writeForeign(join(archive.directory, 'a.warc.gz'), [...records, twin]);
  const report = await archive.add([file]);
  assert.deepEqual([report.captures, report.duplicates, report.unresolved, report.failures], [21, 1, 0, []]);
  const stored = await segmentBytes(archive);
  for (const [index, member] of members(records).members.entries())
    assert.ok(stored.includes(member), `member ${index} was not copied as it is`);
  assert.ok(stored.includes(Buffer.concat(members(records).members)), 'the members are copied as one run');
  const revisit = (await walk(archive)).find(({ head }) => head.type === 'revisit')!;
  assert.equal(revisit.head.get('warc-previous-record-id'), twin.record.recordId);
  const back = await archive.get('http://twin.example/');
  assert.equal(back.http!.get('x-url'), 'http://twin.example/');
  assert.deepEqual(await bytesOf(back.payload), Buffer.from(contentOf('a 3')));
  assert.deepEqual(await audit(archive), []);
});

test('a file that is added again adds nothing, even when the catalog has lost the note about it', async (t) => {
  const archive = await makeArchive(t);
  // More records than one step handles, so that requests are separated from their responses.
  const file = await writeForeign(join(archive.directory, 'a.warc.gz'), site('a', 1500));
  await archive.add([file]);
  const before = await answers(archive);
  const bytes = (await segmentBytes(archive)).length;
  assert.equal((await archive.add([file])).filesKnown, 1);
  await archive.rebuild();
  const again = await archive.add([file]);
  assert.deepEqual([again.filesKnown, again.captures, again.capturesKnown], [0, 0, 1500]);
  assert.deepEqual(await answers(archive), before);
  assert.equal((await segmentBytes(archive)).length, bytes, 'no record was written again');
});

/** A plain file too large for its samples to cover, and a twin that differs in one letter between two samples. */
async function twins(directory: string): Promise<[string, string]> {
  const records = Array.from({ length: 40 }, (_, n) =>
    response(`http://twin.example/${n}`, NOON + n * 1000, contentOf(`twin ${n}`, 20_000)),
  );
  const file = await writeForeign(join(directory, 'one.warc'), records, 'none');
  const bytes = await readFile(file);
  // The second sample begins a sixteenth of the file after the first one. This is the middle of the bytes between them.
  const at = Math.floor(bytes.length / 32) + 8000;
  bytes[at] = bytes[at] === 0x30 ? 0x31 : 0x30;
  await writeFile(join(directory, 'two.warc'), bytes);
  return [file, join(directory, 'two.warc')];
}

test('a file whose samples equal those of a known file is read, and so is a file that replaced a known one', async (t) => {
  const archive = await makeArchive(t);
  const [one, two] = await twins(archive.directory);
  assert.equal((await archive.add([one])).captures, 40);
  assert.equal((await archive.add([one])).filesKnown, 1);
  const report = await archive.add([two]);
  assert.deepEqual([report.filesKnown, report.captures, report.capturesKnown], [0, 1, 39]);
  assert.equal((await archive.add([two])).filesKnown, 1);
  const { atime, mtime } = await stat(two);
  await copyFile(one, two);
  await utimes(two, atime, mtime);
  const restored = await archive.add([two]);
  assert.deepEqual([restored.filesKnown, restored.captures, restored.capturesKnown], [0, 0, 40]);
  assert.deepEqual(await audit(archive), []);
});

test('adding a moved file again does not bring back deleted captures, and the report says so', async (t) => {
  const archive = await makeArchive(t);
  const [one] = await twins(archive.directory);
  await archive.add([one]);
  await archive.delete({ url: 'http://twin.example/7' });
  const moved = join(archive.directory, 'moved.warc');
  await rename(one, moved);
  const report = await archive.add([moved]);
  assert.deepEqual([report.filesKnown, report.captures, report.deletedSince], [1, 0, 1]);
  assert.equal((await archive.add([moved], { again: true })).captures, 1);
});

test('a file whose note in the catalog has no path is read once more, and adds nothing', async (t) => {
  const archive = await makeArchive(t);
  const [one] = await twins(archive.directory);
  await archive.add([one]);
  const [[note, state]] = Object.entries(await catalogOf(archive).notes('added:')) as [[string, string]];
  const { seen, ...former } = JSON.parse(state);
  assert.ok(seen.startsWith(`${one} `));
  await catalogOf(archive).commit({ putNotes: { [note]: JSON.stringify(former) } });
  const again = await archive.add([one]);
  assert.deepEqual([again.filesKnown, again.captures, again.capturesKnown], [0, 0, 40]);
  assert.equal((await archive.add([one])).filesKnown, 1);
});

test('records of a new capture are added although the archive has another capture of the same URL and second', async (t) => {
  const archive = await makeArchive(t);
  const url = 'http://api.example/';
  const known = response(url, NOON, contentOf('known'));
  const linked = response(url, NOON, contentOf('linked'));
  const naming = response(url, NOON, contentOf('naming'));
  const [knownRequest, linkedRequest] = [requestOf(known), requestOf(linked)];
  // Only the response names this request.
  const bare = requestOf(naming);
  const namedRequest = { ...bare, record: { ...bare.record, fields: [] } };
  const fields = [{ name: 'WARC-Concurrent-To', value: bare.record.recordId }];
  const namer = { ...naming, record: { ...naming.record, fields } };
  await archive.add([await writeForeign(join(archive.directory, 'a.warc.gz'), [known, knownRequest])]);
  const records = [known, knownRequest, linked, linkedRequest, namedRequest, namer];
  const report = await archive.add([await writeForeign(join(archive.directory, 'b.warc.gz'), records)]);
  assert.deepEqual([report.captures, report.capturesKnown], [2, 1]);
  const requests = (await walk(archive)).filter(({ head }) => head.type === 'request');
  assert.deepEqual(
    requests.map(({ head }) => head.recordId),
    [knownRequest, linkedRequest, namedRequest].map(({ record }) => record.recordId),
  );
});

test('a record that is twice in a file is added once, also after a rebuild', async (t) => {
  const archive = await makeArchive(t);
  const one = response('http://a.example/', NOON, contentOf('twice'));
  await archive.add([await writeForeign(join(archive.directory, 'a.warc.gz'), [warcinfo(), one, one])]);
  const before = await answers(archive);
  assert.equal(before.length, 1);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
  assert.deepEqual(await audit(archive), []);
});

test('an interrupted add continues where it stopped, and adds each record exactly once', async (t) => {
  const archive = await makeArchive(t);
  const records = site('a', 1500);
  const file = await writeForeign(join(archive.directory, 'a.warc.gz'), records);
  const stop = new AbortController();
  const interrupted = archive.add([file], {
    signal: stop.signal,
    onProgress: ({ captures }) => captures > 300 && stop.abort(),
  });
  await interrupted.catch((error: Error) => assert.equal(error.name, 'AbortError'));
  const report = await archive.add([file]);
  assert.deepEqual(report.failures, []);
  const totals = await archive.totals();
  assert.deepEqual([totals.captures, totals.revisits], [1500, 0]);
  assert.deepEqual(await audit(archive), []);
  assert.equal((await walk(archive)).filter(({ head }) => head.type === 'request').length, 1500);
});

test('add reports its progress in bytes of each file, copied or in place', async (t) => {
  const archive = await makeArchive(t);
  const files: string[] = [];
  // The first file is large enough for several progress reports.
  for (const [name, count] of [
    ['a', 4000],
    ['b', 10],
  ] as const)
    files.push(await writeForeign(join(archive.directory, `${name}.warc.gz`), site(name, count)));
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  for (const inPlace of [false, true]) {
    const reached = new Map<string, number[]>();
    await archive.add(files, {
      collection: inPlace ? 'linked' : 'copied',
      inPlace,
      onProgress: ({ file, bytes }) => reached.set(file, [...(reached.get(file) ?? []), bytes]),
    });
    for (const [index, file] of files.entries()) {
      const reported = reached.get(file)!;
      assert.ok(index > 0 || reported.length > 1);
      assert.deepEqual(
        reported,
        reported.toSorted((one, other) => one - other),
      );
      assert.equal(reported.at(-1), sizes[index]);
    }
  }
});

test('a file that was compressed as a whole is added record by record, also when it has thousands', async (t) => {
  const archive = await makeArchive(t);
  const file = await writeWholeGzip(join(archive.directory, 'whole.warc.gz'), site('whole', 2500));
  const report = await archive.add([file]);
  assert.deepEqual([report.captures, report.failures], [2500, []]);
  for (const n of [0, 999, 1000, 1999, 2000, 2499])
    assert.deepEqual(await payloadAt(archive, `http://whole.example/${n}`), Buffer.from(contentOf(`whole ${n}`)));
  const again = await archive.add([file]);
  assert.equal(again.captures, 0);
  assert.deepEqual(await audit(archive), []);
});

test('plain files become gzip members of the same records', async (t) => {
  const archive = await makeArchive(t);
  const records = site('plain', 30);
  await archive.add([await writeForeign(join(archive.directory, 'a.warc'), records, 'none')]);
  const walked = await walk(archive);
  for (const { record } of records)
    assert.ok(
      walked.some(({ head }) => head.recordId === record.recordId),
      `${record.type} ${record.recordId}`,
    );
  assert.ok((await archive.segments()).every(({ name }) => name.endsWith('.warc.gz')));
  assert.deepEqual(await audit(archive), []);
});

test('zstd files with a dictionary keep their frames and the dictionary, and files with different dictionaries are not mixed', async (t) => {
  const archive = await makeArchive(t);
  const samples = (name: string) => Array.from({ length: 200 }, (_, n) => contentOf(`${name} sample ${n}`, 800));
  const one = trainDictionary(samples('one'), { bytesMax: 8192, id: 40001 });
  const two = trainDictionary(samples('two'), { bytesMax: 8192, id: 40002 });
  const [first, second] = [site('one', 12), site('two', 12)];
  await archive.add([
    await writeForeign(join(archive.directory, 'one.warc.zst'), first, 'zstd', one),
    await writeForeign(join(archive.directory, 'two.warc.zst'), second, 'zstd', two),
  ]);
  const stored = await segmentBytes(archive);
  for (const member of [...members(first, 'zstd', one).members, ...members(second, 'zstd', two).members])
    assert.ok(stored.includes(member));
  const before = await answers(archive);
  assert.equal(before.length, 24);
  const reported: unknown[] = [];
  for await (const _ of archive.streamWarc({ onDamage: (damage) => reported.push(damage) }));
  assert.deepEqual(reported, [], 'a dictionary does not count as a missing record');
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
  await archive.delete({ url: 'http://one.example/3' });
  await archive.compact();
  assert.deepEqual(await audit(archive), []);
  assert.deepEqual(await payloadAt(archive, 'http://one.example/4'), Buffer.from(contentOf('one 4')));
  assert.deepEqual(await payloadAt(archive, 'http://two.example/3'), Buffer.from(contentOf('two 3')));
});

test('a segment that begins with a dictionary is compacted', async (t) => {
  const archive = await makeArchive(t);
  const samples = Array.from({ length: 200 }, (_, n) => contentOf(`sample ${n}`, 800));
  const dictionary = trainDictionary(samples, { bytesMax: 8192, id: 40001 });
  await archive.add([await writeForeign(join(archive.directory, 'one.warc.zst'), site('one', 12), 'zstd', dictionary)]);
  await archive.delete({ url: 'http://one.example/3' });
  const { segments, damaged } = await archive.compact();
  assert.deepEqual([segments, damaged], [1, []]);
  assert.deepEqual(await audit(archive), []);
});

test('ARC documents become WARC records with the same payload, date and address', async (t) => {
  const archive = await makeArchive(t);
  const documents = Array.from({ length: 10 }, (_, n) => ({
    url: `http://old.example/${n}`,
    body: contentOf(`old ${n}`),
  }));
  const file = await writeArc(join(archive.directory, 'old.arc'), documents);
  const report = await archive.add([file]);
  assert.deepEqual([report.captures, report.failures], [10, []]);
  const { capture, head, payload } = await archive.get('http://old.example/4');
  assert.equal(capture.time, Date.UTC(2001, 0, 1, 0, 0, 4));
  assert.equal(head.get('warc-ip-address'), '192.0.2.1');
  assert.deepEqual(await bytesOf(payload), Buffer.from(contentOf('old 4')));
  const before = await answers(archive);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
  assert.equal((await archive.add([file])).captures, 0);
  assert.deepEqual(await audit(archive), []);
});

test('I10 Dirty input is data: everything readable in a damaged file is added, and the rest is reported with file and offset', async (t) => {
  const archive = await makeArchive(t);
  const records = site('hurt', 40);
  const file = members(records);
  const bytes = Buffer.concat(file.members);
  const at = file.members.slice(0, 41).reduce((sum, member) => sum + member.length, 0);
  const whole = Buffer.from(bytes);
  bytes.fill(0x55, at + 40, at + 400);
  const path = join(archive.directory, 'hurt.warc.gz');
  await writeFile(path, bytes);
  const findings: Finding[] = [];
  const report = await archive.add([path], { onFinding: (finding) => findings.push(finding) });
  assert.deepEqual(report.failures, []);
  assert.ok(findings.length > 0 && findings.every((finding) => finding.file === path));
  assert.ok(
    findings.some(({ offset }) => offset >= at && offset <= at + 400),
    JSON.stringify(findings),
  );
  const found = new Set((await allCaptures(archive)).map(({ url }) => url));
  const missing = records.filter(({ record }) => record.type === 'response' && !found.has(record.targetUri!));
  assert.ok(missing.length <= 1, `${missing.length} captures are missing`);
  assert.deepEqual(await audit(archive), []);
  await writeFile(path, whole);
  await archive.add([path]);
  assert.equal((await allCaptures(archive)).length, 40, 'the repaired file brings what was missing');
});

test('a damaged file that is added again is reported again, without adding records twice or deleted captures', async (t) => {
  const archive = await makeArchive(t);
  const path = await writeForeign(join(archive.directory, 'hurt.warc'), site('hurt', 4), 'none');
  const whole = await readFile(path, 'latin1');
  const nameless = `WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:x:1>\r\nContent-Length: 9\r\n\r\ntoo short\r\n\r\n`;
  await writeFile(path, nameless.replace(': 9', ': 3') + whole, 'latin1');
  const add = async (options: AddOptions = {}) => {
    const findings: Finding[] = [];
    const report = await archive.add([path], { ...options, onFinding: (finding) => findings.push(finding) });
    return { codes: findings.map(({ code }) => code), captures: report.captures, deletedSince: report.deletedSince };
  };
  const bytes = async () => {
    const own = (await archive.segments()).filter(({ name }) => !name.startsWith('_deletions/'));
    return own.reduce((sum, segment) => sum + segment.bytes, 0);
  };
  const first = await add();
  assert.deepEqual([first.captures, first.codes.includes('content-length-short')], [4, true]);
  const before = await bytes();
  assert.deepEqual(await add(), { ...first, captures: 0 });
  await archive.delete({ url: 'http://hurt.example/1' });
  assert.deepEqual(await add(), { ...first, captures: 0, deletedSince: 1 });
  assert.equal(await bytes(), before);
  assert.equal((await add({ again: true })).captures, 1);
  // With another path or time it may be another file. The samples of a file this small cover all of its bytes.
  await utimes(path, new Date(0), new Date(0));
  assert.equal((await add()).captures, 0);
  assert.deepEqual(await audit(archive), []);
});

test('I10 Dirty input is data: a file that is missing or not a WARC file does not stop the others', async (t) => {
  const archive = await makeArchive(t);
  const good = await writeForeign(join(archive.directory, 'good.warc.gz'), site('good', 3));
  const bad = join(archive.directory, 'bad.warc.gz');
  await writeFile(bad, 'this is not a WARC file at all');
  const report = await archive.add([join(archive.directory, 'nowhere.warc.gz'), bad, good]);
  assert.equal(report.captures, 3);
  assert.ok(report.failures.some(({ code }) => code === 'FILE_MISSING'));
  assert.deepEqual(await audit(archive), []);
});

test('a record that was cut off is added as far as it goes, and is marked as truncated', async (t) => {
  const archive = await makeArchive(t);
  const records = site('cut', 2);
  const path = await writeForeign(join(archive.directory, 'cut.warc'), records.slice(0, 4), 'none');
  const bytes = await readFile(path);
  await writeFile(path, bytes.subarray(0, bytes.length - 500));
  await archive.add([path]);
  const { head, payload } = await archive.get('http://cut.example/1');
  assert.equal(head.get('warc-truncated'), 'unspecified');
  const body = await bytesOf(payload);
  assert.ok(body.length > 1000 && Buffer.from(contentOf('cut 1')).subarray(0, body.length).equals(body));
  assert.deepEqual(await audit(archive), []);
});

for (const isNamed of [true, false]) {
  test(`revisits of other crawlers, ${isNamed ? 'named by URI and date' : 'known by digest only'}, find their content whatever the order of the files`, async (t) => {
    const archive = await makeArchive(t);
    const original = response('http://first.example/', NOON, contentOf('original'));
    const later = revisitOf(original, 'http://later.example/', NOON + 5000, isNamed);
    const directory = await temporaryDirectory(t);
    const second = await writeForeign(join(directory, '2.warc.gz'), [warcinfo(), later]);
    const first = await writeForeign(join(directory, '1.warc.gz'), [warcinfo(), original]);
    assert.equal((await archive.add([second])).unresolved, 1);
    await archive.add([first]);
    assert.deepEqual(await payloadAt(archive, 'http://later.example/'), Buffer.from(contentOf('original')));
    const before = await answers(archive);
    await archive.rebuild();
    assert.deepEqual(await answers(archive), before);
    assert.deepEqual(
      await audit(archive),
      isNamed ? [] : ['a revisit points at undefined undefined, which is not there'],
    );
  });
}

test('a revisit whose original is never added stays listed as unresolved, also after compaction and a rebuild', async (t) => {
  const archive = await makeArchive(t);
  const lost = response('http://lost.example/', NOON, contentOf('lost'));
  const orphan = revisitOf(lost, 'http://orphan.example/', NOON + 1000);
  const directory = await temporaryDirectory(t);
  const report = await archive.add([await writeForeign(join(directory, 'a.warc.gz'), [...site('a', 2), orphan])]);
  assert.equal(report.unresolved, 1);
  await archive.delete({ url: 'http://a.example/0' });
  await archive.compact();
  const { capture, http } = await archive.get('http://orphan.example/');
  assert.equal(capture.block, undefined);
  assert.equal(http!.get('x-url'), 'http://orphan.example/');
  await archive.add([await writeForeign(join(directory, 'b.warc.gz'), [warcinfo(), lost])]);
  assert.deepEqual(await payloadAt(archive, 'http://orphan.example/'), Buffer.from(contentOf('lost')));
  const before = await answers(archive);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
});

test('I5 No capture loses its content: a foreign revisit keeps it after its original is deleted and compacted away', async (t) => {
  const archive = await makeArchive(t);
  const original = response('http://first.example/', NOON, contentOf('original'));
  const revisits = [1, 2, 3].map((n) => revisitOf(original, `http://later.example/${n}`, NOON + n * 1000, n !== 3));
  await archive.add([await writeForeign(join(archive.directory, 'a.warc.gz'), [warcinfo(), original, ...revisits])]);
  await archive.delete({ url: 'http://first.example/' });
  const { promoted } = await archive.compact();
  assert.equal(promoted, 1);
  for (const n of [1, 2, 3]) {
    const back = await archive.get(`http://later.example/${n}`);
    assert.equal(back.http!.get('x-url'), `http://later.example/${n}`);
    assert.deepEqual(await bytesOf(back.payload), Buffer.from(contentOf('original')));
  }
  assert.deepEqual(await audit(archive), []);
  const before = await answers(archive);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
});

test('a duplicate of a content in another file refers to that content, and foreign revisits of the duplicate find it too', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  const first = response('http://first.example/', NOON, contentOf('common'));
  const second = response('http://second.example/', NOON + 1000, contentOf('common'));
  const third = revisitOf(second, 'http://third.example/', NOON + 2000);
  await archive.add([await writeForeign(join(directory, '1.warc.gz'), [warcinfo(), first])]);
  const report = await archive.add([await writeForeign(join(directory, '2.warc.gz'), [warcinfo(), second, third])]);
  assert.deepEqual([report.duplicates, report.unresolved], [1, 0]);
  assert.deepEqual(await payloadAt(archive, 'http://third.example/'), Buffer.from(contentOf('common')));
  const before = await answers(archive);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
});

test('I5 No capture loses its content: a revisit known only by the digest of its crawler keeps it when the original becomes a revisit', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  const body = contentOf('called otherwise');
  await archive.store(page('http://first.example/', NOON, body));
  // Some crawlers hash bytes that others leave out, such as chunk framing. Their revisits repeat the digest of the
  // response.
  const plain = response('http://second.example/', NOON + 1000, body);
  const second = { ...plain, record: { ...plain.record, payloadDigest: 'sha1:QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ' } };
  const third = revisitOf(second, 'http://third.example/', NOON + 2000, false);
  const report = await archive.add([await writeForeign(join(directory, 'a.warc.gz'), [warcinfo(), second, third])]);
  assert.deepEqual([report.duplicates, report.unresolved], [1, 0]);
  const check = async () => assert.deepEqual(await payloadAt(archive, 'http://third.example/'), Buffer.from(body));
  await check();
  await archive.rebuild();
  await check();
  await archive.delete({ url: 'http://first.example/' });
  await archive.rebuild();
  await check();
  await archive.compact();
  await check();
  const before = await answers(archive);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
  await archive.delete({ url: 'http://second.example/' });
  await archive.compact();
  await archive.rebuild();
  await check();
  assert.deepEqual(await audit(archive), []);
});

test('I5 No capture loses its content: a foreign revisit of a response that became a revisit points at the holder of the content', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  const body = contentOf('chained');
  await archive.store(page('http://first.example/', NOON, body));
  const second = response('http://second.example/', NOON + 1000, body);
  const third = revisitOf(second, 'http://third.example/', NOON + 2000);
  await archive.add([await writeForeign(join(directory, 'a.warc.gz'), [warcinfo(), second, third])]);
  assert.deepEqual(await audit(archive), []);
  const record = (await walk(archive)).find(({ head }) => head.targetUri === 'http://third.example/')!;
  assert.equal(record.head.get('warc-refers-to-target-uri'), 'http://first.example/');
  assert.equal(record.head.get('warc-previous-record-id'), third.record.recordId);
  await archive.delete({ url: 'http://second.example/' });
  await archive.compact();
  assert.deepEqual(await payloadAt(archive, 'http://third.example/'), Buffer.from(body));
  assert.equal((await archive.add([join(directory, 'a.warc.gz')])).filesKnown, 1);
  assert.deepEqual(await audit(archive), []);
});

test('a file without a record is refused by name, and the others are added', async (t) => {
  const archive = await makeArchive(t);
  const directory = await temporaryDirectory(t);
  const photo = join(directory, 'photo.warc.gz');
  await writeFile(photo, Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1, 2, 3, 4]));
  const good = await writeForeign(join(directory, 'good.warc.gz'), site('good', 2));
  const report = await archive.add([photo, good]);
  assert.deepEqual(
    report.failures.map(({ code, where }) => [code, where]),
    [['NOT_WARC', photo]],
  );
  assert.equal(report.captures, 2);
  assert.deepEqual(await audit(archive), []);
});

/**
 * More visits with one content than one step of an add takes, so that a later step finds captures of an earlier one.
 */
function visitsOfOne(from: number, to: number): ForeignRecord[] {
  const shared = contentOf('shared', 1200);
  return Array.from({ length: to - from }, (_, n) => response(`http://many.example/${from + n}`, NOON, shared));
}

test('a record that is repeated many steps later is the same capture', async (t) => {
  const archive = await makeArchive(t);
  const visits = visitsOfOne(0, 4500);
  const again = [visits[0]!, visits[1]!, visits[2200]!];
  const file = await writeForeign(join(archive.directory, 'many.warc.gz'), [...visits, ...again]);
  const { captures, capturesKnown, duplicates } = await archive.add([file]);
  assert.deepEqual([captures, capturesKnown, duplicates], [4500, 3, 4499]);
  assert.equal((await allCaptures(archive)).length, 4500);
  assert.deepEqual(await audit(archive), []);
});

test('two adds of the same records at the same time enter each record once', async (t) => {
  const archive = await makeArchive(t);
  const visits = visitsOfOne(0, 4500);
  const one = await writeForeign(join(archive.directory, 'one.warc.gz'), visits);
  const other = await writeForeign(join(archive.directory, 'other.warc.gz'), [
    ...visits.slice(2000),
    ...visitsOfOne(9000, 9010),
  ]);
  const reports = await Promise.all([archive.add([one]), archive.add([other])]);
  const captures = await allCaptures(archive);
  assert.equal(captures.length, 4510);
  assert.equal(new Set(captures.map(({ url }) => url)).size, 4510);
  assert.equal(captures.filter(({ kind }) => kind === 'response').length, 1);
  assert.equal(
    reports.reduce((sum, { capturesKnown }) => sum + capturesKnown, 0),
    2500,
  );
  assert.deepEqual(await audit(archive), []);
});
