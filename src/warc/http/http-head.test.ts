import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HTTP_HEAD_BYTES_MAX } from '../../base/index.ts';
import { httpHeadLength, type MessageKind, parseHttpHead } from './http-head.ts';

const parse = (text: string, encoding: BufferEncoding = 'latin1') => parseHttpHead(Buffer.from(text, encoding));
const length = (text: string, kind: MessageKind = 'response', isWhole = true) =>
  httpHeadLength(Buffer.from(text, 'latin1'), kind, isWhole);

test('a response head is read with status and fields', () => {
  const head = parse('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Two:  b \r\n\r\n');
  assert.equal(head.startLine, 'HTTP/1.1 200 OK');
  assert.equal(head.status, 200);
  assert.equal(head.get('content-type'), 'text/html');
  assert.equal(head.get('x-two'), 'b');
  assert.equal(head.get('x-three'), undefined);
});

test('odd status lines of real archives are understood', () => {
  for (const line of ['HTTP 404', 'http/1.1 404 Not Found', 'HTTP/1.0 404', 'HTTP/2 404', 'HTTP/1.1  404  x']) {
    assert.equal(parse(`${line}\r\n\r\n`).status, 404, line);
    assert.ok(length(`${line}\r\n\r\n`) > 0, line);
  }
  assert.equal(parse('HTTP/1.1 OK\r\n\r\n').status, undefined);
  assert.equal(parse('GET / HTTP/1.1\r\n\r\n').status, undefined);
});

test('the method of a request is read', () => {
  assert.equal(parse('POST /x HTTP/1.1\r\n\r\n').method, 'POST');
  assert.equal(parse('M-SEARCH * HTTP/1.1\r\n\r\n').method, 'M-SEARCH');
});

test('LF alone, folded lines, a space before the colon and lines that are not fields are accepted', () => {
  const head = parse('HTTP/1.1 200 OK\nA : 1\nB: one\n two\nnonsense\nC:\n\nbody');
  assert.deepEqual(head.fields, [
    { name: 'A', value: '1' },
    { name: 'B', value: 'one two' },
    { name: 'C', value: '' },
  ]);
});

test('values are read as UTF-8 if they are valid UTF-8, else as Latin-1', () => {
  assert.equal(parse('HTTP/1.1 200 OK\r\nX: caf\u00e9\r\n\r\n', 'utf8').get('x'), 'caf\u00e9');
  assert.equal(parse('HTTP/1.1 200 OK\r\nX: caf\u00e9\r\n\r\n', 'latin1').get('x'), 'caf\u00e9');
});

test('non-ASCII bytes of a Location that is not UTF-8 are percent-encoded as in browsers, except in the host', () => {
  const location = (value: string) => parse(`HTTP/1.1 302 Found\r\nLocation: ${value}\r\n\r\n`).get('location');
  assert.equal(location('/caf\u00e9?q=\u00fc'), '/caf%E9?q=%FC');
  assert.equal(location('http://b\u00fccher.example/\u00fc'), 'http://b\u00fccher.example/%FC');
  // The Location is UTF-8, but another field is not.
  assert.equal(location('/caf\u00c3\u00a9\r\nX: \u00e9'), '/caf%C3%A9');
});

test('a body is chunked if any of its transfer codings is chunked', () => {
  const chunked = (fields: string) => parse(`HTTP/1.1 200 OK\r\n${fields}\r\n\r\n`).isChunked;
  assert.ok(chunked('Transfer-Encoding: chunked'));
  assert.ok(chunked('transfer-encoding: gzip, Chunked'));
  assert.ok(chunked('Transfer-Encoding: identity\r\nTransfer-Encoding: chunked'));
  assert.ok(!chunked('Transfer-Encoding: identity'));
  assert.ok(!chunked('Transfer-Encoding: notchunked'));
  assert.ok(!chunked('Content-Encoding: chunked'));
});

test('codings are listed in the order in which they were applied, content codings before transfer codings', () => {
  const codings = (fields: string) => parse(`HTTP/1.1 200 OK\r\n${fields}\r\n\r\n`).contentCodings;
  assert.deepEqual(codings('Content-Encoding: GZIP'), ['gzip']);
  assert.deepEqual(codings('Content-Encoding: br, gzip'), ['br', 'gzip']);
  assert.deepEqual(codings('Content-Encoding: br\r\nContent-Encoding: gzip'), ['br', 'gzip']);
  assert.deepEqual(codings('Transfer-Encoding: gzip, chunked\r\nContent-Encoding: br'), ['br', 'gzip']);
  assert.deepEqual(codings('Content-Encoding: identity'), []);
  assert.deepEqual(codings('Content-Encoding: ,'), []);
});

test('the length of a head is returned, or 0 when there is no head', () => {
  assert.equal(length('HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody'), 25);
  assert.equal(length('HTTP/1.1 200 OK\nA: b\n\nbody'), 22);
  assert.equal(length('ICY 200 OK\r\n\r\n'), 14);
  assert.equal(length('<html>'), 0);
  assert.equal(length(''), 0);
  assert.equal(length('GET / HTTP/1.1\r\n\r\n', 'request'), 18);
  assert.equal(length('\x16\x03\x01', 'request'), 0);
  assert.equal(length('HTTP/1.1 200 OK\r\naccept: a\r\n\r\n', 'request'), 30);
});

test('text and requests are not parsed as a response', () => {
  assert.equal(length('Once upon a time\r\n\r\nthere was'), 0);
  assert.equal(length('GET / HTTP/1.1\r\n\r\n', 'response'), 0);
});

test('a head without an end is the whole message, unless it is longer than the limit', () => {
  assert.equal(length('HTTP/1.1 200 OK\r\nA: b\r\n'), 23);
  assert.equal(length('HTTP/1.1 200 OK\r\nA: b\r\n', 'response', false), -1);
  const endless = `HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(HTTP_HEAD_BYTES_MAX / 6)}`;
  assert.equal(length(endless, 'response', false), 0);
});

test('the length of a head does not change when more bytes arrive', () => {
  const texts = fc.oneof(
    fc.constantFrom(
      'HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody',
      'HTTPS',
      'GET /a HTTP/1.1\n\nx',
      'icy 2',
      'http 2\n\n',
      'GET\t/',
    ),
    fc.string({ maxLength: 60 }),
  );
  fc.assert(
    fc.property(texts, fc.constantFrom<MessageKind>('request', 'response'), (text, kind) => {
      const whole = length(text, kind, true);
      for (let end = 0; end <= text.length; end++) {
        const early = length(text.slice(0, end), kind, false);
        if (early >= 0) assert.equal(early, whole, `after ${end} characters`);
      }
    }),
  );
});
