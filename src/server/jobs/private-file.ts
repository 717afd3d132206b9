/**
 * Permissions of what the server keeps of its clients beside the archive: uploads, exports, the history of jobs. Other
 * users of the machine read none of it.
 */
import { chmod, stat } from 'node:fs/promises';

export const FILE_MODE = 0o600;
export const DIRECTORY_MODE = 0o700;
const OTHERS = 0o077;

/** File systems without permissions, and files of another owner, stay as they are. */
const UNCHANGEABLE: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EROFS']);

/** Takes the permissions of all but the owner away from a file or a directory. */
export async function makePrivate(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & OTHERS) === 0) return;
  try {
    await chmod(path, mode & DIRECTORY_MODE);
  } catch (error) {
    if (!UNCHANGEABLE.has((error as NodeJS.ErrnoException).code)) throw error;
  }
}
