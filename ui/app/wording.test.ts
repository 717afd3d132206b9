import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  counted,
  formatBytes,
  formatDuration,
  formatPercent,
  formatTime,
  kindOfContent,
  noun,
  shortened,
  shownUrl,
  spanWords,
  WEEKDAYS,
  w3cDate,
  weekdayOf,
} from './wording.ts';

test('a span within one day is a single date', () => {
  assert.equal(spanWords('2024-03-03T10:00:00Z', '2024-03-03T11:00:00Z'), 'on 3 March 2024');
  assert.equal(spanWords('2024-03-03T10:00:00Z', '2025-05-09T11:00:00Z'), 'from 3 March 2024 to 9 May 2025');
});

test('sizes have two or three digits and a unit', () => {
  const cases: [number, string][] = [
    [0, '0 bytes'],
    [1, '1 byte'],
    [999, '999 bytes'],
    [1000, '1.0 KB'],
    [9949, '9.9 KB'],
    [9950, '10 KB'],
    [999_600, '1.0 MB'],
    [-1500, '\u22121.5 KB'],
    [4.2e15, '4.2 PB'],
  ];
  for (const [bytes, text] of cases) assert.equal(formatBytes(bytes), text);
});

test('digits are grouped, and nouns agree with the number', () => {
  assert.equal(counted(1, 'capture'), '1 capture');
  assert.equal(counted(1234567, 'address', 'addresses'), '1\u202f234\u202f567 addresses');
  assert.equal(formatPercent(1, 3), '33 %');
  assert.equal(formatPercent(1, 30), '3.3 %');
  assert.equal(formatPercent(1, 0), '\u2013');
});

test('times are formatted in words, in UTC', () => {
  assert.equal(formatTime(w3cDate('20240303140509')), '3 March 2024, 14:05:09 UTC');
  assert.equal(formatTime('2024-03-03T14:05:09.123Z'), '3 March 2024, 14:05:09 UTC');
  assert.equal(formatDuration('2024-01-01T00:00:00Z', '2024-01-01T02:03:04Z'), '2 h 3 min');
  assert.equal(formatDuration('2024-01-01T00:00:00.000Z', '2024-01-01T00:00:00.400Z'), 'less than 1 s');
});

test('weekdays are right in every year that a record can have', () => {
  const cases: [string, string][] = [
    ['2024-03-03', 'Sunday'],
    ['2024-03-04', 'Monday'],
    ['2024-02-29', 'Thursday'],
    ['1970-01-01', 'Thursday'],
    ['1900-03-01', 'Thursday'],
    ['0099-12-31', 'Thursday'],
    ['9999-12-31', 'Friday'],
  ];
  for (const [date, weekday] of cases) assert.equal(WEEKDAYS[weekdayOf(date)], weekday, date);
});

test('only escaped letters and digits of an address are decoded', () => {
  const shown: [string, string][] = [
    [
      'http://example.org/%E5%9B%B3%E6%9B%B8%E9%A4%A8/caf%C3%A9?q=%D9%83%D8%AA%D8%A7%D8%A8',
      'example.org/図書館/café?q=كتاب',
    ],
    ['http://%E5%9B%B3.example/', '図.example'],
    ['http://example.org/a%2Fb%20c%3F%00', 'example.org/a%2Fb%20c%3F%00'],
    ['http://example.org/caf%E9', 'example.org/caf%E9'],
    // A space, and a control that reverses the direction of text, would make the address look like another.
    ['http://example.org/a%C2%A0b%E2%80%AEgpj', 'example.org/a%C2%A0b%E2%80%AEgpj'],
    ['http://example.org/100%', 'example.org/100%'],
  ];
  for (const [url, text] of shown) assert.equal(shownUrl(url), text);
});

test('a long text is shortened in its middle', () => {
  assert.equal(shortened('short', 10), 'short');
  assert.equal(shortened(`${'x'.repeat(30)}end`, 20), `${'x'.repeat(13)}\u2026${'x'.repeat(3)}end`);
  assert.equal(shortened('😀'.repeat(30), 20).length <= 20, true);
  assert.equal(shortened('😀'.repeat(30), 20).isWellFormed(), true);
});

test('addresses lose their scheme, and media types get short names', () => {
  assert.equal(shownUrl('https://example.org/'), 'example.org');
  assert.equal(shownUrl('http://example.org/a/'), 'example.org/a/');
  assert.equal(kindOfContent('text/html; charset=utf-8'), 'HTML');
  assert.equal(kindOfContent('image/png'), 'PNG image');
  assert.equal(kindOfContent('application/ld+json'), 'JSON');
  assert.equal(kindOfContent(''), 'unknown');
});

test('a noun is plural unless the number is 1', () => {
  assert.deepEqual([noun(0, 'capture'), noun(1, 'capture'), noun(2, 'capture')], ['captures', 'capture', 'captures']);
  assert.equal(noun(1, 'stored as a revisit', 'stored as revisits'), 'stored as a revisit');
});
