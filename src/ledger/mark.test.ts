import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { toHex } from '../base/index.ts';
import { urlKey } from '../url/index.ts';
import { deletionMarksOf, type MarkedCapture, markOf, marksOf } from './mark.ts';

const block = { digest: new Uint8Array(32).fill(7), overflow: 0 };
const capture: MarkedCapture = {
  urlKey: urlKey('http://example.org/a'),
  time: 1_700_000_000_123,
  hash: 4_000_000_000,
  block,
  kind: 'response',
};
const revisit: MarkedCapture = { ...capture, kind: 'revisit' };
const unknown: MarkedCapture = { ...revisit, block: undefined };
const other: MarkedCapture = { ...revisit, block: { digest: new Uint8Array(32).fill(8), overflow: 0 } };

/** Whether an entry of `entered` is refused after `deleted` was deleted. */
function isRefused(entered: MarkedCapture, deleted: MarkedCapture): boolean {
  const listed = new Set(deletionMarksOf(deleted, 'main').map(toHex));
  return marksOf(entered, 'main').some((mark) => listed.has(toHex(mark)));
}

suite('A mark', () => {
  test('is the same for good: it is in deletion records', () => {
    assert.equal(toHex(markOf(capture, 'main')), '0b22f6b711081985b1b5bc199fb40a05');
  });

  test('differs by collection, URL, time, record and content', () => {
    const all = [
      markOf(capture, 'main'),
      markOf(capture, 'other'),
      markOf({ ...capture, urlKey: urlKey('http://example.org/b') }, 'main'),
      markOf({ ...capture, time: capture.time + 1 }, 'main'),
      markOf({ ...capture, hash: 1 }, 'main'),
      markOf(other, 'main'),
      markOf(unknown, 'main'),
    ].map(toHex);
    assert.equal(new Set(all).size, all.length);
    assert.ok(all.every((mark) => mark.length === 32));
  });

  test('does not differ by the place, nor by the kind, which compaction changes', () => {
    assert.deepEqual(markOf(revisit, 'main'), markOf(capture, 'main'));
  });
});

suite('A deleted capture is recognised', () => {
  test('as what it was', () => {
    for (const one of [capture, revisit, unknown]) assert.ok(isRefused(one, one));
  });

  test('when it was a revisit whose content was unknown then, or is unknown now', () => {
    assert.ok(isRefused(revisit, unknown));
    assert.ok(isRefused(unknown, revisit));
  });

  test('as a full record that became a revisit, and the other way around', () => {
    assert.ok(isRefused(revisit, capture));
    assert.ok(isRefused(capture, revisit));
  });

  test('and is not mistaken for one of another content', () => {
    assert.ok(!isRefused(other, revisit));
    assert.ok(!isRefused({ ...other, kind: 'response' }, revisit));
  });
});
