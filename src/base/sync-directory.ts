/**
 * Durable names: of a file whose bytes are on the disk nothing is found after a power cut, unless its directory is
 * there too.
 */
import { open } from 'node:fs/promises';

/** What file systems say that know no such call; names are as durable there as they get. */
const UNKNOWN_CALL = new Set(['EINVAL', 'ENOSYS', 'ENOTSUP']);

/**
 * Makes the names in a directory durable: of new files, of renamed and of removed ones. Windows has no such call, and
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
