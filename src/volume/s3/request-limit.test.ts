import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forEachLimited, RequestLimit } from './request-limit.ts';

test('at most so many requests run at the same time, in the order of their calls', async () => {
  const limit = new RequestLimit(2);
  const ends: (() => void)[] = [];
  const begun: number[] = [];
  const runs = [0, 1, 2, 3].map((index) =>
    limit.run(async () => {
      begun.push(index);
      await new Promise<void>((resolve) => ends.push(resolve));
    }),
  );
  await Promise.resolve();
  assert.deepEqual(begun, [0, 1]);
  for (let at = 0; at < 4; at++) {
    while (ends.length === 0) await new Promise(setImmediate);
    ends.shift()!();
  }
  await Promise.all(runs);
  assert.deepEqual(begun, [0, 1, 2, 3]);
});

test('a request that is aborted while it waits never runs, and the next one does', async () => {
  const limit = new RequestLimit(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = limit.run(() => promise);
  const control = new AbortController();
  const second = limit.run(async () => assert.fail(), control.signal);
  const third = limit.run(async () => 'ran');
  control.abort(new Error('not wanted'));
  await assert.rejects(second, /not wanted/);
  resolve();
  await first;
  assert.equal(await third, 'ran');
});

test('after a failure no further item is begun, and those under way are waited for', async () => {
  const begun: number[] = [];
  let ended = false;
  const work = forEachLimited([0, 1, 2, 3], 2, async (item) => {
    begun.push(item);
    if (item === 0) throw new Error('failed');
    await new Promise(setImmediate);
    ended = true;
  });
  await assert.rejects(work, /failed/);
  assert.deepEqual(begun, [0, 1]);
  assert.ok(ended);
});
