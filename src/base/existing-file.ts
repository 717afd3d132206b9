/**
 * Checks paths before writing. An existing file is replaced only on request. A directory, device or pipe is never
 * replaced. A file in the place of a directory is refused.
 */
import type { Stats } from 'node:fs';
import { readlink, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PinakesError } from './error.ts';

export async function refuseExisting(path: string, force = false): Promise<void> {
  const found = await foundAt(path);
  if (found?.isDirectory()) throw new PinakesError('FILE_IS_DIRECTORY', { where: path });
  if (found && !force) throw new PinakesError('FILE_EXISTS', { where: path });
  // The new file would take the name of the device. `/dev/stdout` counts as a device also when it leads to a file.
  const isOpenFile = (await readlink(path).catch(() => '')).startsWith('/proc/self/fd/');
  if (isOpenFile || found?.isFile() === false) throw new PinakesError('FILE_NOT_SEEKABLE', { where: path });
}

/**
 * Fails when the directory of a new file is missing. The error names the directory, not the file: the file is not
 * expected to exist.
 */
export async function refuseMissingParent(path: string): Promise<void> {
  const parent = dirname(path);
  if (!(await foundAt(parent)))
    throw new PinakesError('FILE_MISSING', { where: parent, detail: 'the directory to write to' });
}

/** Fails when a directory to write to is a file. A missing directory is accepted, because it will be made. */
export async function refuseFileForDirectory(path: string | undefined): Promise<void> {
  if (path === undefined) return;
  const found = await foundAt(path);
  if (found?.isDirectory() === false) throw new PinakesError('FILE_NOT_DIRECTORY', { where: path });
}

/** Undefined when the path does not exist. */
async function foundAt(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOTDIR') throw new PinakesError('FILE_NOT_DIRECTORY', { where: path, cause });
    return undefined;
  }
}
