/**
 * Durable names: a synced file is lost after a power cut unless its directory is synced too.
 */
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Errors of file systems without this call. Names there are as durable as they can be. */
const UNKNOWN_CALL = new Set(['EINVAL', 'ENOSYS', 'ENOTSUP']);

/**
 * Makes the names in a directory durable, after files were created, renamed or removed. Windows has no such call and
 * keeps names in a journal.
 */
export async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  await using handle = await open(directory || '.');
  try {
    await handle.sync();
  } catch (cause) {
    if (!UNKNOWN_CALL.has((cause as NodeJS.ErrnoException).code ?? '')) throw cause;
  }
}

/** Writes a file durably, first under the name `draft`. A crash leaves the old file or the new one. */
export async function replaceFile(path: string, text: string, draft = `${path}.tmp`): Promise<void> {
  {
    await using file = await open(draft, 'w');
    await file.writeFile(text);
    await file.sync();
  }
  await rename(draft, path);
  await syncDirectory(dirname(path));
}
