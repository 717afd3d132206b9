import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFrameMessage } from './frame-message.ts';

const MOVED = { wb_type: 'load', url: 'http://example.org/a', ts: '20240301120000', title: 'A' };

test('a message with a new address is read', () => {
  assert.deepEqual(readFrameMessage(MOVED), {
    kind: 'moved',
    url: 'http://example.org/a',
    timestamp: '20240301120000',
    title: 'A',
  });
});

test('messages of any other form are ignored', () => {
  const bad: unknown[] = [
    undefined,
    null,
    'load',
    42,
    [],
    {},
    { ...MOVED, wb_type: 'cookie' },
    { ...MOVED, url: 'javascript:alert(1)' },
    { ...MOVED, url: '/api/jobs' },
    { ...MOVED, url: { toString: () => 'http://example.org/' } },
    { ...MOVED, url: `http://example.org/${'a'.repeat(70_000)}` },
    { ...MOVED, ts: '2024' },
    { ...MOVED, ts: '../../api/info' },
    { ...MOVED, ts: 20240301120000 },
  ];
  for (const data of bad) assert.equal(readFrameMessage(data), undefined, JSON.stringify(data)?.slice(0, 100));
});

test('long titles are cut, and a title that is not a text is empty', () => {
  const long = readFrameMessage({ wb_type: 'title', title: 'x'.repeat(10_000) });
  assert.equal(long?.title.length, 300);
  assert.equal(readFrameMessage({ ...MOVED, title: 7 })?.title, '');
});
