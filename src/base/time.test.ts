import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AssertionError } from './assert.ts';
import {
  formatTimestamp,
  formatW3cDate,
  parseAskedTime,
  parseTimestamp,
  parseTimestampEnd,
  parseW3cDate,
} from './time.ts';

const iso = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString());

const EARLIEST = Date.parse('0000-01-01T00:00:00.000Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

test('a WARC-Date of any precision means the start of its period', () => {
  const cases = {
    '2024': '2024-01-01T00:00:00.000Z',
    '2024-03': '2024-03-01T00:00:00.000Z',
    '2024-03-09': '2024-03-09T00:00:00.000Z',
    '2024-03-09T10:11Z': '2024-03-09T10:11:00.000Z',
    '2024-03-09T10:11:12Z': '2024-03-09T10:11:12.000Z',
    '2024-03-09T10:11:12.2Z': '2024-03-09T10:11:12.200Z',
    '2024-03-09T10:11:12.25Z': '2024-03-09T10:11:12.250Z',
    '2024-03-09T10:11:12.250Z': '2024-03-09T10:11:12.250Z',
    '2024-03-09T10:11:12.123456Z': '2024-03-09T10:11:12.123Z',
    '2024-03-09T10:11:12.999999999Z': '2024-03-09T10:11:12.999Z',
    '2024-03-09T10:11:12.000000001Z': '2024-03-09T10:11:12.000Z',
  };
  for (const [text, expected] of Object.entries(cases)) assert.equal(iso(parseW3cDate(text)), expected, text);
});

test('a WARC-Date in the odd forms of real writers is understood', () => {
  const cases = {
    ' 2024-03-09T10:11:12Z\t': '2024-03-09T10:11:12.000Z',
    '2024-03-09t10:11:12z': '2024-03-09T10:11:12.000Z',
    '2024-03-09 10:11:12': '2024-03-09T10:11:12.000Z',
    '2024-03-09T10:11:12': '2024-03-09T10:11:12.000Z',
    '2024-03-09T10:11:12,5Z': '2024-03-09T10:11:12.500Z',
    '2024-03-09T10:11:12+02:00': '2024-03-09T08:11:12.000Z',
    '2024-03-09T10:11:12-0530': '2024-03-09T15:41:12.000Z',
    '2024-01-01T00:30:00+01:00': '2023-12-31T23:30:00.000Z',
    '2024-03-09T24:00:00Z': '2024-03-10T00:00:00.000Z',
    '2016-12-31T23:59:60Z': '2017-01-01T00:00:00.000Z',
    '1969-12-31T23:59:59Z': '1969-12-31T23:59:59.000Z',
    '0001-01-01T00:00:00Z': '0001-01-01T00:00:00.000Z',
    '0099-12-31T00:00:00Z': '0099-12-31T00:00:00.000Z',
  };
  for (const [text, expected] of Object.entries(cases)) assert.equal(iso(parseW3cDate(text)), expected, text);
});

test('leap days exist in leap years only', () => {
  for (const year of ['2024', '2000', '0000', '1996']) {
    assert.notEqual(parseW3cDate(`${year}-02-29`), undefined, year);
    assert.notEqual(parseTimestamp(`${year}0229`), undefined, year);
  }
  for (const year of ['2023', '1900', '2100', '0001']) {
    assert.equal(parseW3cDate(`${year}-02-29`), undefined, year);
    assert.equal(parseTimestamp(`${year}0229120000`), undefined, year);
  }
});

test('a text that is not a WARC-Date gives undefined', () => {
  for (const text of [
    '',
    'yesterday',
    '24-03-09',
    '2024-3-9',
    '2024-13-01',
    '2024-00-01',
    '2024-01-00',
    '2024-04-31',
    '2024-03-09T25:00:00Z',
    '2024-03-09T24:00:01Z',
    '2024-03-09T24:30Z',
    '2024-03-09T10:60:00Z',
    '2024-03-09T10:11:61Z',
    '2024-03-09T10',
    '2024-03-09T10:11:12.Z',
    '2024-03-09T10:11:12.1234567890Z',
    '2024-03-09T10:11:12+25:00',
    '2024-03-09T10:11:12+01:60',
    '2024-03-09T10:11:12 GMT',
    'Sat, 09 Mar 2024 10:11:12 GMT',
    '20240309101112',
    '-2024-03-09',
    '2024-03-09T10:11:12Z 2024',
    '\u0662\u0660\u0662\u0664',
  ]) {
    assert.equal(parseW3cDate(text), undefined, text);
  }
});

test('a date that its offset or hour 24 moves out of the four-digit years gives undefined', () => {
  assert.equal(parseW3cDate('9999-12-31T23:59:59.999Z'), LATEST);
  assert.equal(parseW3cDate('9999-12-31T24:00:00Z'), undefined);
  assert.equal(parseW3cDate('9999-12-31T23:30:00-01:00'), undefined);
  assert.equal(parseW3cDate('0000-01-01T00:00:00Z'), EARLIEST);
  assert.equal(parseW3cDate('0000-01-01T00:30:00+01:00'), undefined);
  assert.equal(parseTimestamp('99991231240000'), undefined);
});

test('a timestamp starts at the earliest and ends at the latest moment that its digits can mean', () => {
  const cases: Record<string, [string, string]> = {
    '2024': ['2024-01-01T00:00:00.000Z', '2024-12-31T23:59:59.999Z'],
    '202402': ['2024-02-01T00:00:00.000Z', '2024-02-29T23:59:59.999Z'],
    '202302': ['2023-02-01T00:00:00.000Z', '2023-02-28T23:59:59.999Z'],
    '202412': ['2024-12-01T00:00:00.000Z', '2024-12-31T23:59:59.999Z'],
    '20240229': ['2024-02-29T00:00:00.000Z', '2024-02-29T23:59:59.999Z'],
    '20241231': ['2024-12-31T00:00:00.000Z', '2024-12-31T23:59:59.999Z'],
    '2024022923': ['2024-02-29T23:00:00.000Z', '2024-02-29T23:59:59.999Z'],
    '202402292359': ['2024-02-29T23:59:00.000Z', '2024-02-29T23:59:59.999Z'],
    '20240229235958': ['2024-02-29T23:59:58.000Z', '2024-02-29T23:59:58.999Z'],
    '202402292359581': ['2024-02-29T23:59:58.100Z', '2024-02-29T23:59:58.199Z'],
    '2024022923595812': ['2024-02-29T23:59:58.120Z', '2024-02-29T23:59:58.129Z'],
    '20240229235958123': ['2024-02-29T23:59:58.123Z', '2024-02-29T23:59:58.123Z'],
    '9999': ['9999-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'],
    '99991231235959': ['9999-12-31T23:59:59.000Z', '9999-12-31T23:59:59.999Z'],
    '0000': ['0000-01-01T00:00:00.000Z', '0000-12-31T23:59:59.999Z'],
  };
  for (const [text, [start, end]] of Object.entries(cases)) {
    assert.equal(iso(parseTimestamp(text)), start, text);
    assert.equal(iso(parseTimestampEnd(text)), end, text);
  }
});

test('a time in a query means the whole period that it names, in any form', () => {
  const cases = {
    '2024': ['2024-01-01T00:00:00.000Z', '2024-12-31T23:59:59.999Z'],
    ' 2024-02 ': ['2024-02-01T00:00:00.000Z', '2024-02-29T23:59:59.999Z'],
    '2024/02/03': ['2024-02-03T00:00:00.000Z', '2024-02-03T23:59:59.999Z'],
    '2024-02-03': ['2024-02-03T00:00:00.000Z', '2024-02-03T23:59:59.999Z'],
    '20240203101112': ['2024-02-03T10:11:12.000Z', '2024-02-03T10:11:12.999Z'],
    '2024-02-03T10:11Z': ['2024-02-03T10:11:00.000Z', '2024-02-03T10:11:59.999Z'],
    '2024-02-03T10:11+01:00': ['2024-02-03T09:11:00.000Z', '2024-02-03T09:11:59.999Z'],
    '2024-02-03T10:11:12Z': ['2024-02-03T10:11:12.000Z', '2024-02-03T10:11:12.999Z'],
    '2024-02-03 10:11:12': ['2024-02-03T10:11:12.000Z', '2024-02-03T10:11:12.999Z'],
    '2024-02-03T10:11:12.5Z': ['2024-02-03T10:11:12.500Z', '2024-02-03T10:11:12.599Z'],
    '2024-02-03T10:11:12.25Z': ['2024-02-03T10:11:12.250Z', '2024-02-03T10:11:12.259Z'],
    '2024-02-03T10:11:12.250Z': ['2024-02-03T10:11:12.250Z', '2024-02-03T10:11:12.250Z'],
    '2024-02-03T10:11:12.2509Z': ['2024-02-03T10:11:12.250Z', '2024-02-03T10:11:12.250Z'],
    '9999-12-31T23:59Z': ['9999-12-31T23:59:00.000Z', '9999-12-31T23:59:59.999Z'],
  };
  for (const [text, [start, end]] of Object.entries(cases)) {
    assert.equal(iso(parseAskedTime(text)), start, text);
    assert.equal(iso(parseAskedTime(text, 'end')), end, text);
  }
  for (const text of ['', '202', '2024-13', '2024-02-30', '2024-0203', '20240101123045123456', 'now']) {
    assert.equal(parseAskedTime(text), undefined, text);
    assert.equal(parseAskedTime(text, 'end'), undefined, text);
  }
});

test('a text that is not a timestamp gives undefined, at both ends', () => {
  for (const text of [
    '',
    '202',
    '20241',
    '2024013',
    '2024010112304',
    '20240101123045123456',
    '202413',
    '202400',
    '20240132',
    '20240101250000',
    '20240101126000',
    '20240101240001',
    '2024-01-01',
    ' 2024',
    '2024\n',
    '+2024',
    '2e10',
    '\u0662\u0660\u0662\u0664',
  ]) {
    assert.equal(parseTimestamp(text), undefined, JSON.stringify(text));
    assert.equal(parseTimestampEnd(text), undefined, JSON.stringify(text));
  }
});

test('a time is read back exactly from its WARC-Date, and to the second from its timestamp', () => {
  fc.assert(
    fc.property(fc.integer({ min: EARLIEST, max: LATEST }), (time) => {
      assert.equal(parseW3cDate(formatW3cDate(time)), time);
      const stamp = formatTimestamp(time);
      assert.match(stamp, /^\d{14}$/);
      const start = parseTimestamp(stamp)!;
      assert.ok(start <= time && time <= parseTimestampEnd(stamp)!, `${stamp} for ${time}`);
      assert.equal(start, Math.floor(time / 1000) * 1000);
    }),
  );
});

test('every prefix of a timestamp contains the moment of the timestamp', () => {
  const lengths = fc.constantFrom(4, 6, 8, 10, 12, 14, 15, 16, 17);
  fc.assert(
    fc.property(fc.integer({ min: EARLIEST, max: LATEST }), lengths, (time, length) => {
      const digits = new Date(time).toISOString().replace(/\D/g, '').slice(0, length);
      const [start, end] = [parseTimestamp(digits)!, parseTimestampEnd(digits)!];
      assert.ok(start <= time && time <= end, digits);
      const next = end + 1;
      if (next <= LATEST) assert.notEqual(new Date(next).toISOString().replace(/\D/g, '').slice(0, length), digits);
    }),
  );
});

test('a WARC-Date is written in whole seconds if the time is, else in milliseconds', () => {
  assert.equal(formatW3cDate(Date.UTC(2024, 2, 1, 10)), '2024-03-01T10:00:00Z');
  assert.equal(formatW3cDate(Date.UTC(2024, 2, 1, 10, 0, 0, 250)), '2024-03-01T10:00:00.250Z');
  assert.equal(formatTimestamp(Date.UTC(2024, 2, 1, 10, 0, 0, 999)), '20240301100000');
  assert.equal(formatTimestamp(-1), '19691231235959');
});

test('a time outside the four-digit years is a bug, not a wrong date', () => {
  for (const time of [EARLIEST - 1, LATEST + 1, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => formatTimestamp(time), AssertionError);
    assert.throws(() => formatW3cDate(time), AssertionError);
  }
});
