/** Written records are read back unchanged, in every encoding and in every way of reading (I4, I9). */
import assert from 'node:assert/strict';
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import {
  type EncoderOptions,
  type Field,
  type NewRecord,
  type ReadingRecord,
  readRecords,
  trainDictionary,
  WarcFileWriter,
} from '../src/warc/index.ts';

let directory: string;
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'pinakes-round-trip-'));
});
after(() => rmSync(directory, { recursive: true, force: true }));

const CHUNK_BYTES_MAX = 1024 * 1024;

const dictionary = trainDictionary(
  Array.from({ length: 50 }, (_, i) =>
    Buffer.from(`HTTP/1.1 200 OK\r\nX-Number: ${i}\r\n\r\n<p>page ${i * 7919}</p>`.repeat(3)),
  ),
  { bytesMax: 1024 },
);

assert.ok(dictionary, 'the samples give a dictionary');

const ENCODINGS: readonly (EncoderOptions & { name: string })[] = [
  { name: 'plain', coding: 'none' },
  { name: 'gzip 1', coding: 'gzip', level: 1 },
  { name: 'gzip 6', coding: 'gzip' },
  { name: 'gzip stored', coding: 'gzip', level: 0 },
  { name: 'zstd', coding: 'zstd' },
  { name: 'zstd with dictionary', coding: 'zstd', dictionary },
];

/**
 * Values that fit on a line: letters of all scripts, without line ends, and without blanks at the beginning and the
 * end.
 */
const value = fc
  .string({ unit: 'grapheme', maxLength: 40 })
  .map((text) =>
    text
      .replace(/\s+/gu, ' ')
      .replace(/[\r\n\u2028\u2029\u0085]/g, '')
      .trim(),
  )
  .filter((text) => Buffer.from(text).toString() === text && text === text.replace(/^[ \t]+|[ \t]+$/g, ''));
const field: fc.Arbitrary<Field> = fc.record({
  name: fc.constantFrom('X-Note', 'WARC-IP-Address', 'WARC-Page-ID', 'WARC-JSON-Metadata', 'x-lower', 'WARC-Protocol'),
  value,
});
const uri = fc.oneof(
  fc.webUrl(),
  fc.constantFrom('dns:example.test', 'urn:pageinfo:x', 'http://example.test/a b/caf\u00e9?q=\u4e2d'),
);
const date = fc.constantFrom('2024', '2024-03-01T10:00:00Z', '2024-03-01T10:00:00.123456789Z');

const block = fc.oneof(
  fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(
    Buffer.alloc(0),
    Buffer.from('\r\n\r\n'),
    Buffer.from('WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 100\r\n\r\n'),
    Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'),
    Buffer.alloc(300_000, 'a page of some size '),
    Buffer.from(Uint8Array.from({ length: 150_000 }, (_, i) => (i * i * 31 + (i >> 5)) & 255)),
  ),
);

const record: fc.Arbitrary<NewRecord> = fc
  .record({
    type: fc.constantFrom<NewRecord['type']>(
      'warcinfo',
      'response',
      'request',
      'resource',
      'metadata',
      'revisit',
      'conversion',
      'continuation',
    ),
    recordId: fc.uuid().map((id) => `<urn:uuid:${id}>`),
    date,
    uri,
    contentType: fc.option(fc.constantFrom('application/http; msgtype=response', 'text/html; charset="x"'), {
      nil: undefined,
    }),
    profile: fc.constantFrom('identical-payload-digest', 'server-not-modified'),
    truncated: fc.boolean(),
    fields: fc.array(field, { maxLength: 4 }),
  })
  .map(({ type, uri: targetUri, profile, truncated, ...rest }) => ({
    ...rest,
    type,
    targetUri: type === 'warcinfo' ? undefined : targetUri,
    revisit:
      type === 'revisit'
        ? ({
            profile,
            refersTo: '<urn:uuid:1>',
            refersToTargetUri: targetUri,
            refersToDate: '2020',
            truncated,
          } as NewRecord['revisit'])
        : undefined,
  }));

type Drafts = readonly { readonly record: NewRecord; readonly block: Buffer }[];

async function blockOf(found: ReadingRecord): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const piece of found.body()) {
    assert.ok(piece.length <= CHUNK_BYTES_MAX, `a piece has ${piece.length} bytes`);
    parts.push(Buffer.from(piece));
  }
  return Buffer.concat(parts);
}

async function same(
  found: ReadingRecord,
  draft: Drafts[number],
  place: { offset: number; length: number },
): Promise<void> {
  const { head } = found;
  assert.equal(head.type, draft.record.type);
  assert.equal(head.version, '1.1');
  assert.equal(head.recordId, draft.record.recordId);
  assert.equal(head.date, draft.record.date);
  assert.equal(head.targetUri, draft.record.targetUri);
  assert.equal(head.contentType, draft.record.contentType);
  assert.equal(head.contentLength, draft.block.length);
  assert.equal(head.get('warc-refers-to-target-uri'), draft.record.revisit?.refersToTargetUri);
  assert.equal(head.get('warc-truncated'), draft.record.revisit?.truncated ? 'length' : undefined);
  for (const { name, value: wanted } of draft.record.fields ?? []) {
    assert.ok(head.getAll(name.toLowerCase()).includes(wanted), `${name}: ${JSON.stringify(wanted)}`);
  }
  assert.ok((await blockOf(found)).equals(draft.block), 'the block differs');
  assert.deepEqual({ offset: head.offset, length: found.tail?.length }, place);
  assert.ok(found.tail?.isComplete);
}

async function* inChunks(path: string, bytes: number): AsyncGenerator<Uint8Array> {
  const shared = Buffer.alloc(bytes);
  for await (const chunk of createReadStream(path, { highWaterMark: bytes }) as AsyncIterable<Buffer>) {
    for (let at = 0; at < chunk.length; at += bytes) {
      const taken = chunk.copy(shared, 0, at, at + bytes);
      yield shared.subarray(0, taken);
    }
  }
}

for (const { name, ...options } of ENCODINGS) {
  test(`records of every type are read back unchanged: ${name}`, async () => {
    const path = join(directory, name.replace(/ /g, '-'));
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ record, block }), { minLength: 1, maxLength: 8 }),
        async (drafts: Drafts) => {
          const writer = await WarcFileWriter.create(path, { ...options, force: true });
          const places = [];
          for (const [index, draft] of drafts.entries()) {
            const pieces = async function* () {
              yield draft.block.subarray(0, 100);
              yield draft.block.subarray(100);
            };
            const streamed = { length: draft.block.length, pieces: pieces() };
            const isStreamed = (index + run) % 2 === 1;
            places.push(
              await (isStreamed ? writer.writeStream(draft.record, streamed) : writer.write(draft.record, draft.block)),
            );
          }
          await writer.finish();
          const onFinding = (finding: { code: string }) => assert.fail(finding.code);

          let index = 0;
          for await (const found of readRecords(path, { onFinding }))
            await same(found, drafts[index]!, places[index++]!);
          assert.equal(index, drafts.length);

          index = 0;
          const stream = inChunks(path, run % 3 === 0 ? 13 : 4096);
          const isLarge = drafts.some((draft) => draft.block.length > 10_000);
          const source = isLarge ? inChunks(path, 65_536) : stream;
          for await (const found of readRecords(source, { onFinding }))
            await same(found, drafts[index]!, places[index++]!);
          assert.equal(index, drafts.length);

          const from = run % drafts.length;
          index = from;
          for await (const found of readRecords(path, { offset: places[from]!.offset, onFinding })) {
            await same(found, drafts[index]!, places[index++]!);
          }
          assert.equal(index, drafts.length);

          const { offset, length } = places[from]!;
          let single = 0;
          for await (const found of readRecords(path, { offset, end: offset + length, onFinding })) {
            await same(found, drafts[from]!, places[from]!);
            single++;
          }
          assert.equal(single, 1);
          run++;
        },
      ),
      { numRuns: 25 },
    );
  });
}

test('bodies that are not read are skipped', async () => {
  const path = join(directory, 'skipped.warc.gz');
  const writer = await WarcFileWriter.create(path, { coding: 'gzip' });
  for (let i = 0; i < 5; i++) {
    const targetUri = `http://example.test/${i}`;
    const made = { type: 'resource', recordId: `<urn:x:${i}>`, date: '2024', targetUri } as const;
    await writer.write(made, Buffer.alloc(500_000, 'x'));
  }
  await writer.finish();
  const seen: string[] = [];
  for await (const found of readRecords(path)) {
    seen.push(found.head.targetUri!);
    if (seen.length === 2) for await (const _ of found.body()) break;
  }
  assert.deepEqual(
    seen,
    [0, 1, 2, 3, 4].map((i) => `http://example.test/${i}`),
  );
});

test('a block larger than allowed is refused with a clear error', async () => {
  for await (const found of readRecords(join(directory, 'skipped.warc.gz'))) {
    await assert.rejects(found.bytes(1000), { code: 'RECORD_TOO_LARGE' });
  }
});
