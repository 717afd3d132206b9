/**
 * A fingerprint of the contents of the archive. It changes with the available volumes and with every stored record,
 * which makes a segment longer or begins a new one, or is found later in a file that the disk could not read before.
 * While it is unchanged, a search that found nothing need not be repeated.
 */
import { digestOf, toHex, utf8 } from '../../base/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

export async function segmentsFingerprint({
  segmentRegistry,
  volumes,
}: Pick<OpenedArchive, 'segmentRegistry' | 'volumes'>): Promise<string> {
  const segments = (await segmentRegistry.all())
    .map(({ name, bytes, records }) => `${name}:${bytes}:${records}`)
    .sort();
  const there = volumes.available().map(({ name }) => name);
  return toHex(digestOf('sha256', utf8([...segments, '', ...there].join('\n'))).bytes);
}
