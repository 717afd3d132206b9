import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bareMime } from './media-kind.ts';

test('the media type ends before parameters, a second type and blanks', () => {
  for (const text of [
    'text/html',
    ' Text/HTML; charset=utf-8',
    'text/html, text/html',
    'text/html charset=x',
    'text/html;;',
  ])
    assert.equal(bareMime(text), 'text/html', text);
  assert.equal(bareMime(''), '');
  assert.equal(bareMime('; charset=utf-8'), '');
});
