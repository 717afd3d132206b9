/** A disk that cannot read some bytes of a file. */
import fs, { fstatSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import type { TestContext } from 'node:test';

/**
 * Makes a range of a file unreadable, as a bad sector does, until the returned function is called or for a number of
 * reads. `after`: how many reads succeed before the first failure.
 */
export async function breakFile(
  t: TestContext,
  path: string,
  from: number,
  { to = Infinity, times = Infinity, after = 0 }: { to?: number; times?: number; after?: number } = {},
): Promise<() => void> {
  const { ino } = statSync(path);
  const handle = await open(path);
  const reads = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  type Given = [Buffer, number, number, number];
  const read = reads.read as (this: FileHandle, ...given: Given) => Promise<unknown>;
  let asked = 0;
  const mocked = t.mock.method(reads, 'read', async function (this: FileHandle, ...given: Given) {
    const [, , length, position] = given;
    const isMeant = position + length > from && position < to && fstatSync(this.fd).ino === ino;
    if (isMeant && ++asked > after && asked <= after + times)
      throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' });
    return read.apply(this, given);
  });
  return () => mocked.mock.restore();
}

/** Makes a range of a file unreadable, whichever way this thread reads it, until the returned function is called. */
export async function breakSector(t: TestContext, path: string, from: number, to = from + 4096): Promise<() => void> {
  const mendHandles = await breakFile(t, path, from, { to });
  const { ino } = statSync(path);
  const { readSync } = fs;
  const read = (...given: [number, Uint8Array, number, number, number]) => {
    const [descriptor, , , length, position] = given;
    if (position < to && position + length > from && fstatSync(descriptor).ino === ino)
      throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' });
    return readSync(...given);
  };
  fs.readSync = read as typeof readSync;
  syncBuiltinESMExports();
  const repair = () => {
    fs.readSync = readSync;
    syncBuiltinESMExports();
    mendHandles();
  };
  t.after(repair);
  return repair;
}
