/**
 * Makes directories with their parents. Node's own function never ends where a file system answers "not found" to every
 * new name, as /proc does. Here such a name is tried once more, and then is an error.
 */
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PinakesError } from './error.ts';

/**
 * Makes a directory and its missing parents. Returns the outermost directory that it made; undefined when it made none.
 */
export async function makeDirectories(path: string): Promise<string | undefined> {
  try {
    return await makeOne(path);
  } catch (cause) {
    const parent = dirname(path);
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT' || parent === path) throw cause;
    const outermost = await makeDirectories(parent);
    const made = await makeOne(path).catch((again: NodeJS.ErrnoException) => {
      if (again.code !== 'ENOENT') throw again;
      throw new PinakesError('FILE_UNWRITABLE', { where: path, detail: 'no directory can be made here', cause: again });
    });
    return outermost ?? made;
  }
}

/** The directory if it was made; undefined if it existed. */
async function makeOne(path: string): Promise<string | undefined> {
  try {
    await mkdir(path);
    return path;
  } catch (cause) {
    const isThere = await stat(path).then(
      (info) => info.isDirectory(),
      () => false,
    );
    if (isThere) return undefined;
    throw cause;
  }
}
