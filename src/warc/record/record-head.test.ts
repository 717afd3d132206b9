import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arcHead, type HeadFault, headEnd, parseWarcHead, unbracketed } from './record-head.ts';
import { parseArcLine } from './record-start.ts';

function parse(text: string): { head: ReturnType<typeof parseWarcHead>; faults: string[] } {
  const faults: HeadFault[] = [];
  const head = parseWarcHead(Buffer.from(text), faults);
  return { head, faults: faults.map(({ code }) => code) };
}

const SOUND = [
  'WARC/1.1',
  'WARC-Type: Response',
  'warc-record-id: <urn:uuid:1>',
  'WARC-Date: 2024-03-01T10:00:00Z',
  'WARC-Target-URI: <http://example.test/caf\u00e9>',
  'WARC-Concurrent-To: <urn:uuid:2>',
  'WARC-Concurrent-To: <urn:uuid:3>',
  'Content-Length: 10',
  '',
  '',
].join('\r\n');

test('fields are found in any case, keep order and spelling, and repeated fields are all kept', () => {
  const { head, faults } = parse(SOUND);
  assert.equal(head.type, 'response');
  assert.equal(head.recordId, '<urn:uuid:1>');
  assert.equal(head.contentLength, 10);
  assert.equal(head.time, Date.parse('2024-03-01T10:00:00Z'));
  assert.deepEqual(head.getAll('warc-concurrent-to'), ['<urn:uuid:2>', '<urn:uuid:3>']);
  assert.equal(head.fields[1]!.name, 'warc-record-id');
  assert.equal(Buffer.from(head.bytes).toString(), SOUND);
  assert.deepEqual(faults, ['target-uri-bracketed']);
});

test('brackets are removed from a target URI, and its letters are read as UTF-8', () => {
  const { head } = parse(SOUND);
  assert.equal(head.targetUri, 'http://example.test/caf\u00e9');
  assert.equal(head.get('warc-target-uri'), '<http://example.test/caf\u00e9>');
  assert.equal(unbracketed('<half'), '<half');
});

test('each value is read as UTF-8 if it is valid, else as Latin-1, so that different bytes stay different', () => {
  const lines = [
    'WARC/1.1',
    'WARC-Target-URI: <http://example.test/caf\xe9>',
    'X: caf\xc3\xa9',
    'Y: \xe9\xc3\xa9',
    '',
    '',
  ];
  const bytes = Buffer.from(lines.join('\r\n'), 'latin1');
  const head = parseWarcHead(bytes, []);
  assert.equal(head.targetUri, 'http://example.test/caf\u00e9');
  assert.equal(head.get('x'), 'caf\u00e9');
  assert.equal(head.get('y'), '\u00e9\u00c3\u00a9');
  assert.equal(head.isUtf8, false);
  const { head: sound } = parse(SOUND);
  assert.equal(sound.isUtf8, true);
});

test('the URL of an ARC record is read as UTF-8 if it is valid, else as Latin-1', () => {
  const arc = (url: string) => {
    const text = `${url} 192.0.2.1 20240301100000 text/html 5`;
    return arcHead(parseArcLine(text)!, '1', Buffer.from(`${text}\n`, 'latin1'), []);
  };
  const utf8 = arc('http://example.test/caf\xc3\xa9 au lait');
  assert.equal(utf8.targetUri, 'http://example.test/caf\u00e9 au lait');
  const latin1 = arc('http://example.test/caf\xe9');
  assert.equal(latin1.targetUri, 'http://example.test/caf\u00e9');
});

test('folded lines are joined with one blank, and a head of only folded lines is read quickly', () => {
  const { head } = parse('WARC/1.1\r\nX: one\r\n  two\r\n\tthree  \r\n \r\nY:\r\n z\r\n\r\n');
  assert.equal(head.get('x'), 'one two three');
  assert.equal(head.get('y'), 'z');
  const started = process.cpuUsage().user;
  const long = parse(`WARC/1.1\r\nX: a\r\n${' b\n'.repeat(340_000)}\r\n`);
  assert.equal(long.head.get('x')!.length, 680_001);
  assert.ok(process.cpuUsage().user - started < 5_000_000, 'more than five seconds');
});

test('a CR inside a value is read as a blank, and a CR at either end of a value is removed', () => {
  const text = 'WARC/1.1\r\nX: \rone\rtwo\r\r three\r\r\n \rfour\r\r\nY: \r\r\nZ: z\r\n\r\n';
  const { head } = parse(text);
  assert.deepEqual(
    ['x', 'y', 'z'].map((name) => head.get(name)),
    ['one two  three four', '', 'z'],
  );
  assert.equal(Buffer.from(head.bytes).toString(), text);
});

test('the first malformed lines are reported, and further lines are counted', () => {
  const faults: HeadFault[] = [];
  const text = `WARC/1.1\r\nX: a\r\n${'bad\r\n'.repeat(200_000)}Y: b\r\n:c\r\nZ: d\r\n\r\n`;
  const head = parseWarcHead(Buffer.from(text), faults);
  assert.deepEqual(
    ['x', 'y', 'z'].map((name) => head.get(name)),
    ['a', 'b', 'd'],
  );
  const malformed = faults.filter(({ code }) => code === 'field-malformed').map(({ detail }) => detail);
  assert.deepEqual([malformed.length, malformed[0], malformed.at(-1)], [21, '"bad"', '199981 more lines']);
});

test('a length that is one number in an unusual form is read and reported', () => {
  const lengthOf = (value: string) => {
    const { head, faults } = parse(SOUND.replace('Content-Length: 10', `Content-Length: ${value}`));
    return [head.contentLength, faults.filter((code) => code !== 'target-uri-bracketed')];
  };
  for (const value of ['+10', '"10"', '00000000000000000010', '10, 10', '10,10 , 10'])
    assert.deepEqual(lengthOf(value), [10, ['field-malformed']], value);
  assert.deepEqual(lengthOf('010'), [10, []]);
  assert.deepEqual(lengthOf('0'), [0, []]);
  for (const value of ['-10', '10, 11', '1 0', '10.0', '0x10', '1,024', '10 bytes', '"10', '99999999999999999999'])
    assert.deepEqual(lengthOf(value), [undefined, ['content-length-invalid']], value);
});

test('the end of a head is its empty line, with CRLF or LF', () => {
  for (const [text, end] of [
    ['WARC/1.1\r\nA: b\r\n\r\nbody', 18],
    ['WARC/1.1\nA: b\n\nbody', 15],
    ['WARC/1.1\r\nA: b\n\r\nbody', 17],
    ['WARC/1.1\r\nA: b\r\n', -1],
  ] as const) {
    assert.equal(headEnd(Buffer.from(text), 0, text.length), end, JSON.stringify(text));
  }
  assert.equal(headEnd(Buffer.from('A\n\nB\n\n'), 0, 2), -1);
});

test('the parts of an ARC head have the names of WARC fields', () => {
  const faults: HeadFault[] = [];
  const line = parseArcLine('http://example.test/a b 192.0.2.1 20240301100000 text/html 57')!;
  const head = arcHead(line, '1', Buffer.alloc(0), faults);
  assert.equal(head.targetUri, 'http://example.test/a b');
  assert.equal(head.date, '2024-03-01T10:00:00Z');
  assert.equal(head.get('warc-ip-address'), '192.0.2.1');
  assert.equal(head.get('arc-mime'), 'text/html');
  assert.equal(head.contentLength, 57);
  assert.deepEqual(faults, []);
  const odd = parseArcLine('http://example.test/ 0.0.0.0 999999999999 - 99999999999999999999')!;
  arcHead(odd, '1', Buffer.alloc(0), faults);
  assert.deepEqual(
    faults.map(({ code }) => code),
    ['date-invalid', 'content-length-invalid'],
  );
});
