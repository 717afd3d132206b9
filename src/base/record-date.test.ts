import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStandardDate, parseRecordDate, standardDate } from './record-date.ts';

test('dates in other forms than the standard asks for are understood', () => {
  const dates: [written: string, means: string][] = [
    ['2008-10-294T05:21:46-0700', '2008-10-20T12:21:46Z'],
    ['2009-03-65T08:43:19-0800', '2009-03-06T16:43:19Z'],
    ['2008-294T05:21:46Z', '2008-10-20T05:21:46Z'],
    ['2024-03-01T12:00:00+02:00', '2024-03-01T10:00:00Z'],
    ['2024-03-01 10:00:00', '2024-03-01T10:00:00Z'],
    ['2024-03-01t10:00:00z', '2024-03-01T10:00:00Z'],
    ['Fri, 01 Mar 2024 10:00:00 GMT', '2024-03-01T10:00:00Z'],
    ['1 Mar 2024 10:00:00 -0100', '2024-03-01T11:00:00Z'],
    ['2016020900', '2016-02-09T00:00:00Z'],
    ['200011201434', '2000-11-20T14:34:00Z'],
    ['20240301100000', '2024-03-01T10:00:00Z'],
    ['201512000000000', '2015-12-01T00:00:00Z'],
    ['2000082305410049', '2000-08-23T05:41:00Z'],
    ['200009180023002953', '2000-09-18T00:23:00Z'],
    ['20160211000000jpg', '2016-02-11T00:00:00Z'],
  ];
  for (const [written, means] of dates) {
    assert.equal(standardDate(written), means, written);
    assert.ok(!isStandardDate(written), written);
  }
});

test('a date in a standard form stays as written', () => {
  for (const date of ['2024', '2024-03', '2024-03-01', '2024-03-01T10:00Z', '2024-03-01T10:00:00.123456789Z'])
    assert.equal(standardDate(date), date);
});

test('a text that does not mean a time gives none', () => {
  const texts = [
    '',
    'blue monday',
    'a0d1fdddf3165d0447b1f7a285c61c1c9',
    '2024-02-30T10:00:00Z',
    '1709287200',
    '192.0.2.1',
  ];
  // The month contradicts the day of the year; the year has fewer days; the month does not exist.
  texts.push('2008-11-294T05:21:46Z', '2023-12-366T00:00:00Z', '20241301000000', 'Fri, 01 Foo 2024 10:00:00 GMT');
  for (const text of texts) assert.equal(parseRecordDate(text), undefined, text);
});
