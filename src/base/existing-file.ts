/**
 * No file that is there is replaced unasked, and nothing but a file ever is; neither stands a file for a directory nor
 * a directory for a file.
 */
import type { Stats } from 'node:fs';
import { readlink, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PinakesError } from './error.ts';

export async function refuseExisting(path: string, force = false): Promise<void> {
  const found = await foundAt(path);
  if (found?.isDirectory()) throw new PinakesError('FILE_IS_DIRECTORY', { where: path });
  if (found && !force) throw new PinakesError('FILE_EXISTS', { where: path });
  // What is written takes the name, which nobody wants of a device; `/dev/stdout` is one also when it leads to a file.
  const isOpenFile = (await readlink(path).catch(() => '')).startsWith('/proc/self/fd/');
  if (isOpenFile || found?.isFile() === false) throw new PinakesError('FILE_NOT_SEEKABLE', { where: path });
}

/**
 * A new file needs a directory to stand in. That one is missing is told of it, and not of the file, which nobody
 * expects to be there.
 */
export async function refuseMissingParent(path: string): Promise<void> {
  const parent = dirname(path);
  if (!(await foundAt(parent)))
    throw new PinakesError('FILE_MISSING', { where: parent, detail: 'the directory to write to' });
}

/** A directory to write to: one that is there, or still to be made. */
export async function refuseFileForDirectory(path: string | undefined): Promise<void> {
  if (path === undefined) return;
  const found = await foundAt(path);
  if (found?.isDirectory() === false) throw new PinakesError('FILE_NOT_DIRECTORY', { where: path });
}

/** Undefined when nothing is there. */
async function foundAt(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOTDIR') throw new PinakesError('FILE_NOT_DIRECTORY', { where: path, cause });
    return undefined;
  }
}
