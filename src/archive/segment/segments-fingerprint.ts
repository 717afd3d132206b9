/**
 * A fingerprint of what the archive contains. It changes with every stored record, since that makes a segment longer or
 * begins a new one, and with the available volumes. While it is the same, nothing can have been stored that an earlier
 * search did not find.
 */
import { digestOf, toHex, utf8 } from '../../base/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

export function segmentsFingerprint({
  segmentRegistry,
  volumes,
}: Pick<OpenedArchive, 'segmentRegistry' | 'volumes'>): string {
  const segments = segmentRegistry.all().map(({ number, bytes }) => `${number}:${bytes}`);
  const there = volumes.available().map(({ name }) => name);
  return toHex(digestOf('sha256', utf8([...segments, ...there].join(' '))).bytes);
}
