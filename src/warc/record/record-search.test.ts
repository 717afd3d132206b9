import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findRecord } from './record-search.ts';

const bytes = (text: string) => Buffer.from(text, 'latin1');

test('records are found inside other bytes', () => {
  const warc = bytes('block\nWARC/1.0\r\nWARC-Type: x\r\n');
  assert.equal(findRecord(warc, 0, warc.length, false), 6);
  const torn = bytes('blockWARC/1.0\r\nWARC-Type: x\r\n');
  assert.equal(findRecord(torn, 0, torn.length, false), 5);
  assert.equal(findRecord(bytes('of WARC/1.0 files'), 0, 17, false), -1);
  const arc = bytes('block\nhttp://a.test/ 192.0.2.1 20240301100000 text/html 57\nWARC/1.0\n');
  assert.equal(findRecord(arc, 0, arc.length, true), 6);
  assert.equal(findRecord(arc, 0, arc.length, false), arc.indexOf('WARC'));
});
