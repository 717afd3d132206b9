/**
 * A directory that an archive needs, made when it is not there. What keeps it from being made is the user's to mend,
 * and is told as such.
 */
import { fileError, makeDirectories, PinakesError } from '../../base/index.ts';

export async function makeDirectory(path: string): Promise<void> {
  try {
    await makeDirectories(path);
  } catch (cause) {
    const { code } = cause as { code?: string };
    // The system says "exists" of a file that stands there, and "not a directory" of one that stands on the way.
    if (code === 'EEXIST' || code === 'ENOTDIR') throw new PinakesError('FILE_NOT_DIRECTORY', { where: path, cause });
    throw fileError(cause, path, 'writing');
  }
}
