/** Reading damaged records: all readable bytes are returned, and all damage is reported. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Archive, OutputDamage } from '../../src/archive/index.ts';
import type { PinakesError } from '../../src/base/index.ts';
import { type NewRecord, readRecords } from '../../src/warc/index.ts';
import { damageRecord, damageUrl } from './damage-sample.ts';
import {
  type ForeignRecord,
  foreignId,
  requestOf,
  response,
  revisitOf,
  warcinfo,
  writeForeign,
} from './foreign-file.ts';
import { bytesOf, contentOf, makeArchive, NOON, page, temporaryDirectory } from './trial-archive.ts';

const urlOf = (n: number) => `http://a.example/${n}`;
const SOFTWARE = 'pinakes/test';

async function filled(archive: Archive, pages = 6): Promise<Archive> {
  for (let n = 0; n < pages; n++) await archive.store(page(urlOf(n), NOON + n, contentOf(`page ${n}`)));
  return archive;
}

function metadataOf({ record: { recordId, date, targetUri } }: ForeignRecord): ForeignRecord {
  const fields = [{ name: 'WARC-Concurrent-To', value: recordId }];
  const record: NewRecord = {
    type: 'metadata',
    recordId: foreignId(),
    date,
    targetUri,
    contentType: 'application/warc-fields',
    fields,
  };
  return { record, block: contentOf(`metadata of ${targetUri}`) };
}

const briefly = ({ segment, offset, code, url, comes }: OutputDamage) => ({ segment, offset, code, url, comes });

test('a sound record reports no damage', async (t) => {
  const archive = await filled(await makeArchive(t));
  const found = await archive.get(urlOf(1), undefined, { checksDigest: true });
  await bytesOf(found.payload);
  assert.deepEqual(found.damage(), []);
});

test('a record with a wrong checksum is returned, and the offset of the damage is reported', async (t) => {
  const archive = await filled(await makeArchive(t));
  const at = await damageUrl(archive, urlOf(2), 'sum');
  const found = await archive.get(urlOf(2));
  assert.deepEqual(await bytesOf(found.payload), Buffer.from(contentOf('page 2')));
  const [damage] = found.damage();
  assert.deepEqual({ ...damage, message: '' }, { volume: 'main', ...at, code: 'gzip-crc', message: '', url: urlOf(2) });
  assert.match(damage!.message, /checksum/);
});

test('the readable part of a record that does not decode to its end is returned', async (t) => {
  const archive = await filled(await makeArchive(t));
  await damageUrl(archive, urlOf(2), 'middle');
  const found = await archive.get(urlOf(2));
  const payload = await bytesOf(found.payload);
  const sound = Buffer.from(contentOf('page 2'));
  assert.ok(payload.length > 500 && payload.subarray(0, 500).equals(sound.subarray(0, 500)), `${payload.length} bytes`);
  assert.equal(found.damage().length, 1);
});

test('reading a record fails with RECORD_DAMAGED when no part of it can be read', async (t) => {
  const archive = await filled(await makeArchive(t));
  await damageUrl(archive, urlOf(2), 'start');
  await assert.rejects(archive.get(urlOf(2)), (error: PinakesError) => error.code === 'RECORD_DAMAGED');
});

test('a revisit reports the damage of the record that it refers to', async (t) => {
  const archive = await makeArchive(t);
  await archive.store(page(urlOf(1), NOON, contentOf('same')));
  await archive.store(page(urlOf(2), NOON + 1000, contentOf('same')));
  const at = await damageUrl(archive, urlOf(1), 'sum');
  const found = await archive.get(urlOf(2));
  await bytesOf(found.payload);
  assert.equal(found.capture.kind, 'revisit');
  assert.deepEqual(
    found.damage().map(({ offset, code }) => ({ offset, code })),
    [{ offset: at.offset, code: 'gzip-crc' }],
  );
});

test('a changed payload in an uncompressed file is reported, because its digest differs from the name of the content', async (t) => {
  const file = join(await temporaryDirectory(t), 'others.warc');
  await writeForeign(file, [warcinfo(), response(urlOf(1), NOON, contentOf('uncompressed', 600_000))], 'none');
  const archive = await makeArchive(t);
  await archive.add([file], { inPlace: true });
  const bytes = readFileSync(file);
  // Far from both ends, where the volume does not notice a change.
  bytes[300_000] = bytes[300_000]! ^ 1;
  writeFileSync(file, bytes);
  const found = await archive.get(urlOf(1));
  await bytesOf(found.payload);
  assert.deepEqual(
    found.damage().map(({ code }) => code),
    ['content-changed'],
  );
});

for (const order of ['storage', 'url'] as const) {
  test(`a stream in the order of ${order} contains all sound records, and reports each damaged one once`, async (t) => {
    const archive = await filled(await makeArchive(t));
    const sum = await damageUrl(archive, urlOf(1), 'sum');
    const middle = await damageUrl(archive, urlOf(2), 'middle');
    const start = await damageUrl(archive, urlOf(4), 'start');
    const reported: OutputDamage[] = [];
    const parts: Buffer[] = [];
    for await (const { bytes } of archive.streamWarc({ order, onDamage: (damage) => reported.push(damage) }))
      parts.push(Buffer.from(bytes));
    assert.deepEqual(
      reported.map(({ offset, comes }) => ({ offset, comes })),
      [
        { offset: sum.offset, comes: 'all' },
        { offset: middle.offset, comes: 'part' },
        { offset: start.offset, comes: 'nothing' },
      ],
    );
    const path = join(await temporaryDirectory(t), 'streamed.warc.gz');
    writeFileSync(path, Buffer.concat(parts));
    const urls: (string | undefined)[] = [];
    for await (const { head } of readRecords(path)) if (head.type === 'response') urls.push(head.targetUri);
    assert.deepEqual(urls, [0, 1, 2, 3, 5].map(urlOf));
  });
}

test('a stream of a selection does not report damaged records outside the selection', async (t) => {
  const archive = await filled(await makeArchive(t));
  await damageUrl(archive, urlOf(1), 'sum');
  const reported: OutputDamage[] = [];
  const query = { selection: { url: urlOf(3) }, onDamage: (damage: OutputDamage) => reported.push(damage) };
  for await (const _ of archive.streamWarc(query));
  assert.deepEqual(reported, []);
});

test('the JSON line of a damaged record describes the damage', async (t) => {
  const archive = await filled(await makeArchive(t), 3);
  await damageUrl(archive, urlOf(1), 'sum');
  const lines: { url?: string; damage?: { code: string; comes: string } }[] = [];
  for await (const { bytes } of archive.streamJson({ selection: { types: ['response'] } }))
    if (bytes.length > 0) lines.push(JSON.parse(Buffer.from(bytes).toString()));
  assert.deepEqual(
    lines.map(({ damage }) => damage && [damage.code, damage.comes]),
    [undefined, ['gzip-crc', 'all'], undefined],
  );
});

for (const concurrentRecords of [true, false]) {
  test(`an export ${concurrentRecords ? 'with' : 'without'} concurrent records contains all sound records, and reports each damaged one once`, async (t) => {
    const archive = await filled(await makeArchive(t));
    const sum = await damageUrl(archive, urlOf(1), 'sum');
    const middle = await damageUrl(archive, urlOf(2), 'middle');
    const start = await damageUrl(archive, urlOf(4), 'start');
    const reported: OutputDamage[] = [];
    const path = join(await temporaryDirectory(t), 'slice.warc.gz');
    const onDamage = (damage: OutputDamage) => reported.push(damage);
    const report = await archive.exportWarc({}, path, { software: SOFTWARE, concurrentRecords, onDamage });
    assert.deepEqual(
      reported.map(({ offset, comes }) => ({ offset, comes })),
      [
        { offset: sum.offset, comes: 'all' },
        { offset: middle.offset, comes: 'part' },
        { offset: start.offset, comes: 'nothing' },
      ],
    );
    assert.deepEqual([report.captures, report.damaged, report.leftOut], [5, 2, 1]);
    const urls: (string | undefined)[] = [];
    for await (const { head } of readRecords(path)) if (head.type === 'response') urls.push(head.targetUri);
    assert.deepEqual(urls, [0, 1, 2, 3, 5].map(urlOf));
  });
}

test('damaged requests and metadata records are reported and counted', async (t) => {
  const directory = await temporaryDirectory(t);
  const archive = await makeArchive(t);
  const pages = [0, 1, 2, 3].map((n) => response(urlOf(n), NOON + n, contentOf(`page ${n}`)));
  const file = join(directory, 'crawl.warc.gz');
  await writeForeign(file, [warcinfo(), ...pages.flatMap((one) => [one, requestOf(one), metadataOf(one)])], 'gzip');
  await archive.add([file]);
  const exported = async (name: string, reported: OutputDamage[] = []) =>
    archive.exportWarc({}, join(directory, name), { software: SOFTWARE, onDamage: (damage) => reported.push(damage) });
  const sound = await exported('sound.warc.gz');
  const places = new Map<string, { segment: number; offset: number; length: number }[]>();
  for await (const { segment, head, length } of await archive.stream()) {
    // The length of a record is known when the next record is requested.
    places.set(head.type, [
      ...(places.get(head.type) ?? []),
      { segment: segment.number, offset: head.offset, length: length ?? 0 },
    ]);
  }
  const endBytes = (await archive.segments()).at(-1)!.bytes;
  const lengthOf = ({ offset }: { offset: number }) => {
    const all = [...places.values()]
      .flat()
      .map((place) => place.offset)
      .sort((a, b) => a - b);
    return (all[all.indexOf(offset) + 1] ?? endBytes) - offset;
  };
  const placeAt = (type: string, n: number) => {
    const place = places.get(type)![n]!;
    return { ...place, length: lengthOf(place) };
  };
  const wounds = [
    await damageRecord(archive, placeAt('metadata', 1), 'start'),
    await damageRecord(archive, placeAt('metadata', 2), 'sum'),
    await damageRecord(archive, placeAt('metadata', 3), 'middle'),
  ];
  // This record is so short that its head is damaged too. Chance decides what can be read and which capture it joins.
  const request = await damageRecord(archive, placeAt('request', 0), 'middle');
  const reported: OutputDamage[] = [];
  const report = await exported('damaged.warc.gz', reported);
  const comesOf = ({ offset }: { offset: number }) =>
    reported.filter((one) => one.offset === offset).map(({ comes }) => comes);
  assert.deepEqual(wounds.map(comesOf), [['nothing'], ['all'], ['part']]);
  assert.equal(comesOf(request).length, 1, JSON.stringify(reported));
  assert.equal(report.damaged + report.leftOut, 4);
  assert.deepEqual(
    [report.captures, report.concurrentRecords],
    [sound.captures, sound.concurrentRecords - report.leftOut],
  );
});

test('a revisit of a damaged content stays a revisit in a self-contained file', async (t) => {
  const directory = await temporaryDirectory(t);
  const archive = await makeArchive(t);
  const original = response(urlOf(1), NOON, contentOf('same'));
  const file = join(directory, 'crawl.warc.gz');
  await writeForeign(file, [warcinfo(), original, revisitOf(original, urlOf(2), NOON + 1000)], 'gzip');
  await archive.add([file]);
  const at = await damageUrl(archive, urlOf(1), 'sum');
  const reported: OutputDamage[] = [];
  const report = await archive.exportWarc({ url: urlOf(2) }, join(directory, 'alone.warc.gz'), {
    software: SOFTWARE,
    selfContained: true,
    onDamage: (damage) => reported.push(damage),
  });
  assert.deepEqual(reported.map(briefly), [{ ...at, code: 'gzip-crc', url: undefined, comes: 'nothing' }]);
  assert.deepEqual([report.captures, report.expanded, report.revisits, report.unresolved], [1, 0, 1, 1]);
});

for (const how of ['middle', 'start'] as const) {
  test(`compaction leaves a segment with an unreadable record alone: ${how}`, async (t) => {
    const archive = await filled(await makeArchive(t));
    const { segment } = await damageUrl(archive, urlOf(2), how);
    await archive.delete({ url: urlOf(0) });
    const { segments, damaged } = await archive.compact();
    assert.equal(segments, 0);
    assert.deepEqual(
      damaged.map((one) => one.segment),
      [segment],
    );
    assert.match(damaged[0]!.why, /damaged/);
    for (const n of [1, 3, 4, 5]) assert.deepEqual((await archive.get(urlOf(n))).damage(), []);
    assert.ok(
      (await archive.segments()).some(({ name }) => name === segment),
      'the rest of it is where it was',
    );
  });
}

test('compaction removes a damaged record that was deleted, and copies a damaged record that decodes to its end', async (t) => {
  const archive = await filled(await makeArchive(t));
  await damageUrl(archive, urlOf(0), 'start');
  await damageUrl(archive, urlOf(2), 'sum');
  await archive.delete({ url: urlOf(0) });
  const { segments, damaged } = await archive.compact();
  assert.deepEqual([segments, damaged], [1, []]);
  const found = await archive.get(urlOf(2));
  assert.deepEqual(await bytesOf(found.payload), Buffer.from(contentOf('page 2')));
  assert.equal(found.damage()[0]!.code, 'gzip-crc');
});

test('a segment with a damaged record is not recompressed, since recompression would hide the damage', async (t) => {
  const archive = await filled(await makeArchive(t, { policies: { segmentBytesMax: 64 * 1024 } }), 60);
  await damageUrl(archive, urlOf(2), 'sum');
  const report = await archive.recompress({ worthwhileShare: 2 });
  assert.match(report.left.map(({ why }) => why).join(), /damaged/);
  const found = await archive.get(urlOf(2));
  await bytesOf(found.payload);
  assert.equal(found.damage().length, 1);
});
