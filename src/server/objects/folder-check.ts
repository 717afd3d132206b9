/**
 * Whether a folder can hold objects: the file system tells names apart as bytes, can give a file a second name, and
 * keeps times to the millisecond. On one that folds case, `A` and `a` would be the same object, and one would silently
 * replace the other.
 */
import { link, lstat, mkdir, open, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PinakesError } from '../../base/index.ts';
import { RESERVED_FOLDER } from './access-keys.ts';
import { bucketProblem } from './object-key.ts';

/** A time that coarse file systems cut. */
const PROBED_SECONDS = 1_700_000_001.123;

/** Throws when the folder is not fit. */
export async function checkFolder(root: string): Promise<void> {
  const folder = join(root, RESERVED_FOLDER, 'probe');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  try {
    const file = join(folder, 'probe-\u00e9');
    await writeFile(file, '');
    if (await exists(join(folder, 'PROBE-\u00e9'))) throw unfit(root, 'it does not tell upper and lower case apart');
    if (await exists(join(folder, 'probe-e\u0301')))
      throw unfit(root, 'it takes two spellings of a letter for the same');
    await link(file, join(folder, 'second')).catch((cause: unknown) => {
      throw unfit(root, 'it has no hard links', cause);
    });
    await utimes(file, PROBED_SECONDS, PROBED_SECONDS);
    const { mtimeMs } = await lstat(file);
    if (Math.abs(mtimeMs - PROBED_SECONDS * 1000) > 1) throw unfit(root, 'it does not keep times to the millisecond');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  await checkBuckets(root);
}

/** A draft can get the name of an object only on its own file system. */
async function checkBuckets(root: string): Promise<void> {
  const { dev } = await lstat(join(root, RESERVED_FOLDER));
  for (const entry of await readdir(root, { withFileTypes: true })) {
    if (!entry.isDirectory() || bucketProblem(entry.name) !== undefined) continue;
    const path = join(root, entry.name);
    if ((await lstat(path)).dev !== dev) throw unfit(path, 'a bucket must be on the file system of the whole folder');
  }
}

/** Whether directories can be synced, which makes names durable at once. */
export async function syncsDirectories(root: string): Promise<boolean> {
  if (process.platform === 'win32') return false;
  await using handle = await open(root);
  return handle.sync().then(
    () => true,
    () => false,
  );
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function unfit(where: string, detail: string, cause?: unknown): PinakesError {
  return new PinakesError('FOLDER_UNFIT', { where, detail, ...(cause !== undefined && { cause }) });
}
