/**
 * A short text that changes whenever the archive changes. Results that were computed for one text are valid while the
 * text stays equal. It is a hash of the totals and of the lengths of the segments, which every change of captures
 * alters.
 */
import { createHash } from 'node:crypto';
import type { Archive } from '../../archive/index.ts';

export async function catalogState(archive: Archive): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(await archive.totals()));
  for (const { number, volume, bytes, deadBytes } of await archive.segments())
    hash.update(`${number} ${volume} ${bytes} ${deadBytes}\n`);
  return hash.digest('base64url');
}
