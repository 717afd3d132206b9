import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { utf8 } from '../../base/index.ts';
import { parseHttpHead } from '../../warc/index.ts';
import { BodyFraming } from './body-framing.ts';

function framingOf(head: string): BodyFraming {
  return new BodyFraming(parseHttpHead(utf8(`${head}\r\n\r\n`)));
}

test('statuses without a body end at once', () => {
  for (const status of [101, 204, 304]) assert.ok(framingOf(`HTTP/1.1 ${status} x\r\nContent-Length: 5`).isComplete);
});

test('a body with a Content-Length takes this many bytes, and leaves the bytes behind them', () => {
  const framing = framingOf('HTTP/1.1 200 OK\r\nContent-Length: 5');
  assert.equal(framing.take(utf8('abc')), 3);
  assert.ok(!framing.isComplete);
  assert.equal(framing.take(utf8('defgh')), 2);
  assert.ok(framing.isComplete && !framing.endsWithConnection);
});

test('a body whose declared lengths differ ends when the connection closes', () => {
  for (const fields of ['Content-Length: 3\r\nContent-Length: 8', 'Content-Length: 3, 8', 'Content-Length: 3, x']) {
    const framing = framingOf(`HTTP/1.1 200 OK\r\n${fields}`);
    assert.equal(framing.take(utf8('anything')), 8);
    assert.ok(!framing.isComplete && framing.endsWithConnection);
  }
  for (const fields of ['Content-Length: 3\r\ncontent-length: 03', 'Content-Length: 3, 3']) {
    const framing = framingOf(`HTTP/1.1 200 OK\r\n${fields}`);
    assert.equal(framing.take(utf8('anything')), 3);
    assert.ok(framing.isComplete);
  }
});

test('a body without a length ends when the connection closes', () => {
  const framing = framingOf('HTTP/1.0 200 OK');
  assert.equal(framing.take(utf8('anything')), 8);
  assert.ok(!framing.isComplete && framing.endsWithConnection);
});

test('chunks are read to the end of the trailer fields, however the bytes are split', () => {
  const body = '5;a=b\r\nhello\r\nA\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n';
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 60 }), (sizes) => {
      const framing = framingOf('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3');
      const bytes = utf8(`${body}HTTP/1.1 200 next`);
      let at = 0;
      let taken = 0;
      for (let round = 0; at < bytes.length; round++) {
        const piece = bytes.subarray(at, at + sizes[round % sizes.length]!);
        taken += framing.take(piece);
        at += piece.length;
      }
      assert.ok(framing.isComplete);
      assert.equal(taken, body.length);
    }),
  );
});

test('a body that is wrongly declared chunked ends when the connection closes', () => {
  const framing = framingOf('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked');
  assert.equal(framing.take(utf8('<html>\r\n')), 8);
  assert.ok(framing.endsWithConnection);
  assert.equal(framing.take(utf8('more')), 4);
});

test('a chunk size may begin with any number of zeros', () => {
  const body = utf8('000000000000000005\r\nhello\r\n0000000000000000\r\n\r\n');
  const framing = framingOf('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked');
  assert.equal(framing.take(body), body.length);
  assert.ok(framing.isComplete && !framing.endsWithConnection);
});

test('trailer fields are part of a body, until TRAILER_BYTES_MAX ends it', () => {
  const framing = framingOf('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked');
  assert.equal(framing.take(utf8('1\r\nx\r\n0\r\n')), 9);
  const field = utf8('X-Trailer: more\r\n');
  let taken = 0;
  for (let count = 0; count < 10_000 && !framing.isOverlong; count++) taken += framing.take(field);
  assert.ok(framing.isOverlong && !framing.isComplete && !framing.endsWithConnection);
  assert.ok(taken > 60_000 && taken < 70_000, `${taken} bytes`);
  assert.equal(framing.take(field), 0);
});
