/** No file that is there is replaced unasked. */
import { stat } from 'node:fs/promises';
import { PinakesError } from './error.ts';

export async function refuseExisting(path: string, force = false): Promise<void> {
  if (force) return;
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  if (isThere) throw new PinakesError('FILE_EXISTS', { where: path });
}
