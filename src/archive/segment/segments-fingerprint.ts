/**
 * A mark of what the archive holds: it changes with every record that comes in, since that makes a segment longer, or a
 * new one. Volumes count too: one that was not there may be back. Where the mark is what it was, nothing that was
 * looked for in vain can have come in.
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
