/** What delete, compact and rebuild guarantee. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { appendFile, cp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  type Archive,
  captureId,
  dropCatalog,
  openArchive,
  parseContentKey,
  type Selection,
} from '../../src/archive/index.ts';
import { type PinakesError, toHex, utf8 } from '../../src/base/index.ts';
import { response, warcinfo, writeForeign } from './foreign-file.ts';
import { catalogOf, volumeOf } from './opened-parts.ts';
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
  trialOptions,
  walk,
} from './trial-archive.ts';

/** Eight captures of four contents on two sites in two collections. */
async function filled(archive: Archive): Promise<void> {
  for (let n = 0; n < 8; n++) {
    const url = n % 2 === 0 ? `http://even.example/dir/${n}` : `http://odd.example/${n}`;
    const options = { collection: n < 4 ? 'early' : 'late' };
    await archive.store(page(url, NOON + n * 1000, contentOf(`content ${n % 4}`), [`X-Number: ${n}`]), options);
  }
}

const numbersLeft = async (archive: Archive) =>
  (await allCaptures(archive)).map(({ url }) => Number(url.split('/').pop())).sort();

const SELECTIONS: readonly [string, (archive: Archive) => Selection | Promise<Selection>, number[]][] = [
  ['a URL', () => ({ url: 'http://odd.example/3' }), [3]],
  ['a prefix', () => ({ prefix: 'http://even.example/dir/' }), [0, 2, 4, 6]],
  ['a host pattern', () => ({ prefix: 'odd.example/*' }), [1, 3, 5, 7]],
  ['a collection', async (archive) => ({ collection: await archive.collections.find('late') }), [4, 5, 6, 7]],
  ['a range of time', () => ({ from: NOON + 2000, to: NOON + 5000 }), [2, 3, 4, 5]],
  ['a status that no capture has', () => ({ status: 404 }), []],
  [
    'a collection and a prefix',
    async (archive) => ({ collection: await archive.collections.find('early'), prefix: 'http://odd.example/' }),
    [1, 3],
  ],
  ['a URL and a prefix of it', () => ({ url: 'http://odd.example/3', prefix: 'http://odd.example/' }), [3]],
  ['a URL and a prefix of another URL', () => ({ url: 'http://odd.example/3', prefix: '*.even.example' }), []],
];

for (const [what, selection, numbers] of SELECTIONS) {
  test(`deleting ${what} removes exactly what the preview showed, and a rebuild brings nothing back`, async (t) => {
    const archive = await makeArchive(t);
    await filled(archive);
    const preview = await archive.previewDelete(await selection(archive));
    assert.equal(preview.captures, numbers.length);
    const blocks = (await archive.totals()).blocks;
    const report = await archive.delete(await selection(archive));
    assert.deepEqual([report.captures, report.contents], [preview.captures, preview.contents]);
    assert.equal((await archive.totals()).blocks, blocks - preview.contents);
    const left = [0, 1, 2, 3, 4, 5, 6, 7].filter((n) => !numbers.includes(n));
    assert.deepEqual(await numbersLeft(archive), left);
    assert.deepEqual(await audit(archive), []);
    const before = await answers(archive);
    await archive.rebuild();
    assert.deepEqual(await answers(archive), before);
    await archive.compact();
    assert.deepEqual(await numbersLeft(archive), left);
    for (const n of left) {
      const { capture, http, payload } = await archive.open(
        (await allCaptures(archive)).find(({ url }) => url.endsWith(`/${n}`))!,
      );
      assert.equal(capture.time, NOON + n * 1000);
      assert.equal(http!.get('x-number'), String(n));
      assert.deepEqual(await bytesOf(payload), Buffer.from(contentOf(`content ${n % 4}`)));
    }
    assert.deepEqual(await audit(archive), []);
  });
}

test('delete with a view spares captures that were stored after the view, and copes with captures that moved or are gone', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  const selection = { prefix: 'http://even.example/' };
  await using seen = await archive.view();
  assert.equal((await archive.previewDelete(selection, { seen })).captures, 4);
  await archive.delete({ url: 'http://even.example/dir/0' });
  await archive.compact();
  await archive.store(page('http://even.example/new/9', NOON, contentOf('content 0')));
  assert.equal((await archive.previewDelete(selection, { seen })).captures, 4);
  assert.equal((await archive.delete(selection, { seen })).captures, 3);
  assert.deepEqual(await numbersLeft(archive), [1, 3, 5, 7, 9]);
  await audit(archive);
});

test('deleting by content key removes the content and all of its captures', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  const { key } = await archive.store(page('http://even.example/dir/8', NOON, contentOf('content 1')));
  assert.deepEqual(await archive.delete({ block: parseContentKey(key) }), { captures: 3, contents: 1 });
  await assert.rejects(archive.content(key), (error: PinakesError) => error.code === 'CONTENT_MISSING');
  await archive.compact();
  const all = await walk(archive);
  assert.ok(!all.some(({ head }) => /\/(1|5|8)$/.test(head.targetUri ?? '')));
  assert.deepEqual(await audit(archive), []);
});

test('a key gives back one reference: of two owners of a content, the first leaves it, and the second frees it', async (t) => {
  const archive = await makeArchive(t);
  const body = contentOf('owned by two');
  const put = (time: number) => archive.store({ kind: 'bytes', time, body }, { collection: `c${time}` });
  const { key } = await put(1000);
  assert.equal((await put(2000)).key, key);
  assert.equal((await archive.referenceOf(key)).time, 2000, 'the newest goes first');
  assert.deepEqual(await archive.release(key, { request: 'first' }), { captures: 1, contents: 0 });
  assert.deepEqual(await archive.release(key, { request: 'first' }), { captures: 1, contents: 0 }, 'asked again');
  assert.deepEqual(await bytesOf((await archive.content(key)).payload), Buffer.from(body));
  assert.deepEqual(
    (await allCaptures(archive)).map(({ time }) => time),
    [1000],
  );
  assert.deepEqual(await archive.release(key, { request: 'second' }), { captures: 1, contents: 1 });
  await assert.rejects(archive.release(key), { code: 'CONTENT_MISSING' });
  assert.deepEqual(await audit(archive), []);
  await archive.rebuild();
  assert.deepEqual(await allCaptures(archive), []);
});

test('requests for one content at the same moment give back one reference each', async (t) => {
  const archive = await makeArchive(t);
  const body = contentOf('owned by many');
  const puts = Array.from({ length: 9 }, (_, n) => archive.store({ kind: 'bytes', time: 1000 * n, body }));
  const { key } = (await Promise.all(puts))[0]!;
  const reports = await Promise.all(Array.from({ length: 9 }, () => archive.release(key)));
  assert.deepEqual(
    reports.map(({ captures, contents }) => captures * 10 + contents).sort(),
    [10, 10, 10, 10, 10, 10, 10, 10, 11],
  );
  assert.deepEqual(await allCaptures(archive), []);
});

test('a key gives back nothing where only captures of URLs have the content, and names these', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  const body = contentOf('content 1');
  const { key } = await archive.store({ kind: 'bytes', time: NOON, body });
  assert.deepEqual(await archive.release(key), { captures: 1, contents: 0 });
  const left = (await allCaptures(archive)).filter(({ url }) => /\/[15]$/.test(url));
  await assert.rejects(archive.release(key), (error: PinakesError) => {
    assert.equal(error.code, 'CONTENT_HAS_URLS');
    assert.equal(error.detail, left.map((capture) => `${captureId(capture)} of ${capture.url}`).join(', '));
    return true;
  });
  const [one] = left;
  assert.deepEqual(await archive.delete({ capture: one }), { captures: 1, contents: 0 });
  assert.deepEqual(
    await numbersLeft(archive),
    [0, 1, 2, 3, 4, 5, 6, 7].filter((n) => !one!.url.endsWith(`/${n}`)),
  );
});

test('deletions of the same captures at the same time count each capture once', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  const reports = await Promise.all([
    archive.delete({ prefix: 'http://even.example/' }),
    archive.delete({ from: NOON, to: NOON + 4000 }),
    archive.delete({ prefix: 'http://even.example/dir/' }),
  ]);
  assert.equal(
    reports.reduce((sum, { captures }) => sum + captures, 0),
    6,
  );
  assert.deepEqual(await numbersLeft(archive), [5, 7]);
  assert.deepEqual(await audit(archive), []);
});

test('I5 No capture loses its content: storing and deleting continue while the archive is compacted', async (t) => {
  const archive = await makeArchive(t, { policies: { segmentBytesMax: 8000 } });
  for (let n = 0; n < 60; n++) await archive.store(page(`http://a.example/${n}`, NOON + n, contentOf(`c ${n % 15}`)));
  for (let n = 0; n < 30; n++) await archive.delete({ url: `http://a.example/${n}` });
  const compaction = archive.compact();
  const others = [archive.compact()].map((one) => one.then(() => {}));
  for (let n = 60; n < 90; n++) {
    others.push(archive.store(page(`http://a.example/${n}`, NOON + n, contentOf(`c ${n % 15}`))).then(() => {}));
    if (n % 2 === 0) others.push(archive.delete({ url: `http://a.example/${n - 30}` }).then(() => {}));
  }
  await Promise.all([compaction, ...others]);
  const left = [...Array(90).keys()].filter((n) => n >= 30 && !(n < 60 && n % 2 === 0));
  assert.deepEqual(await numbersLeft(archive), left.map(Number).sort());
  for (const n of left)
    assert.deepEqual(
      await payloadAt(archive, `http://a.example/${n}`, NOON + n),
      Buffer.from(contentOf(`c ${n % 15}`)),
    );
  assert.deepEqual(await audit(archive), []);
  await archive.compact();
  assert.deepEqual(await audit(archive), []);
  const before = await answers(archive);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
});

test('I5 No capture loses its content: a compaction that stopped at any point is finished by the next one', async (t) => {
  for (let stopAt = 1; stopAt < 40; stopAt++) {
    const archive = await makeArchive(t, { policies: { segmentBytesMax: 6000 }, seed: stopAt });
    for (let n = 0; n < 24; n++)
      await archive.store(page(`http://a.example/${n}`, NOON + n, contentOf(`c ${n % 6}`)), {
        collection: `c${n % 2}`,
      });
    for (let n = 0; n < 10; n++) await archive.delete({ url: `http://a.example/${n}` });
    const stop = new AbortController();
    let exchanges = 0;
    const onProgress = () => ++exchanges >= stopAt && stop.abort();
    const isStopped = await archive.compact({ signal: stop.signal, onProgress }).then(
      () => false,
      () => true,
    );
    assert.deepEqual(await audit(archive), [], `after ${stopAt} exchanges`);
    if (stopAt % 2 === 0) await archive.rebuild();
    await archive.compact();
    assert.deepEqual(await audit(archive), [], `after ${stopAt} replacements and another compaction`);
    assert.ok(
      !(await walk(archive)).some(({ head }) => /\/\d$/.test(head.targetUri ?? '')),
      'what was deleted is gone',
    );
    await archive.close();
    if (!isStopped) return;
  }
  assert.fail('the compaction has more replacements than were tried');
});

test('I4 Bytes pass through: compaction copies unchanged records byte for byte, and marks the records that it changed', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  const membersOf = async () => {
    const found = new Map<string, Buffer>();
    for (const capture of await allCaptures(archive))
      found.set(capture.url, await bytesOf(archive.records.memberPieces(capture.place)));
    return found;
  };
  const before = await membersOf();
  const ids = new Map((await walk(archive)).map(({ head }) => [head.targetUri, head.recordId]));
  await archive.delete({ url: 'http://even.example/dir/0' });
  await archive.compact();
  const after = await membersOf();
  for (const [url, member] of after)
    assert.equal(member.equals(before.get(url)!), url !== 'http://even.example/dir/4', url);
  const promoted = (await walk(archive)).find(({ head }) => head.targetUri === 'http://even.example/dir/4')!;
  assert.equal(promoted.head.type, 'response');
  assert.equal(promoted.head.get('warc-previous-record-id'), ids.get('http://even.example/dir/4'));
  assert.notEqual(promoted.head.recordId, ids.get('http://even.example/dir/4'));
});

test('a promoted revisit keeps its own head, whichever type of record held its content', async (t) => {
  const archive = await makeArchive(t);
  const body = contentOf('of many kinds');
  await archive.store({ kind: 'resource', url: 'http://a.example/r', time: NOON, mime: 'text/plain', body });
  await archive.store(page('http://a.example/h', NOON, body, ['X-Own: yes']));
  await archive.delete({ url: 'http://a.example/r' });
  await archive.compact();
  const http = await archive.get('http://a.example/h');
  assert.deepEqual([http.capture.kind, http.http?.get('x-own'), http.capture.status], ['response', 'yes', 200]);
  await archive.store({ kind: 'resource', url: 'http://a.example/r', time: NOON, mime: 'text/css', body });
  await archive.delete({ url: 'http://a.example/h' });
  await archive.compact();
  const resource = await archive.get('http://a.example/r');
  assert.deepEqual([resource.capture.kind, resource.capture.mime, resource.http], ['resource', 'text/css', undefined]);
  assert.deepEqual(await bytesOf(resource.payload), Buffer.from(body));
  const before = await answers(archive);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
  assert.deepEqual(await audit(archive), []);
});

test('a revisit that only says "not modified" becomes a complete response when it is promoted', async (t) => {
  const archive = await makeArchive(t);
  const body = contentOf('unchanged');
  const original = response('http://a.example/', NOON, body);
  const record = {
    type: 'revisit',
    recordId: '<urn:uuid:00000000-0000-4000-8000-000000000304>',
    date: '2026-01-02T12:00:00Z',
    targetUri: 'http://a.example/',
    contentType: 'application/http; msgtype=response',
    revisit: {
      profile: 'server-not-modified',
      refersToTargetUri: 'http://a.example/',
      refersToDate: original.record.date,
    },
  } as const;
  const revisit = { record, block: utf8('HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n') };
  await archive.add([await writeForeign(join(archive.directory, 'a.warc.gz'), [warcinfo(), original, revisit])]);
  await archive.delete({ url: 'http://a.example/', to: NOON });
  await archive.rebuild();
  assert.deepEqual(await payloadAt(archive, 'http://a.example/'), Buffer.from(body));
  await archive.compact();
  const { http, payload } = await archive.get('http://a.example/');
  assert.deepEqual([http!.status, http!.get('etag'), http!.get('content-type')], [200, '"x"', 'text/html']);
  assert.deepEqual(await bytesOf(payload), Buffer.from(body));
  assert.deepEqual(await audit(archive), []);
  const before = await answers(archive);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
});

test('a deletion is a record of its own, which no stream, export or index shows', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  const records = async () => {
    const found: string[] = [];
    for await (const { head } of await archive.stream()) found.push(head.targetUri ?? head.type);
    return found;
  };
  const before = (await records()).filter((uri) => !/\/[02]$/.test(uri));
  for (const n of [0, 2]) await archive.delete({ url: `http://even.example/dir/${n}` });
  assert.deepEqual(await records(), before);
  const deletions = (await walk(archive)).filter(({ head }) => head.targetUri === 'urn:pinakes:deletion');
  assert.deepEqual(
    deletions.map(({ segment, head }) => [segment.split('/')[0], head.type]),
    [
      ['_deletions', 'metadata'],
      ['_deletions', 'metadata'],
    ],
  );
  assert.equal((await archive.segments()).filter(({ name }) => name.startsWith('_deletions/')).length, 1);
  const files = (await volumeOf(archive).list()).map(({ name }) => name);
  assert.deepEqual(
    files.filter((name) => name.endsWith('.tombstones')),
    [],
  );
  assert.deepEqual(
    (await archive.collections.all()).map(({ name }) => name),
    ['early', 'late'],
  );
  assert.equal((await archive.verify()).errors, 0);
});

for (const compacts of ['before', 'between', 'never'] as const)
  test(`I6 Deleted means gone: captures of a deletion that the catalog lost stay deleted; compacted: ${compacts}`, async (t) => {
    const archive = await makeArchive(t);
    await filled(archive);
    await archive.close();
    const catalog = join(archive.directory, 'catalog');
    await cp(catalog, `${catalog}.before`, { recursive: true });
    const deleting = await openArchive(archive.directory, trialOptions({ seed: 2 }));
    await deleting.delete({ prefix: 'http://even.example/' });
    if (compacts === 'before') await deleting.compact();
    await deleting.close();
    if (compacts !== 'before') {
      // A power cut cannot cost the catalog this commit, but a restored copy of it can.
      await rm(catalog, { recursive: true });
      await cp(`${catalog}.before`, catalog, { recursive: true });
    }
    const again = await openArchive(archive.directory, trialOptions({ seed: 3 }));
    t.after(() => again.close());
    assert.deepEqual(await numbersLeft(again), [1, 3, 5, 7]);
    assert.deepEqual(await audit(again), []);
    if (compacts === 'between') await again.compact();
    for (let round = 0; round < 2; round++) {
      await again.rebuild();
      assert.deepEqual(await numbersLeft(again), [1, 3, 5, 7]);
      assert.deepEqual(await audit(again), []);
      assert.equal((await again.verify()).errors, 0);
    }
    await again.compact();
    assert.deepEqual(await audit(again), []);
    assert.ok(!(await walk(again)).some(({ head }) => head.targetUri?.startsWith('http://even.example/')));
  });

test('verify compares the records of deletions with the catalog, and a rebuild carries out what is missing', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  const catalog = catalogOf(archive);
  const commit = catalog.commit.bind(catalog);
  // A catalog that forgets what was deleted.
  catalog.commit = ({ deletions = [], deletedMarks: _, ...group }) =>
    commit({ ...group, removeCaptures: deletions.map(({ capture }) => capture) });
  await archive.delete({ url: 'http://even.example/dir/0' });
  catalog.commit = commit;
  await archive.close();
  const record = {
    type: 'metadata',
    recordId: '<urn:uuid:00000000-0000-4000-8000-000000000305>',
    date: '2026-01-02T12:00:00Z',
    targetUri: 'urn:pinakes:deletion',
    contentType: 'application/json',
  } as const;
  const path = join(archive.directory, 'volumes/main/_deletions/later.warc.gz');
  await writeForeign(path, [warcinfo(), { record, block: utf8('{"deletion":2}') }]);
  const found: string[] = [];
  const again = await openArchive(archive.directory, {
    ...trialOptions({ seed: 2 }),
    onFinding: ({ code }) => found.push(code),
  });
  t.after(() => again.close());
  assert.deepEqual(found, ['deletion-unreadable']);
  const verify = async () => {
    const problems: string[] = [];
    await again.verify({ onProblem: ({ code, message }) => void problems.push(`${code}: ${message}`) });
    return problems.filter((problem) => problem.startsWith('deletion-')).sort();
  };
  const [undone, unreadable, ...others] = await verify();
  assert.match(undone!, /^deletion-undone: .*: 1 of 1 captures and 0 of 0 bars of the request /);
  assert.match(unreadable!, /^deletion-unreadable: .*version 2/);
  assert.deepEqual(others, []);
  await again.rebuild();
  assert.deepEqual(await numbersLeft(again), [1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(await verify(), [unreadable]);
});

test('I6 Deleted means gone: a segment that is put back as it was does not bring deleted captures back', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  const { name } = (await archive.segments())[0]!;
  const path = join(archive.directory, 'volumes/main', name);
  const before = await readFile(`${path}.open`);
  await archive.delete({ prefix: 'http://even.example/' });
  await archive.compact();
  await archive.close();
  await writeFile(path, before);
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => again.close());
  const left = async () => [...new Set(await numbersLeft(again))];
  assert.deepEqual(await left(), [1, 3, 5, 7]);
  await again.rebuild();
  assert.deepEqual(await left(), [1, 3, 5, 7]);
});

test('I3 Torn tails heal: a deletion with durable tombstones that the catalog does not know is carried out at the next opening', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  const early = await archive.collections.find('early');
  const doomed = (await allCaptures(archive)).filter(({ collection }) => collection === early);
  const segment = (await archive.segments()).find(({ number }) => number === doomed[0]!.place.segment)!;
  const lines = doomed.map(({ place, block }) => `${place.offset} ${toHex(block!.digest)}~${block!.overflow}\n`);
  const volume = volumeOf(archive);
  await volume.create(`${segment.name}.tombstones`);
  await volume.append(`${segment.name}.tombstones`, 0, [utf8(lines.join(''))]);
  await volume.sync([`${segment.name}.tombstones`]);
  await archive.close();
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => again.close());
  assert.deepEqual(await numbersLeft(again), [4, 5, 6, 7]);
  assert.deepEqual(await audit(again), []);
  assert.equal((await again.compact()).promoted, 4);
  assert.deepEqual(await audit(again), []);
});

test('I3 Torn tails heal: a tombstone line that a crash cut short is ignored', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  const gone = (await allCaptures(archive)).find(({ url }) => url === 'http://even.example/dir/0')!;
  const segment = (await archive.segments()).find(({ number }) => number === gone.place.segment)!;
  await archive.close();
  await writeFile(
    join(archive.directory, 'volumes/main', `${segment.name}.tombstones.open`),
    `${gone.place.offset} -\n12`,
  );
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => again.close());
  assert.deepEqual(await numbersLeft(again), [1, 2, 3, 4, 5, 6, 7]);
  await again.delete({ url: 'http://odd.example/1' });
  await again.rebuild();
  assert.deepEqual(await numbersLeft(again), [2, 3, 4, 5, 6, 7]);
  assert.deepEqual(await audit(again), []);
});

test('I3 Torn tails heal: bytes behind the last whole member of a segment are cut off, wherever the segment was torn', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  const before = await answers(archive);
  const { number, name, bytes } = (await archive.segments())[0]!;
  const place = (await allCaptures(archive)).find((capture) => capture.place.segment === number)!.place;
  const member = await bytesOf(archive.records.memberPieces(place));
  await archive.close();
  const path = join(archive.directory, 'volumes/main', name);
  for (const missing of [1, 4, 8, 9, 10, 12, 20, 300, member.length - 3]) {
    const openPath = existsSync(path) ? path : `${path}.open`;
    await appendFile(openPath, member.subarray(0, member.length - missing));
    const again = await openArchive(archive.directory, trialOptions({ seed: 2 + missing }));
    try {
      assert.equal((await stat(openPath)).size, bytes, `${missing} bytes missing`);
      assert.deepEqual(await answers(again), before);
      assert.deepEqual(await audit(again), []);
    } finally {
      await again.close();
    }
  }
});

test('I3 Torn tails heal: whole records that the catalog does not know are catalogued', async (t) => {
  const archive = await makeArchive(t);
  await filled(archive);
  const before = await answers(archive);
  await archive.close();
  await dropCatalog(archive.directory);
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => again.close());
  assert.deepEqual(await answers(again), before);
  assert.deepEqual(await audit(again), []);
});

test('deleting a content leaves another one with the same URL, time and record id alone', async (t) => {
  const archive = await makeArchive(t);
  const one = response('http://same.example/', NOON, contentOf('one'));
  const two = response('http://same.example/', NOON, contentOf('two'));
  const same = { ...two, record: { ...two.record, recordId: one.record.recordId } };
  await archive.add([await writeForeign(join(archive.directory, 'f.warc.gz'), [warcinfo(), one, same])], {
    workers: 0,
  });
  const [first, second] = await allCaptures(archive);
  assert.equal((await archive.delete({ block: first!.block! })).captures, 1);
  assert.deepEqual(
    (await allCaptures(archive)).map(({ block }) => block),
    [second!.block],
  );
});
