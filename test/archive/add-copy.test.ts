/** How `add` copies records, and what the revisits that `add` writes say about the records that they refer to. */
import assert from 'node:assert/strict';
import { createCipheriv } from 'node:crypto';
import { statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { utf8 } from '../../src/base/index.ts';
import { readRecords } from '../../src/warc/index.ts';
import {
  type ForeignRecord,
  members,
  requestOf,
  response,
  revisitOf,
  warcinfo,
  writeArc,
  writeForeign,
} from './foreign-file.ts';
import { answers, audit, bytesOf, contentOf, makeArchive, NOON, payloadAt, walk } from './trial-archive.ts';

const MIB = 1024 * 1024;

/** Bytes that do not compress. */
function noise(seed: number, bytes: number): Uint8Array {
  return createCipheriv('aes-128-ctr', Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

function pages(name: string, count: number): ForeignRecord[] {
  return Array.from({ length: count }, (_, n) =>
    response(`http://${name}.example/${n}`, NOON + n * 1000, contentOf(`${name} ${n}`)),
  ).flatMap((one) => [one, requestOf(one)]);
}

test('I4 Bytes pass through: add copies records larger than one copy step byte for byte', async (t) => {
  const archive = await makeArchive(t);
  const twin = (n: number) => response(`http://twin.example/${n}`, NOON, contentOf('a 3'));
  const large = response('http://large.example/', NOON, noise(1, 5 * MIB));
  const kept = [warcinfo(), ...pages('a', 30), large, ...pages('b', 30)];
  const records = [...kept.slice(0, 40), twin(1), ...kept.slice(40, 65), twin(2), ...kept.slice(65), twin(3)];
  const file = await writeForeign(join(archive.directory, 'a.warc.gz'), records);
  const report = await archive.add([file], { workers: 2 });
  assert.deepEqual([report.captures, report.duplicates, report.failures], [64, 3, []]);
  const [segment] = await archive.segments();
  const stored = await bytesOf(archive.segmentBytes(segment!.name));
  for (const [index, member] of members(kept).members.entries())
    assert.ok(stored.includes(member), `member ${index} was not copied as it is`);
  assert.deepEqual(await payloadAt(archive, 'http://large.example/'), Buffer.from(noise(1, 5 * MIB)));
  assert.deepEqual(await audit(archive), []);
});

test('a revisit names the record that holds its content: a small one, a large one, zstd, ARC, or one with a long head', async (t) => {
  const archive = await makeArchive(t);
  const longField = { name: 'X-Long', value: Buffer.from(noise(2, 20_000)).toString('base64') };
  const holders: Record<string, ForeignRecord> = {
    small: response('http://small.example/', NOON, contentOf('small')),
    large: response('http://large.example/', NOON, noise(3, 2 * MIB)),
    long: response('http://long.example/', NOON, contentOf('long'), [longField]),
  };
  const packed = response('http://packed.example/', NOON, contentOf('packed'));
  const at = (name: string) => join(archive.directory, name);
  const files = [
    await writeForeign(at('first.warc.gz'), [warcinfo(), ...Object.values(holders)]),
    await writeForeign(at('first.warc.zst'), [warcinfo(), packed], 'zstd'),
    await writeArc(at('first.arc'), [{ url: 'http://old.example/', body: contentOf('old') }]),
  ];
  assert.deepEqual((await archive.add(files)).failures, []);
  const bodies = [contentOf('small'), noise(3, 2 * MIB), contentOf('long'), contentOf('packed'), contentOf('old')];
  // Twice in one file and again in another: looked up together, found again, and found in the archive.
  for (const round of [1, 2, 3]) {
    const twins = [1, 2].flatMap((time) =>
      bodies.map((body, n) => response(`http://twin.example/${n}`, NOON + round * 10_000 + time * 1000, body)),
    );
    const report = await archive.add([await writeForeign(at(`twins-${round}.warc.gz`), [warcinfo(), ...twins])]);
    assert.equal(report.duplicates, 10);
  }
  const walked = await walk(archive);
  const full = new Map(walked.filter(({ head }) => head.type === 'response').map((one) => [one.head.recordId, one]));
  const revisits = walked.filter(({ head }) => head.type === 'revisit');
  assert.equal(revisits.length, 30);
  for (const { head } of revisits) {
    const holder = full.get(head.get('warc-refers-to'));
    assert.ok(holder, `${head.targetUri} refers to ${head.get('warc-refers-to')}, which is not there`);
    assert.equal(head.get('warc-refers-to-target-uri'), holder.head.targetUri);
    assert.equal(head.get('warc-refers-to-date'), holder.head.date);
    // Other tools find the holder by the text of its payload digest.
    const words = holder.head.get('warc-payload-digest');
    assert.equal(head.get('warc-payload-digest'), words);
    const name = `${holder.payloadSha256}~0`;
    assert.equal(head.get('pinakes-content'), words === `sha256:${holder.payloadSha256}` ? undefined : name);
  }
  assert.deepEqual(await audit(archive), []);
});

test('a response is added although an unresolved revisit has the same id, URL and time', async (t) => {
  const archive = await makeArchive(t);
  const url = 'http://a.example/';
  const lost = response('http://lost.example/', NOON, contentOf('lost'));
  const revisit = revisitOf(lost, url, NOON);
  const whole = response(url, NOON, contentOf('whole'));
  const sameId = { ...whole, record: { ...whole.record, recordId: revisit.record.recordId } };
  const first = await archive.add([await writeForeign(join(archive.directory, 'a.warc.gz'), [warcinfo(), revisit])]);
  assert.deepEqual([first.captures, first.unresolved], [1, 1]);
  const second = await archive.add([await writeForeign(join(archive.directory, 'b.warc.gz'), [warcinfo(), sameId])]);
  assert.deepEqual([second.captures, second.capturesKnown], [1, 0]);
  const walked = await walk(archive);
  assert.equal(walked.filter(({ head }) => head.type === 'response').length, 1);
});

test('contents whose URLs are too long for the cache are shared within a file and between files', async (t) => {
  const archive = await makeArchive(t);
  const longUrl = (n: number) => `http://long.example/${n}?${Buffer.from(noise(n + 1, 60_000)).toString('hex')}`;
  // Larger than a revisit, which names the URL of its original.
  const contents = Array.from({ length: 80 }, (_, n) => utf8(`long ${n} `.repeat(20_000)));
  const originals = contents.map((content, n) => response(longUrl(n), NOON + n, content));
  const copies = (name: string) =>
    contents.map((content, n) => response(`http://${name}.example/${n}`, NOON + 1000 + n, content));
  const first = await writeForeign(join(archive.directory, '1.warc.gz'), [warcinfo(), ...originals, ...copies('same')]);
  const second = await writeForeign(join(archive.directory, '2.warc.gz'), [warcinfo(), ...copies('other')]);
  assert.equal((await archive.add([first], { workers: 0 })).duplicates, 80);
  assert.equal((await archive.add([second], { workers: 0 })).duplicates, 80);
  for (const name of ['same', 'other'])
    for (const n of [0, 40, 79])
      assert.deepEqual(await payloadAt(archive, `http://${name}.example/${n}`), Buffer.from(contents[n]!));
  assert.deepEqual(await audit(archive), []);
});

for (const [coding, cuts] of [
  ['gzip', [1, 4, 8, 9]],
  ['zstd', [1, 4]],
] as const)
  for (const cut of cuts)
    test(`a file whose last ${coding} member lacks ${cut} bytes is reported, and other tools can read the records that follow in the segment`, async (t) => {
      const archive = await makeArchive(t);
      const torn = join(archive.directory, 'torn.warc');
      const last = response('http://torn.example/', NOON, contentOf('torn'));
      await writeForeign(torn, [warcinfo(), last], coding);
      truncateSync(torn, statSync(torn).size - cut);
      const findings: string[] = [];
      await archive.add([torn], { onFinding: ({ code }) => findings.push(code) });
      assert.equal(findings[0], 'member-truncated');
      await archive.add([await writeForeign(join(archive.directory, 'next.warc'), pages('next', 2), coding)]);
      const before = await answers(archive);
      assert.equal(before.length, 3);
      assert.deepEqual(await payloadAt(archive, 'http://torn.example/'), Buffer.from(contentOf('torn')));
      const [segment, ...others] = await archive.segments();
      assert.deepEqual(others, []);
      const onFinding = ({ code }: { code: string }) => assert.fail(code);
      const records = readRecords(archive.segmentBytes(segment!.name), { onFinding });
      let count = 0;
      for await (const _ of records) count++;
      assert.equal(count, 1 + 2 + 4);
      await archive.rebuild();
      assert.deepEqual(await answers(archive), before);
    });

test('a truncated revisit of a response that add turned into a revisit still has its content after a rebuild', async (t) => {
  const archive = await makeArchive(t);
  const holder = response('http://holder.example/', NOON, contentOf('shared'));
  const twin = response('http://twin.example/', NOON, contentOf('shared'));
  const cut = join(archive.directory, 'cut.warc');
  await writeForeign(cut, [revisitOf(twin, 'http://cut.example/', NOON + 1000)], 'none');
  truncateSync(cut, statSync(cut).size - 20);
  await archive.add([await writeForeign(join(archive.directory, 'a.warc.gz'), [holder, twin])]);
  assert.equal((await archive.add([cut])).captures, 1);
  const before = await answers(archive);
  assert.deepEqual(await payloadAt(archive, 'http://cut.example/'), Buffer.from(contentOf('shared')));
  assert.equal((await archive.verify()).errors, 0);
  await archive.rebuild();
  assert.deepEqual(await answers(archive), before);
});

for (const inPlace of [false, true])
  test(`an ARC document that is not an HTTP message is a resource, ${inPlace ? 'in place' : 'copied'}, also after a rebuild`, async (t) => {
    const archive = await makeArchive(t);
    const file = join(archive.directory, 'old.arc');
    const version = '1 0 Another\nURL IP-address Archive-date Content-type Archive-length\n';
    const answer = '20010101000000\na.example. 60 IN A 192.0.2.1\n';
    const lines = [
      `filedesc://old.arc 0.0.0.0 20010101000000 text/plain ${version.length}\n${version}`,
      `dns:a.example 192.0.2.1 20010101000000 text/dns ${answer.length}\n${answer}`,
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    await archive.add([file], { inPlace });
    const before = await answers(archive);
    assert.match(before.join('\n'), /^dns:a\.example \d+ resource /);
    await archive.rebuild();
    assert.deepEqual(await answers(archive), before);
  });
