/**
 * Members without a checksum, as libzstd writes frames by default. A flipped bit in such a frame decodes to other
 * bytes, and is still reported.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import type { Archive, OutputDamage } from '../../src/archive/index.ts';
import { type Finding, PinakesError } from '../../src/base/index.ts';
import { slimRun } from '../../src/slim/index.ts';
import { codingOf, convertFile, memberHasChecksum, recordParts, warcInputs } from '../../src/warc/index.ts';
import { ask, makeServer, TOKEN } from '../server/trial-server.ts';
import { runOptions } from '../slim/slim-options.ts';
import { segmentFiles } from './archive-sample.ts';
import { placeOf } from './damage-sample.ts';
import { type ForeignRecord, requestOf, response, revisitOf, warcinfo } from './foreign-file.ts';
import { bytesOf, makeArchive, NOON, payloadAt, temporaryDirectory } from './trial-archive.ts';

const urlOf = (n: number) => `http://a.example/${n}`;
const SOFTWARE = 'pinakes/test';
/** More bytes than are decoded in one piece. */
const LARGE_BYTES = 1_500_000;

/** Bytes that do not compress. A frame contains them unchanged, so that any of their bits can be flipped. */
function noise(name: string, bytes = 3000): Buffer {
  return createHash('shake256', { outputLength: bytes }).update(name).digest();
}

const wholeOf = ({ record, block }: ForeignRecord) =>
  Buffer.concat(recordParts(record, block).map((part) => Buffer.from(part)));

function writeUnsummed(path: string, records: readonly ForeignRecord[]): void {
  const frames = records.map((one) => zstdCompressSync(wholeOf(one)));
  for (const frame of frames) assert.equal(memberHasChecksum(frame), false);
  writeFileSync(path, Buffer.concat(frames));
}

function flipIn(file: string, offset: number, length: number): void {
  const bytes = readFileSync(file);
  bytes[offset + Math.floor(length / 2)]! ^= 1;
  writeFileSync(file, bytes);
}

/** Flips a bit in the middle of the record of a page, in a segment or in a file that was added in place. */
async function flip(archive: Archive, url: string, linked?: string): Promise<void> {
  const place = await placeOf(archive, url);
  const { name } = (await archive.segments()).find(({ number }) => number === place.segment)!;
  flipIn(linked ?? segmentFiles(archive.directory).find((path) => path.includes(name))!, place.offset, place.length);
}

async function filled(t: TestContext, records: readonly ForeignRecord[], inPlace = false) {
  const archive = await makeArchive(t);
  const file = join(await temporaryDirectory(t), 'crawl.warc.zst');
  writeUnsummed(file, [warcinfo(), ...records]);
  await archive.add([file], { inPlace });
  return { archive, file };
}

async function damageOf(archive: Archive, url: string): Promise<string[]> {
  const found = await archive.get(url);
  await bytesOf(found.payload);
  return found.damage().map(({ code }) => code);
}

async function reportedBy(run: (onDamage: (damage: OutputDamage) => void) => Promise<unknown>): Promise<string[]> {
  const damages: OutputDamage[] = [];
  await run((damage) => damages.push(damage));
  return damages.map(({ code, comes, url }) => `${code} ${comes} ${url}`);
}

for (const [bytes, inPlace] of [
  [3000, false],
  [LARGE_BYTES, true],
] as const)
  test(`a flipped bit in a frame without a checksum is reported by every reader: ${bytes} bytes, ${inPlace ? 'in place' : 'copied'}`, async (t) => {
    // Large neighbours, since the archive notices a change near the ends of a file in place anyway.
    const around = [0, 2].map((n) => response(urlOf(n), NOON + n, noise(`around ${n}`, 200_000)));
    const wounded = response(urlOf(1), NOON + 1, noise('wounded', bytes));
    const records = [around[0]!, wounded, requestOf(wounded), revisitOf(wounded, urlOf(3), NOON + 3), around[1]!];
    const { archive, file } = await filled(t, records, inPlace);
    for (const n of [0, 1, 2, 3]) assert.deepEqual(await damageOf(archive, urlOf(n)), []);
    assert.deepEqual(await damageOf(archive, urlOf(1)), []);
    await flip(archive, urlOf(1), inPlace ? file : undefined);
    archive.forgetRecentRecords();

    const code = 'content-changed';
    assert.deepEqual(await damageOf(archive, urlOf(1)), [code]);
    assert.deepEqual(await damageOf(archive, urlOf(3)), [code], 'the revisit of it');
    for (const n of [0, 2]) assert.deepEqual(await damageOf(archive, urlOf(n)), []);

    const expected = [`${code} all ${urlOf(1)}`];
    const path = join(await temporaryDirectory(t), 'out.warc.gz');
    for (const order of ['storage', 'url'] as const)
      assert.deepEqual(
        await reportedBy(async (onDamage) => {
          for await (const _ of archive.streamWarc({ order, onDamage }));
        }),
        expected,
        order,
      );
    assert.deepEqual(
      await reportedBy((onDamage) => archive.exportWarc({}, path, { software: SOFTWARE, onDamage })),
      expected,
    );
    const lines: string[] = [];
    for await (const piece of archive.streamJson()) lines.push(Buffer.from(piece.bytes).toString());
    assert.equal(lines.filter((line) => line.includes('"damage"')).length, 1);

    const { server } = await makeServer(t, { archive });
    const replayed = ask(server.replayAddress, `/web/20260101120000id_/${urlOf(1)}`).then(({ status }) => status);
    if (bytes < LARGE_BYTES) assert.equal(await replayed, 502);
    else await assert.rejects(replayed, /aborted|hang up|reset/i);
    const headers = { authorization: `Bearer ${TOKEN}` };
    const listed = await ask(server.uiAddress, `/api/captures?url=${encodeURIComponent(urlOf(1))}`, { headers });
    const [item] = (JSON.parse(listed.text) as { items: { id: string }[] }).items;
    const source = await ask(server.uiAddress, `/api/captures/${item!.id}/source`, { headers });
    assert.equal(source.status, 502);
  });

test('a flipped bit in an uncompressed record is reported by exports and streams', async (t) => {
  const archive = await makeArchive(t);
  const file = join(await temporaryDirectory(t), 'crawl.warc');
  const pages = [0, 1, 2].map((n) => response(urlOf(n), NOON + n, noise(`plain ${n}`, 200_000)));
  writeFileSync(file, Buffer.concat([warcinfo(), ...pages].map(wholeOf)));
  await archive.add([file], { inPlace: true });
  await flip(archive, urlOf(1), file);
  const path = join(await temporaryDirectory(t), 'out.warc.gz');
  const expected = [`content-changed all ${urlOf(1)}`];
  assert.deepEqual(
    await reportedBy((onDamage) => archive.exportWarc({}, path, { software: SOFTWARE, onDamage })),
    expected,
  );
  const query = { order: 'url' } as const;
  assert.deepEqual(
    await reportedBy(async (onDamage) => {
      for await (const _ of archive.streamWarc({ ...query, onDamage }));
    }),
    expected,
  );
});

test('a flipped bit in a request, which only its block digest covers, is reported', async (t) => {
  const page = response(urlOf(1), NOON, noise('page'));
  const request = requestOf(page);
  const block = noise('request');
  const blockDigest = `sha1:${createHash('sha1').update(block).digest('hex')}`;
  const digested = { record: { ...request.record, blockDigest }, block };
  const { archive } = await filled(t, [page, digested]);
  const [segment] = await archive.segments();
  const file = segmentFiles(archive.directory)[0]!;
  const offset = readFileSync(file).indexOf(block.subarray(0, 1000));
  assert.ok(offset > 0 && segment);
  flipIn(file, offset, 1000);
  const path = join(await temporaryDirectory(t), 'out.warc.gz');
  assert.deepEqual(await reportedBy((onDamage) => archive.exportWarc({}, path, { software: SOFTWARE, onDamage })), [
    `block-digest-mismatch all ${urlOf(1)}`,
  ]);
});

test('a record whose head declares a wrong digest is sound as long as its content is the stored one', async (t) => {
  const wrong = response(urlOf(1), NOON, noise('page'));
  const record = { ...wrong.record, payloadDigest: `sha1:${'0'.repeat(40)}` };
  const { archive } = await filled(t, [{ ...wrong, record }]);
  assert.deepEqual(await damageOf(archive, urlOf(1)), []);
  const onDamage = (damage: OutputDamage) => assert.fail(JSON.stringify(damage));
  for await (const _ of archive.streamWarc({ onDamage }));
  await flip(archive, urlOf(1));
  archive.forgetRecentRecords();
  assert.deepEqual(await damageOf(archive, urlOf(1)), ['content-changed']);
});

test('soundPayload fails with RECORD_DAMAGED before the end of a damaged payload', async (t) => {
  const { archive } = await filled(t, [response(urlOf(1), NOON, noise('page'))]);
  await flip(archive, urlOf(1));
  const { soundPayload } = await import('../../src/archive/index.ts');
  const isDamage = (error: unknown) => error instanceof PinakesError && error.code === 'RECORD_DAMAGED';
  await assert.rejects(bytesOf(soundPayload(await archive.get(urlOf(1)))), isDamage);
});

test('adding, rebuilding and converting report records in frames without a checksum that do not match their digests', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'crawl.warc.zst');
  const block = noise('page');
  writeUnsummed(file, [warcinfo(), response(urlOf(1), NOON, block), response(urlOf(2), NOON, noise('other'))]);
  const archive = await makeArchive(t);
  await archive.add([file]);
  const codes: string[] = [];
  const onFinding = ({ code, level }: Finding) => codes.push(`${level} ${code}`);
  const expected = ['error payload-digest-mismatch'];
  await archive.rebuild({ onFinding });
  assert.deepEqual(codes.splice(0), []);
  await flip(archive, urlOf(1));
  await archive.rebuild({ onFinding });
  assert.deepEqual(codes.splice(0), expected, 'rebuild');

  flipIn(file, readFileSync(file).indexOf(block.subarray(0, 1000)), 1000);
  for (const inPlace of [false, true]) {
    await (await makeArchive(t)).add([file], { inPlace, workers: 0, onFinding });
    assert.deepEqual(codes.splice(0), expected, inPlace ? 'added in place' : 'added');
  }
  const clock = () => NOON;
  for await (const input of warcInputs(file, () => {})) {
    const options = { coding: 'gzip', newId: () => '<urn:converted>', clock, software: SOFTWARE, onFinding } as const;
    const { records } = await convertFile(input, join(directory, 'converted.warc.gz'), options);
    assert.equal(records, 3, 'everything readable is in the new file');
  }
  assert.deepEqual(codes.splice(0), expected, 'converted');
});

test('slim leaves a file with a damaged frame alone, and no revisit refers to this file', async (t) => {
  const directory = await temporaryDirectory(t);
  const block = noise('page');
  const [damaged, sound] = [join(directory, 'a.warc.zst'), join(directory, 'b.warc.zst')];
  writeUnsummed(damaged, [response(urlOf(1), NOON, block), response(urlOf(2), NOON, noise('other'))]);
  writeUnsummed(sound, [response(urlOf(3), NOON + 1, block), response(urlOf(4), NOON + 2, noise('other'))]);
  flipIn(damaged, readFileSync(damaged).indexOf(block.subarray(0, 1000)), 1000);
  const before = [damaged, sound].map((path) => readFileSync(path));
  const { options, findings } = runOptions(directory);
  await slimRun(options);
  assert.ok(findings.some(({ code, file }) => code === 'slim-file-damaged' && file === damaged));
  assert.deepEqual(
    [damaged, sound].map((path) => readFileSync(path)),
    before,
  );
});

test('frames that the archive writes have a checksum', async (t) => {
  const { archive } = await filled(
    t,
    [1, 2].map((n) => response(urlOf(n), NOON + n, noise(`${n}`))),
  );
  const path = join(await temporaryDirectory(t), 'out.warc.zst');
  await archive.exportWarc({}, path, { software: SOFTWARE });
  const bytes = readFileSync(path);
  assert.equal(codingOf(bytes), 'zstd');
  assert.equal(memberHasChecksum(bytes), true);
  assert.deepEqual(await payloadAt(archive, urlOf(1)), noise('1'));
});
