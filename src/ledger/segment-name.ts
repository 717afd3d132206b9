/**
 * Names of segments.
 *
 * ```
 *   <collection>/<stem>-<time>-<serial>-<host>.<suffix>      as its writer began it
 *   <collection>/...-<host>.s<incarnation>.<suffix>          what an earlier incarnation left open, sealed by a later
 *                                                            one (R3); it has the same bytes at the same offsets
 *   <collection>/...-<host>.s<incarnation>-<owner>.<suffix>  the same under an embedded catalog, whose lives may have
 *                                                            one incarnation; the number is that of the owner
 * ```
 */
import { formatTimestamp } from '../base/index.ts';
import type { Coding } from '../warc/index.ts';

export type NameParts = {
  readonly folder: string;
  /** What the last part of the name begins with. */
  readonly stem: string;
  readonly time: number;
  readonly serial: number;
  readonly host: string;
  readonly coding: Coding;
};

export function segmentName({ folder, stem, time, serial, host, coding }: NameParts): string {
  const milliseconds = String(time % 1000).padStart(3, '0');
  const safeHost = host.replace(/[^A-Za-z0-9.-]/g, '-') || 'host';
  const number = String(serial).padStart(5, '0');
  return `${folder}/${stem}-${formatTimestamp(time)}${milliseconds}-${number}-${safeHost}.${suffixOf(coding)}`;
}

function suffixOf(coding: Coding): string {
  return coding === 'gzip' ? 'warc.gz' : coding === 'zstd' ? 'warc.zst' : 'warc';
}

const SUFFIX = /\.warc(?:\.gz|\.zst)?$/;
const FRESH = /\.s(\d+)(?:-\d+)?(?=\.warc(?:\.gz|\.zst)?$)/;

export function isSegmentName(name: string): boolean {
  return SUFFIX.test(name) && !name.startsWith('_pinakes/');
}

/** The incarnation, or the owner in it, that seals what others left open. */
export type FreshSeal = { readonly incarnation: number; readonly owner?: number | undefined };

/** The name under which an incarnation seals what an earlier one left open (R3). */
export function freshName(name: string, { incarnation, owner }: FreshSeal): string {
  const number = owner === undefined ? `${incarnation}` : `${incarnation}-${owner}`;
  return name.replace(FRESH, '').replace(SUFFIX, (suffix) => `.s${number}${suffix}`);
}

/** The name under which the segment was begun. */
export function begunName(name: string): string {
  return name.replace(FRESH, '');
}

/** The incarnation that sealed the segment under this name (R3). Undefined: its writer did. */
export function incarnationOfName(name: string): number | undefined {
  const match = FRESH.exec(name);
  return match ? Number(match[1]) : undefined;
}

/** The folder of a segment, which names its collection. */
export function folderOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('/')));
}

export function lastPartOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
