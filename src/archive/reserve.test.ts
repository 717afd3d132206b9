import assert from 'node:assert/strict';
import { type FileHandle, mkdir, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Reserve } from './reserve.ts';

const MIB = 1024 * 1024;
const catalogOf = (bytes: number) => ({ bytes: async () => bytes });

async function place(t: TestContext): Promise<{ directory: string; path: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-reserve-'));
  t.after(() => rm(directory, { recursive: true }));
  return { directory, path: join(directory, 'reserve') };
}

/** Makes every write fail after the first `after` writes. */
async function failWrites(t: TestContext, code: string, after: number): Promise<() => void> {
  const handle = await open(tmpdir());
  const writes = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const write = writes.write as (this: FileHandle, ...given: unknown[]) => Promise<unknown>;
  let written = 0;
  const { mock } = t.mock.method(writes, 'write', async function (this: FileHandle, ...given: unknown[]) {
    if (written++ >= after) throw Object.assign(new Error(code), { code, syscall: 'write' });
    return write.apply(this, given);
  });
  return () => mock.restore();
}

test('a reserve that reaches a quota while it grows keeps its earlier size and can grow later', async (t) => {
  const { directory, path } = await place(t);
  const reserve = new Reserve(directory);
  let repair = await failWrites(t, 'EDQUOT', 3);
  await assert.rejects(reserve.keep(catalogOf(0)), { code: 'ARCHIVE_FULL' });
  assert.equal((await stat(path)).size, 0);
  repair();
  await reserve.keep(catalogOf(0));
  assert.equal((await stat(path)).size, 8 * MIB);
  repair = await failWrites(t, 'ENOSPC', 3);
  await assert.rejects(new Reserve(directory).keep(catalogOf(8 * MIB)), { code: 'ARCHIVE_FULL' });
  assert.equal((await stat(path)).size, 8 * MIB);
  repair();
});

test('a failure to create the reserve with enough room is not reported as a full disk', async (t) => {
  const { directory, path } = await place(t);
  const repair = await failWrites(t, 'EIO', 0);
  await assert.rejects(new Reserve(directory).keep(catalogOf(0)), { code: 'DEVICE_FAILED', where: path });
  repair();
});

test('a reserve that cannot be removed does not stop the work', async (t) => {
  const { directory, path } = await place(t);
  await mkdir(join(path, 'in the way'), { recursive: true });
  const reserve = new Reserve(directory);
  assert.equal(await reserve.giveUp(), false);
  await reserve.takeBack();
  assert.ok((await stat(path)).isDirectory());
});
