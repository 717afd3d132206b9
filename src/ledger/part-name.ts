/**
 * Names of the parts of an open segment on a volume of immutable objects (P1), and which of the parts count (P2).
 *
 * ```
 *   _pinakes/open/<name of the segment>/<offset>-<attempt>.part
 * ```
 * A writer that has to put other bytes at an offset takes the next attempt, and its attempts only grow. So at one
 * offset the highest attempt counts, and a part whose attempt is below that of the part before it is from an earlier
 * group. The parts that the catalog names come first, whatever their attempts are.
 */
import type { SegmentPart } from '../catalog/index.ts';

const OPEN_FOLDER = '_pinakes/open/';

export type FoundPart = SegmentPart & { readonly attempt: number; readonly bytes: number };

export function partName(segment: string, offset: number, attempt: number): string {
  return `${OPEN_FOLDER}${segment}/${offset}-${attempt}.part`;
}

/** The folder of the parts of one segment, or of all. */
export function partsPrefix(segment?: string): string {
  return segment === undefined ? OPEN_FOLDER : `${OPEN_FOLDER}${segment}/`;
}

export type ParsedPartName = { readonly segment: string; readonly offset: number; readonly attempt: number };

export function parsePartName(name: string): ParsedPartName | undefined {
  const match = /^_pinakes\/open\/(.+)\/(\d{1,15})-(\d{1,15})\.part$/.exec(name);
  return match ? { segment: match[1]!, offset: Number(match[2]), attempt: Number(match[3]) } : undefined;
}

/**
 * The parts that make up the segment from its beginning on: the committed ones, then those that follow. Undefined when
 * a committed part is missing.
 */
export function chainOf(found: readonly FoundPart[], committed: readonly SegmentPart[]): FoundPart[] | undefined {
  const byName = new Map(found.map((part) => [part.name, part]));
  const chain: FoundPart[] = [];
  let end = 0;
  for (const { name, offset } of committed) {
    const part = byName.get(name);
    if (!part || offset !== end) return undefined;
    chain.push(part);
    end += part.bytes;
  }
  for (;;) {
    const lowest = chain.at(-1)?.attempt ?? 0;
    const next = found
      .filter(({ offset, attempt, bytes }) => offset === end && attempt >= lowest && bytes > 0)
      .sort((one, other) => other.attempt - one.attempt)[0];
    if (!next) return chain;
    chain.push(next);
    end += next.bytes;
  }
}

/** The length of the segment that these parts make up. */
export function endOf(chain: readonly FoundPart[]): number {
  const last = chain.at(-1);
  return last ? last.offset + last.bytes : 0;
}
