import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MANIFEST_COLUMNS, RESOLVED_COLUMNS } from './manifest-column.ts';
import { formatWarcsumLine, parseWarcsumLine } from './warcsum-text.ts';

const LINE =
  'TGvr4fAfmc.warc.gz 3901 635 http://www.akhbarway.com/robots.txt 2012-04-08T20:13:38Z sha1:aa20238aab9cea0696a9b5d5f7a44a42de16adfc';

function fieldsOf(text: string, columns = MANIFEST_COLUMNS): Record<string, string> {
  const line = parseWarcsumLine(text);
  assert.ok(line, text);
  const values = line.line.trimEnd().split('\t');
  return Object.fromEntries(columns.map(({ name }, index) => [name, values[index] ?? '']));
}

test('the line that the paper shows is parsed', () => {
  const { file, record_offset, record_length, uri, date, digest, time_ms, payload_bytes, holds } = fieldsOf(LINE);
  assert.deepEqual(
    [file, record_offset, record_length, uri, date, digest, time_ms, payload_bytes, holds],
    [
      'TGvr4fAfmc.warc.gz',
      '3901',
      '635',
      'http://www.akhbarway.com/robots.txt',
      '2012-04-08T20:13:38Z',
      'sha1:aa20238aab9cea0696a9b5d5f7a44a42de16adfc',
      String(Date.UTC(2012, 3, 8, 20, 13, 38)),
      '',
      'true',
    ],
  );
  assert.equal(parseWarcsumLine(LINE)?.isResolved, false);
});

test('extension, copy number and original are parsed, and a base32 digest becomes hexadecimal', () => {
  const base32 = LINE.replace(/sha1:\S+/, 'sha1:VIQCHCVLTTVANFVJWXK7PJCKILPBNLP4');
  const resolved = fieldsOf(`${base32} 2 3 http://a.test/ 2011-01-01T00:00:00Z`, RESOLVED_COLUMNS);
  assert.equal(resolved.digest, 'sha1:aa20238aab9cea0696a9b5d5f7a44a42de16adfc');
  assert.deepEqual(
    [resolved.extension, resolved.copy_number, resolved.original_uri, resolved.original_date],
    ['2', '3', 'http://a.test/', '2011-01-01T00:00:00Z'],
  );
  assert.equal(fieldsOf(`${LINE} 0 1`, RESOLVED_COLUMNS).original_uri, 'http://www.akhbarway.com/robots.txt');
});

test('a record that could not be compared has an extension below zero, and is neither original nor duplicate', () => {
  const { extension, holds, yields } = fieldsOf(`${LINE} -3 1`, RESOLVED_COLUMNS);
  assert.deepEqual([extension, holds, yields], ['-3', 'false', 'false']);
});

test('blanks are written as %20, and the line of an original does not repeat its own URI and date', () => {
  const row = ['a b.warc', '1', '2', 'http://a.test/x y', '2024-01-01T00:00:00Z', 'sha1:00'];
  assert.equal(formatWarcsumLine(row), 'a%20b.warc 1 2 http://a.test/x%20y 2024-01-01T00:00:00Z sha1:00\n');
  assert.match(formatWarcsumLine([...row, '0', '1', 'http://o.test/', '2023']), / sha1:00 0 1\n$/);
  assert.match(
    formatWarcsumLine([...row, '0', '2', 'http://o.test/', '2023']),
    / sha1:00 0 2 http:\/\/o\.test\/ 2023\n$/,
  );
});

test('a malformed line is refused', () => {
  for (const text of [
    '',
    'a b c',
    `${LINE} x`,
    LINE.replace('3901', '-1'),
    LINE.replace('sha1:aa', 'sha1:zz'),
    `${LINE} 1 2 3`,
    `${LINE} 9999999999`,
    `${LINE} 0 one`,
    `${LINE}\r${LINE}`,
  ]) {
    assert.equal(parseWarcsumLine(text), undefined, text);
  }
});
