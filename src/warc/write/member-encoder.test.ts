import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { seededRandom } from '../../base/index.ts';
import { dictionaryOfFile, parseFrameHead } from '../member/zstd-frame.ts';
import { trainDictionary } from '../member/zstd-trainer.ts';
import { type EncoderOptions, MemberEncoder } from './member-encoder.ts';

function noise(bytes: number, seed = 1): Buffer {
  const random = seededRandom(seed);
  const made = Buffer.alloc(bytes);
  for (let i = 0; i < bytes; i++) made[i] = Math.floor(random() * 256);
  return made;
}

function text(bytes: number, seed = 1): Buffer {
  const random = seededRandom(seed);
  const words = ['archive', 'record', 'payload', 'digest', '<p>', '</p>\r\n'];
  let made = '';
  while (made.length < bytes) made += `${words[Math.floor(random() * words.length)]}${Math.floor(random() * 50)} `;
  return Buffer.from(made.slice(0, bytes));
}

const dictionary = Buffer.from(
  trainDictionary(
    Array.from({ length: 60 }, (_, i) => text(400, i)),
    { bytesMax: 4096, id: 40_000 },
  )!,
);

const ENCODINGS: readonly EncoderOptions[] = [
  { coding: 'none' },
  { coding: 'gzip' },
  { coding: 'gzip', level: 0 },
  { coding: 'gzip', level: 9 },
  { coding: 'zstd' },
  { coding: 'zstd', level: 1 },
  { coding: 'zstd', level: 19 },
  { coding: 'zstd', dictionary },
];

function decode(options: EncoderOptions, member: Uint8Array): Buffer {
  if (options.coding === 'none') return Buffer.from(member);
  if (options.coding === 'gzip') return gunzipSync(member);
  return zstdDecompressSync(member, options.dictionary ? { dictionary: Buffer.from(options.dictionary) } : {});
}

async function encodeStream(encoder: MemberEncoder, parts: readonly Buffer[]): Promise<Buffer> {
  const total = parts.reduce((sum, { length }) => sum + length, 0);
  const pieces: Uint8Array[] = [];
  // All parts share one buffer, as the parts of readers do.
  async function* reused(): AsyncGenerator<Uint8Array> {
    const shared = Buffer.alloc(Math.max(1, ...parts.map(({ length }) => length)));
    for (const part of parts) {
      part.copy(shared);
      yield shared.subarray(0, part.length);
      shared.fill(0xee);
    }
  }
  for await (const piece of encoder.encodeStream(reused(), total)) pieces.push(piece);
  return Buffer.concat(pieces);
}

for (const options of ENCODINGS) {
  const name = `${options.coding} level ${options.level ?? '-'}${options.dictionary ? ' with dictionary' : ''}`;

  test(`${name}: encoded records decode again, member after member, whole or as a stream`, async () => {
    const encoder = new MemberEncoder(options);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 4 }), async (arrays) => {
        const parts = arrays.map((part) => Buffer.from(part));
        const whole = Buffer.concat(parts);
        assert.deepEqual(decode(options, encoder.encode(parts)), whole);
        assert.deepEqual(decode(options, await encodeStream(encoder, parts)), whole);
        assert.deepEqual(decode(options, encoder.encode(parts)), whole);
      }),
      { numRuns: 40 },
    );
    for (const bytes of options.level === 19 ? [200_000] : [200_000, 700_000]) {
      for (const block of [text(bytes), noise(bytes)]) {
        const parts = [block.subarray(0, 300), block.subarray(300, 70_000), block.subarray(70_000)];
        assert.ok(decode(options, encoder.encode(parts)).equals(block));
        assert.ok(decode(options, await encodeStream(encoder, parts)).equals(block));
      }
    }
    encoder.close();
  });
}

test('equal records make equal gzip members, without name, time or extra field', () => {
  const members = [1, 2].map(() => new MemberEncoder({ coding: 'gzip' }).encode([text(1000)]));
  assert.deepEqual(members[0], members[1]);
  assert.deepEqual([...members[0]!.subarray(0, 10)], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
});

test('zstd frames have content size, checksum and the id of their dictionary', async () => {
  for (const bytes of [0, 10, 300, 70_000, 200_000]) {
    for (const options of [{ coding: 'zstd' }, { coding: 'zstd', dictionary }] as const) {
      const encoder = new MemberEncoder(options);
      for (const member of [encoder.encode([text(bytes)]), await encodeStream(encoder, [text(bytes)])]) {
        const frame = Buffer.from(member);
        const head = parseFrameHead(frame, 0, frame.length);
        assert.ok(typeof head === 'object');
        assert.ok(head.hasChecksum);
        const isIdNeeded = 'dictionary' in options;
        assert.equal(head.dictionaryId, isIdNeeded ? 40_000 : 0);
        const descriptor = frame[4]!;
        const hasSize = (descriptor & 0x20) !== 0 || descriptor >> 6 !== 0;
        assert.ok(hasSize, `${bytes} bytes: the frame does not say how long its content is`);
      }
      encoder.close();
    }
  }
});

test('a zstd record is one frame, even when it exactly fills the buffer of the encoder', async () => {
  // Incompressible data grows by the frame's head, its checksum and 3 bytes per block, so one of the records below
  // fills each buffer size exactly.
  const frameBytesMax = (bytes: number) => bytes + 13 + 3 * Math.ceil(bytes / 131_072);
  for (const around of [65_536, 131_072, 262_144, 524_288]) {
    const encoder = new MemberEncoder({ coding: 'zstd' });
    const block = noise(around + 8);
    for (let bytes = around - 26; bytes < around; bytes++) {
      const frame = encoder.encode([block.subarray(0, bytes)]);
      assert.ok(frame.length <= frameBytesMax(bytes), `${bytes} bytes became ${frame.length}`);
    }
    const streamed = await encodeStream(encoder, [block.subarray(0, around - 20), block.subarray(around - 20)]);
    assert.ok(streamed.length <= frameBytesMax(block.length));
    encoder.close();
  }
});

test('a file with a dictionary begins with the dictionary as a zstd frame, which every reader accepts', () => {
  const encoder = new MemberEncoder({ coding: 'zstd', dictionary });
  const start = Buffer.from(encoder.fileStart());
  assert.equal(start.readUInt32LE(0), 0x184d2a5d);
  assert.equal(start.readUInt32LE(4), start.length - 8);
  assert.deepEqual(start.subarray(8, 12), Buffer.from([0x28, 0xb5, 0x2f, 0xfd]));
  assert.deepEqual(zstdDecompressSync(start.subarray(8)), Buffer.from(dictionary));
  const found = dictionaryOfFile(start);
  assert.ok(Buffer.isBuffer(found) && found.equals(dictionary));
  for (const coding of ['none', 'gzip', 'zstd'] as const) {
    assert.equal(new MemberEncoder({ coding }).fileStart().length, 0);
  }
});

test('only zstd takes a dictionary', () => {
  assert.throws(() => new MemberEncoder({ coding: 'gzip', dictionary }), /bug in Pinakes/);
});
