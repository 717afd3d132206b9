import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { devNull } from 'node:os';
import { test } from 'node:test';
import { HandleCache } from './handle-cache.ts';

const openNull = () => open(devNull, 'r');

test('a handle that many callers take at the same time is opened once', async () => {
  const cache = new HandleCache(4, () => assert.fail('no sync fails here'));
  let opened = 0;
  const taken = await Promise.all(
    Array.from({ length: 10 }, () =>
      cache.take('a', () => {
        opened++;
        return openNull();
      }),
    ),
  );
  assert.equal(opened, 1);
  assert.equal(new Set(taken).size, 1);
  for (const handle of taken) cache.give(handle);
  await cache.close();
  assert.equal(cache.size, 0);
});

test('the least recently used handle is closed first, unless it is in use', async () => {
  const cache = new HandleCache(2, () => assert.fail('no sync fails here'));
  const inUse = await cache.take('in use', openNull);
  for (const key of ['a', 'b', 'a', 'c']) cache.give(await cache.take(key, openNull));
  assert.equal(cache.size, 2);
  await inUse.file.stat();
  let reopened = false;
  cache.give(
    await cache.take('c', () => {
      reopened = true;
      return openNull();
    }),
  );
  assert.equal(reopened, false);
  await cache.close();
});

test('a dropped handle is closed when its last user gives it back, and opened again for the next user', async () => {
  const cache = new HandleCache(2, () => assert.fail('no sync fails here'));
  const old = await cache.take('a', openNull);
  await cache.drop('a');
  await old.file.stat();
  const fresh = await cache.take('a', openNull);
  assert.notEqual(fresh, old);
  cache.give(old);
  cache.give(fresh);
  await cache.drop('a');
  assert.equal(cache.size, 0);
  await assert.rejects(old.file.stat());
});

test('a failure to open reaches every waiting caller, and a later call tries again', async () => {
  const cache = new HandleCache(2, () => assert.fail('no sync fails here'));
  const failing = () => Promise.reject(new Error('cannot'));
  const outcomes = await Promise.allSettled([cache.take('a', failing), cache.take('a', failing)]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  cache.give(await cache.take('a', openNull));
  await cache.close();
});

test('a handle with unsynced writes is synced before it is closed, and a failed sync is reported before the file is opened again', {
  skip: !existsSync('/dev/full') && 'no device that refuses to sync',
}, async () => {
  const failed: string[] = [];
  const cache = new HandleCache(1, (key) => failed.push(key));
  const dirty = await cache.take('dirty', () => open('/dev/full', 'r+'));
  dirty.dirty = true;
  cache.give(dirty);
  const clean = await cache.take('clean', () => open('/dev/full', 'r+'));
  cache.give(clean);
  await cache.take('dirty', async () => {
    assert.deepEqual(failed, ['dirty']);
    return openNull();
  });
  await cache.close();
  assert.deepEqual(failed, ['dirty']);
});
