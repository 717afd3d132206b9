import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type BlockEntry, blockRowKey, prefixOf, prefixOfRowKey, readBlockRow, writeBlockRow } from './block-codec.ts';
import { DamagedRow, RowWriter } from './row-bytes.ts';

const anyDigest = fc.uint8Array({ minLength: 32, maxLength: 32 });
const number = fc.oneof(fc.nat(3), fc.maxSafeNat());
const place = fc.record({ segment: number, offset: number, length: number }, { noNullPrototype: true });
const held = fc.option(fc.record({ size: number, holder: place, references: number }, { noNullPrototype: true }), {
  nil: undefined,
});

function entries(digest: Uint8Array): fc.Arbitrary<BlockEntry[]> {
  const key = fc.record({ digest: fc.constant(digest), overflow: number }, { noNullPrototype: true });
  const entry = fc.record({ key, slot: number, held, captures: number, aliases: number }, { noNullPrototype: true });
  return fc.array(entry, { maxLength: 4 });
}

test('the entries of a row are read as they were written', () => {
  fc.assert(
    fc.property(
      anyDigest.chain((digest) => entries(digest).map((list) => ({ digest, list }))),
      ({ digest, list }) => {
        const writer = new RowWriter();
        writeBlockRow(writer, list);
        assert.deepEqual(readBlockRow(prefixOf(digest), writer.finish()), list);
        assert.equal(prefixOfRowKey(blockRowKey(prefixOf(digest))), prefixOf(digest));
      },
    ),
  );
});

test('any bytes are read as a row or as damage', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      try {
        readBlockRow(7, bytes);
      } catch (error) {
        assert.ok(error instanceof DamagedRow, String(error));
      }
    }),
  );
});
