import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ByteWindow } from './byte-window.ts';

const textOf = (window: ByteWindow, from: number, to: number) =>
  window.buffer.toString('latin1', window.indexOfPosition(from), window.indexOfPosition(to));

test('bytes are found by their position in the stream', () => {
  const window = new ByteWindow(100, 4);
  window.push(Buffer.from('abcdef'));
  window.consume(2);
  assert.deepEqual([window.position, window.endPosition, window.available], [102, 106, 4]);
  window.push(Buffer.from('ghijklmnop'));
  assert.equal(textOf(window, 100, 116), 'abcdefghijklmnop');
  window.seek(101);
  assert.equal(window.position, 101);
});

test('seeking to dropped bytes is a bug', () => {
  const window = new ByteWindow(0, 4);
  window.push(Buffer.from('abcdef'));
  window.consume(4);
  window.retainFrom(2, 100);
  assert.equal(window.keptPosition, 2);
  window.seek(2);
  assert.throws(() => window.seek(1), /bug in Pinakes/);
  assert.throws(() => window.seek(7), /bug in Pinakes/);
  assert.throws(() => window.consume(5), /bug in Pinakes/);
});

test('no more bytes are kept than requested', () => {
  const window = new ByteWindow(0, 4);
  window.push(Buffer.alloc(100));
  window.consume(90);
  window.retainFrom(0, 10);
  assert.equal(window.keptPosition, 80);
});

test('memory stays constant however much passes through', () => {
  const window = new ByteWindow(0, 1000);
  for (let i = 0; i < 10_000; i++) {
    window.push(Buffer.alloc(300));
    window.consume(window.available);
    window.retainFrom(0, 500);
  }
  assert.equal(window.position, 3_000_000);
  assert.ok(window.buffer.length < 4000, `${window.buffer.length} bytes`);
});

test('any sequence of operations agrees with a plain stream', () => {
  const operations = fc.array(
    fc.oneof(
      fc.record({ push: fc.uint8Array({ maxLength: 30 }) }),
      fc.record({ consume: fc.nat(40) }),
      fc.record({ back: fc.nat(40) }),
      fc.record({ retain: fc.nat(40), most: fc.nat(20) }),
    ),
  );
  fc.assert(
    fc.property(operations, fc.nat(1000), (list, start) => {
      const window = new ByteWindow(start, 8);
      let stream = Buffer.alloc(0);
      let read = start;
      for (const operation of list) {
        if ('push' in operation) {
          window.push(operation.push);
          stream = Buffer.concat([stream, operation.push]);
        } else if ('consume' in operation) {
          const bytes = Math.min(operation.consume, window.available);
          window.consume(bytes);
          read += bytes;
        } else if ('back' in operation) {
          read = Math.max(window.keptPosition, read - operation.back);
          window.seek(read);
        } else {
          window.retainFrom(read - operation.retain, operation.most);
          assert.ok(window.keptPosition <= read);
        }
        assert.equal(window.position, read);
        assert.equal(window.endPosition, start + stream.length);
        const kept = window.keptPosition;
        assert.equal(textOf(window, kept, window.endPosition), stream.toString('latin1', kept - start));
      }
    }),
  );
});
