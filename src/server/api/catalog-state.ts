/**
 * A short text that changes whenever the archive does: what was computed under one text still holds under the same
 * text. From totals and from the lengths of the segments, which every change of captures moves.
 */
import { createHash } from 'node:crypto';
import type { Archive } from '../../archive/index.ts';

export async function catalogState(archive: Archive): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(await archive.totals()));
  for (const { number, volume, bytes, deadBytes } of archive.segments())
    hash.update(`${number} ${volume} ${bytes} ${deadBytes}\n`);
  return hash.digest('base64url');
}
