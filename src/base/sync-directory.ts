/**
 * Durable names: a synced file is lost after a power cut unless its directory is synced too.
 */
import { open } from 'node:fs/promises';

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
