/** Permissions of uploads, exports and the history of jobs. Other users of the machine must not read them. */
import { chmod, stat } from 'node:fs/promises';

export const FILE_MODE = 0o600;
export const DIRECTORY_MODE = 0o700;
const OTHERS = 0o077;

/** Errors for file systems without permissions and for files of another owner. These files are left unchanged. */
const UNCHANGEABLE: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EROFS']);

/** Removes all permissions of other users from a file or a directory. */
export async function makePrivate(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & OTHERS) === 0) return;
  try {
    await chmod(path, mode & DIRECTORY_MODE);
  } catch (error) {
    if (!UNCHANGEABLE.has((error as NodeJS.ErrnoException).code)) throw error;
  }
}
