import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  inflateRawSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import fc from 'fast-check';
import {
  brotliDecompressHandle,
  type CodecHandle,
  decodePrefix,
  deflateRawHandle,
  inflateHandle,
  inflateRawHandle,
  zstdCompressHandle,
  zstdDecompressHandle,
} from './codec-handle.ts';

const DECODERS: readonly [name: string, encode: (bytes: Uint8Array) => Buffer, open: () => CodecHandle][] = [
  ['raw deflate', deflateRawSync, inflateRawHandle],
  ['zlib', deflateSync, inflateHandle],
  ['brotli', brotliCompressSync, brotliDecompressHandle],
  ['zstd', zstdCompressSync, () => zstdDecompressHandle({})],
];

/** Runs the engine over the input, with this much input and room in each call. */
function run(engine: CodecHandle, input: Uint8Array, inputBytes: number, room: number, flush?: number): Buffer {
  const parts: Buffer[] = [];
  const output = new Uint8Array(room);
  let at = 0;
  for (;;) {
    const end = Math.min(input.length, at + inputBytes);
    const isLast = end === input.length;
    engine.write(input, at, end, output, 0, room, isLast ? flush : undefined);
    assert.equal(engine.failure, undefined);
    at += engine.consumed;
    parts.push(Buffer.from(output.subarray(0, engine.produced)));
    if (isLast && at === input.length && engine.produced < room) return Buffer.concat(parts);
    if (engine.consumed === 0 && engine.produced === 0) return Buffer.concat(parts);
  }
}

const bytesOf = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc
    .array(fc.constantFrom('archive ', 'record ', '<p>'), { maxLength: 500 })
    .map((words) => Buffer.from(words.join(''))),
);

for (const [name, encode, open] of DECODERS) {
  test(`${name} decodes what the public functions encode, whatever the sizes of input and room`, () => {
    fc.assert(
      fc.property(bytesOf, fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 400 }), (bytes, input, room) => {
        const engine = open();
        assert.deepEqual(run(engine, encode(bytes), input, room), Buffer.from(bytes));
        engine.close();
      }),
    );
  });

  test(`${name} reports a failure`, () => {
    const engine = open();
    const output = new Uint8Array(1000);
    const garbage = Buffer.alloc(100, 0xfe);
    engine.write(garbage, 0, garbage.length, output, 0, output.length);
    assert.equal(typeof engine.failure, 'string');
    assert.deepEqual([engine.consumed, engine.produced], [0, 0]);
    engine.close();
  });

  test(`${name} stops at the end of its stream and leaves the following bytes`, () => {
    const engine = open();
    const coded = encode(Buffer.from('one'));
    const output = new Uint8Array(100);
    engine.write(Buffer.concat([coded, coded]), 0, 2 * coded.length, output, 0, output.length);
    assert.deepEqual([engine.consumed, engine.produced, engine.failure], [coded.length, 3, undefined]);
    engine.close();
  });

  test(`${name} decodes everything before a fault`, () => {
    const text = Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * i * 7) & 0xff));
    const coded = encode(text);
    for (let cut = 1; cut < coded.length; cut += 97) {
      const parts: Buffer[] = [];
      decodePrefix(open, coded.subarray(0, cut), 0, cut, 0, (bytes) => parts.push(Buffer.from(bytes)));
      const all = Buffer.concat(parts);
      assert.ok(text.subarray(0, all.length).equals(all), `cut at ${cut}`);
      const rest: Buffer[] = [];
      const known = Math.floor(all.length / 3);
      decodePrefix(open, coded.subarray(0, cut), 0, cut, known, (bytes) => rest.push(Buffer.from(bytes)));
      assert.ok(Buffer.concat(rest).equals(all.subarray(known)), `cut at ${cut}, ${known} bytes known`);
    }
  });
}

test('deflate encodes what the public functions decode, engine after engine', () => {
  const engine = deflateRawHandle({ level: 6 });
  fc.assert(
    fc.property(bytesOf, fc.integer({ min: 20, max: 400 }), (bytes, room) => {
      engine.reset();
      const coded = run(engine, bytes, bytes.length + 1, room, constants.Z_FINISH);
      assert.deepEqual(inflateRawSync(coded), Buffer.from(bytes));
    }),
  );
  engine.close();
});

test('zstd encodes what the public functions decode, frame after frame', () => {
  const engine = zstdCompressHandle({ params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  const room = new Uint8Array(100_000);
  fc.assert(
    fc.property(bytesOf, (bytes) => {
      engine.write(bytes, 0, bytes.length, room, 0, room.length, constants.ZSTD_e_end);
      assert.equal(engine.consumed, bytes.length);
      assert.deepEqual(zstdDecompressSync(room.subarray(0, engine.produced)), Buffer.from(bytes));
    }),
  );
  engine.close();
});

test('a deflate engine decodes again after a failure, once reset', () => {
  const engine = inflateRawHandle();
  const output = new Uint8Array(100);
  engine.write(Buffer.alloc(10, 0xff), 0, 10, output, 0, output.length);
  assert.notEqual(engine.failure, undefined);
  engine.reset();
  assert.equal(run(engine, deflateRawSync('again'), 100, 100).toString(), 'again');
  engine.close();
});

test('an engine can be closed twice', () => {
  const engine = inflateRawHandle();
  engine.close();
  engine.close();
});

test('a closed engine is reset for its next user, a failed engine is not reused, and no engine has two users', () => {
  const scroll = Buffer.from('a scroll, and a scroll, and a scroll');
  const encoded = deflateRawSync(scroll);
  const output = new Uint8Array(100);
  for (const input of [encoded.subarray(0, 5), Buffer.from([0xff, 0xff, 0xff])]) {
    const first = inflateRawHandle();
    first.write(input, 0, input.length, output, 0, output.length);
    assert.equal(first.failure !== undefined, input[0] === 0xff);
    first.close();
    first.close();
    const engines = [inflateRawHandle(), inflateRawHandle()];
    for (const engine of engines) engine.write(encoded, 0, 5, output, 0, output.length);
    for (const engine of engines) {
      engine.reset();
      assert.deepEqual(run(engine, encoded, 7, 10), scroll);
    }
    assert.throws(() => first.write(encoded, 0, 5, output, 0, output.length), /closed engine is not used/);
    assert.throws(() => first.reset(), /closed engine is not used/);
    for (const engine of engines) engine.close();
  }
});
