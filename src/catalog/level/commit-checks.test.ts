import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UrlKey } from '../../url/index.ts';
import type { Capture, CommitGroup, SegmentChange } from '../catalog.ts';
import { isDurable } from './commit-checks.ts';

const capture = { urlKey: 'a' as UrlKey } as Capture;
const place = { segment: 1, offset: 0, length: 1 };
const block = { digest: new Uint8Array(32), overflow: 0 };
const mark = new Uint8Array(16);

function change(to: SegmentChange['to']): CommitGroup {
  return { segments: [{ number: 1, from: { state: 'open', bytes: 0, volume: 'main' }, to }] };
}

test('R2: a group that removes, seals, swaps or bars survives power loss, and a store need not', () => {
  const durable: CommitGroup[] = [
    { durable: true },
    { deletions: [{ capture, mark }] },
    { deletedMarks: [mark] },
    { bars: [{ kind: 'url', urlKey: capture.urlKey }] },
    { moves: [{ from: capture, to: capture }] },
    { holderMoves: [{ key: block, from: place, to: place }] },
    change(undefined),
    change({ state: 'sealing' }),
    change({ state: 'sealed' }),
  ];
  for (const group of durable) assert.equal(isDurable(group), true, JSON.stringify(group));
  const stores: CommitGroup[] = [
    {},
    change({ bytes: 5, records: 1 }),
    {
      captures: [{ capture }],
      blocks: [{ key: block, size: 1, holder: place }],
      referents: [{ key: block, holder: place }],
    },
    { deletions: [], bars: [], moves: [], putNotes: { a: 'b' } },
  ];
  for (const group of stores) assert.equal(isDurable(group), false, JSON.stringify(group));
});
