/** A rebalance that is killed and run again. With many records: `npm run trial -- rebalance`. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../archive/trial-archive.ts';
import { killRebalances } from './rebalance-kill.ts';

test('a rebalance that is killed and run again moves exactly the records whose hash says so', async (t) => {
  const seed = Math.floor(Math.random() * 1e9);
  t.diagnostic(`seed ${seed}`);
  const directory = join(await temporaryDirectory(t), 'archive');
  const options = { seed, records: 120, kills: 2, segmentBytesMax: 10_000, killWithinMs: 60 };
  const { moved, movedBy, readsDuring } = await killRebalances(directory, options);
  t.diagnostic(`${moved} records moved, ${movedBy.join(' and ')} of them by processes that were killed`);
  assert.ok(moved > 8 && readsDuring >= options.records);
});
