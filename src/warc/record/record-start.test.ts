import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWarcHead, isWarcStart, lineEnds, looksLikeRecord, parseArcLine } from './record-start.ts';

const bytes = (text: string) => Buffer.from(text, 'latin1');
const whole = (judge: (b: Uint8Array, at: number, end: number) => boolean, text: string) =>
  judge(bytes(text), 0, text.length);

test('a WARC record begins with its version line', () => {
  for (const text of ['WARC/1.0\r\n', 'WARC/1.1\n', 'warc/0.17\r\n', 'WARC/10.22\r\n', 'WARC/1']) {
    assert.ok(whole(isWarcStart, text), text);
  }
  for (const text of ['WARC/\r\n', 'WARC/1.0 x', 'WARC/one', 'WARC', 'XWARC/1.0', 'WARC-1.0']) {
    assert.ok(!whole(isWarcStart, text), text);
  }
});

test('blanks may follow the version when a field comes next', () => {
  for (const text of ['WARC/1.0 \r\nWARC-', 'WARC/1.1\t \nConte', 'WARC/1.0 \r\nwarc-type: response']) {
    assert.ok(whole(isWarcStart, text), text);
  }
  for (const text of ['WARC/1.0 \r\n', 'WARC/1.0 \r\nthis', 'WARC/ 1.0\r\nWARC-', 'WARC/1.0 1\r\nWARC-']) {
    assert.ok(!whole(isWarcStart, text), text);
  }
  assert.ok(whole(isWarcHead, 'WARC/1.0 \r\nWARC-Type: response'));
});

test('inside a line, a field must follow the version', () => {
  assert.ok(whole(isWarcHead, 'WARC/1.0\r\nWARC-Type: response'));
  assert.ok(whole(isWarcHead, 'WARC/1.0\ncontent-length: 4'));
  assert.ok(!whole(isWarcHead, 'WARC/1.0\r\nis a format'));
  assert.ok(!whole(isWarcHead, 'WARC/1.0'));
});

test('an ARC head is parsed from the right', () => {
  assert.deepEqual(parseArcLine('http://a.test/x y 192.0.2.1 20240301100000 text/html 57'), {
    url: 'http://a.test/x y',
    address: '192.0.2.1',
    timestamp: '20240301100000',
    mime: 'text/html',
    status: undefined,
    length: 57,
    version: 1,
  });
  const second = parseArcLine('http://a.test/ 192.0.2.1 20240301100000 text/html 200 - - 0 a.arc 57');
  assert.deepEqual([second?.version, second?.status, second?.length], [2, '200', 57]);
  assert.equal(
    parseArcLine('http://a.test/ 192.0.2.1 20240301100000 text/html 200 - - 0 a.arc 57')?.url,
    'http://a.test/',
  );
  for (const line of [
    'no url 192.0.2.1 20240301100000 text/html 57',
    'http://a.test/ 57',
    '',
    'http://a.test/ x y z 5',
  ]) {
    assert.equal(parseArcLine(line), undefined, line);
  }
});

test('an ARC head may have blanks in its type, and a day as its date', () => {
  const spaced = parseArcLine('http://a.test/x y 192.0.2.1 20240301100000 text/html; charset=utf-8 57');
  assert.deepEqual(
    [spaced?.url, spaced?.timestamp, spaced?.mime, spaced?.length],
    ['http://a.test/x y', '20240301100000', 'text/html; charset=utf-8', 57],
  );
  const second = parseArcLine('http://a.test/ 192.0.2.1 20240301100000 text/html; charset=x 200 - - 0 a.arc 57');
  assert.deepEqual([second?.version, second?.mime, second?.status], [2, 'text/html; charset=x', '200']);
  const day = parseArcLine('http://a.test/ 192.0.2.1 20240301 text/html 57');
  assert.deepEqual([day?.timestamp, day?.mime], ['20240301', 'text/html']);
  for (const line of ['note: at 20240301100000 it was seen 57', 'note: of 12345678 text/html 57'])
    assert.equal(parseArcLine(line), undefined, line);
});

test('a line of any length is judged in bounded time', () => {
  const line = `http://a.test/ ${'x 1 20240301100000 - '.repeat(3000)}`;
  const started = process.cpuUsage().user;
  assert.equal(parseArcLine(line), undefined);
  assert.equal(parseArcLine(`http://a.test/ ${'x 20240301100000 a/b c 1 '.repeat(2500)}`), undefined);
  assert.ok(process.cpuUsage().user - started < 2_000_000, 'more than two seconds');
});

test('both kinds of record are distinguished from other bytes', () => {
  assert.ok(whole(looksLikeRecord, 'WARC/1.0\r\n'));
  assert.ok(whole(looksLikeRecord, 'http://a.test/ 192.0.2.1 20240301100000 text/html 57\r\n'));
  assert.ok(whole(looksLikeRecord, `http://a.test/${'x'.repeat(600)}`));
  assert.ok(!whole(looksLikeRecord, 'http://a.test/ is a page\n'));
  assert.ok(!whole(looksLikeRecord, ''));
  assert.equal(lineEnds(bytes('\r\n\r\nx\n'), 0, 6), 4);
});
