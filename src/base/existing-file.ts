/** No file that is there is replaced unasked, and neither stands a file for a directory nor a directory for a file. */
import { stat } from 'node:fs/promises';
import { PinakesError } from './error.ts';

export async function refuseExisting(path: string, force = false): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) throw new PinakesError('FILE_IS_DIRECTORY', { where: path });
  if (found && !force) throw new PinakesError('FILE_EXISTS', { where: path });
}

/** A directory to write to: one that is there, or still to be made. */
export async function refuseFileForDirectory(path: string | undefined): Promise<void> {
  if (path === undefined) return;
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === false) throw new PinakesError('FILE_NOT_DIRECTORY', { where: path });
}
