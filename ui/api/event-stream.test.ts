import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventReader } from './event-stream.ts';

test('events are read wherever the text is split, and comments are ignored', () => {
  const text = 'retry: 2000\n\nevent: job\nid: a-1\ndata: {"id":1}\n\n: still here\n\ndata: one\ndata: two\n\n';
  const expected = [
    { name: 'job', data: '{"id":1}' },
    { name: 'message', data: 'one\ntwo' },
  ];
  for (let size = 1; size <= text.length; size++) {
    const reader = new EventReader();
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
    assert.deepEqual(
      pieces.flatMap((piece) => reader.take(piece)),
      expected,
      `in pieces of ${size}`,
    );
  }
});
