import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ChunkedBody, onlyChunk } from './chunked-body.ts';

function payloadOf(pieces: readonly Uint8Array[]): { payload: string; broken: boolean } {
  const parts: Buffer[] = [];
  const body = new ChunkedBody((bytes) => parts.push(Buffer.from(bytes)));
  for (const piece of pieces) body.push(piece);
  body.end();
  return { payload: Buffer.concat(parts).toString('latin1'), broken: body.isBroken };
}

const read = (text: string) => payloadOf([Buffer.from(text, 'latin1')]);

test('chunk framing is removed', () => {
  assert.deepEqual(read('d\r\n<p>hello</p>\n\r\n0\r\n\r\n'), { payload: '<p>hello</p>\n', broken: false });
  assert.deepEqual(read('3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n'), { payload: 'abcde', broken: false });
  assert.deepEqual(read('0\r\n\r\n'), { payload: '', broken: false });
});

test('extensions, trailers, LF alone, blanks and leading zeros are accepted', () => {
  assert.deepEqual(read('3;name="a;b"\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n'), { payload: 'abc', broken: false });
  assert.deepEqual(read('3\nabc\n0\n\n'), { payload: 'abc', broken: false });
  assert.deepEqual(read('0003  \r\nabc\r\n000\r\n\r\n'), { payload: 'abc', broken: false });
  assert.deepEqual(read(`${'0'.repeat(20)}3\r\nabc\r\n${'0'.repeat(20)}\r\n\r\n`), { payload: 'abc', broken: false });
  assert.deepEqual(read('A\r\n0123456789\r\n0\r\n'), { payload: '0123456789', broken: false });
});

test('a body without framing is kept unchanged', () => {
  assert.deepEqual(read('<html>\n</html>\n'), { payload: '<html>\n</html>\n', broken: true });
  assert.deepEqual(read('short'), { payload: 'short', broken: true });
  assert.deepEqual(read('\r\nabc'), { payload: '\r\nabc', broken: true });
});

test('from the first line that is not a size, the rest is kept unchanged', () => {
  assert.deepEqual(read('3\r\nabc\r\nzz\r\nrest'), { payload: 'abczz\r\nrest', broken: true });
  assert.deepEqual(read('2\r\nabc\r\n0\r\n\r\n'), { payload: 'abc\r\n0\r\n\r\n', broken: true });
  const long = `3\r\nabc\r\n${'f'.repeat(300)}`;
  assert.deepEqual(read(long), { payload: `abc${'f'.repeat(300)}`, broken: true });
});

test('a body that was cut off gives its data without framing', () => {
  const whole = '5\r\nhello\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n';
  const payload = 'helloabcdefghijklmnopqrstuvwxyz';
  const ended = whole.indexOf('\r\n0\r\n') + 5;
  // An incomplete first size line cannot be recognised as a size line.
  for (let end = 3; end < whole.length; end++) {
    const got = read(whole.slice(0, end));
    assert.ok(payload.startsWith(got.payload), `cut at ${end}: ${got.payload}`);
    assert.equal(got.broken, end < ended, `cut at ${end}`);
  }
});

test('the data of many small chunks is emitted in few pieces, in order with large chunks', () => {
  const letter = (at: number) => String.fromCharCode(97 + (at % 26));
  const small = (count: number) => Array.from({ length: count }, (_, at) => `1\r\n${letter(at)}\r\n`).join('');
  const large = 'L'.repeat(5000);
  const body = Buffer.from(`${small(40_000)}1388\r\n${large}\r\n${small(3)}5\r\nhello\r\n0\r\n\r\n`);
  const pieces: string[] = [];
  const chunked = new ChunkedBody((bytes) => pieces.push(Buffer.from(bytes).toString()));
  chunked.push(body);
  chunked.end();
  const letters = Array.from({ length: 40_000 }, (_, at) => letter(at)).join('');
  assert.equal(pieces.join(''), `${letters}${large}abchello`);
  assert.equal(pieces.length, 5);
});

test('an empty body is not broken', () => {
  assert.deepEqual(read(''), { payload: '', broken: false });
});

const chunkedBodies = fc
  .array(fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 50 }), fc.constantFrom('', ';x=1', ' ')), { maxLength: 6 })
  .map((chunks) => ({
    payload: Buffer.concat(chunks.map(([data]) => data)).toString('latin1'),
    framed: Buffer.concat([
      ...chunks.flatMap(([data, extension]) => [
        Buffer.from(`${data.length.toString(16)}${extension}\r\n`),
        Buffer.from(data),
        Buffer.from('\r\n'),
      ]),
      Buffer.from('0\r\n\r\n'),
    ]),
  }));

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const size of sizes) pieces.push(bytes.subarray(at, (at += size)));
  return [...pieces, bytes.subarray(at)];
}

test('a framed body is unframed from pieces of any size', () => {
  fc.assert(
    fc.property(chunkedBodies, fc.array(fc.nat(20)), ({ payload, framed }, sizes) => {
      assert.deepEqual(payloadOf(cut(framed, sizes)), { payload, broken: false });
    }),
  );
});

test('damaged framing gives the same result for pieces of any size', () => {
  const damaged = fc.tuple(chunkedBodies, fc.nat(300), fc.uint8Array({ maxLength: 5 }), fc.nat(300));
  fc.assert(
    fc.property(damaged, fc.array(fc.nat(20)), ([{ framed }, at, put, end], sizes) => {
      const bytes = Buffer.concat([framed.subarray(0, at), put, framed.subarray(at)]).subarray(0, end);
      assert.deepEqual(payloadOf(cut(bytes, sizes)), payloadOf([bytes]));
      assert.deepEqual(payloadOf(cut(bytes, Array(bytes.length).fill(1))), payloadOf([bytes]));
    }),
  );
});

test('a body of a single chunk is recognised and gives the same data as a ChunkedBody', () => {
  assert.equal(Buffer.from(onlyChunk(Buffer.from('3\r\nabc\r\n0\r\n\r\n'))!).toString(), 'abc');
  assert.equal(Buffer.from(onlyChunk(Buffer.from('00A\r\n0123456789\r\n0\r\nX: y\r\n\r\n'))!).toString(), '0123456789');
  for (const other of [
    '',
    '3',
    '3\r\nabc',
    '3\r\nabc\r\n',
    '3\r\nabc\r\n0',
    '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n',
    '0\r\n\r\n',
  ])
    assert.equal(onlyChunk(Buffer.from(other)), undefined, JSON.stringify(other));
  const piece = fc.constantFrom('0', '1', '2', 'a', 'G', '\r\n', '\r', '\n', 'xy', ';', ' ');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('');
      const only = onlyChunk(Buffer.from(text));
      if (only) assert.deepEqual(read(text), { payload: Buffer.from(only).toString('latin1'), broken: false });
    }),
    { numRuns: 3000 },
  );
});
