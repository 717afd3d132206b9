/**
 * What healing does with one segment whose writer has ended, from its row and from what the volume has of it (H2, H3).
 *
 * ```
 *   row       volume                                  plan
 *   sealed    -                                       done
 *   sealing   all parts of the fixed list             seal
 *   sealing   its object, and parts are missing       adopt the object, which is sealed
 *   open      its sealed object                       adopt the object: it wins over any parts
 *   open      parts that follow the committed ones    adopt them, then seal
 *   open      a growing object                        adopt its end, then seal, and plan again
 *   open      a growing object of our own             adopt its end, then go on
 *   sealed    an object that has grown                adopt its end: a file of the archivist's
 *   sealed    a growing object                        adopt its end, then seal
 *   open      a growing object, read-only volume      adopt its end, and leave it
 *   open      nothing, and nothing was committed      drop the row
 *   any       less than was committed                 damaged
 * ```
 * The plan after a growing object was sealed finds what was appended meanwhile (H3). A growing object is our own under
 * an embedded catalog, since the lock of the catalog has kept all others away.
 */
import type { Segment } from '../../catalog/index.ts';
import { chainOf, endOf } from '../part-name.ts';
import type { FoundSegment, SegmentBytes } from '../segment-store.ts';

export type HealPlan =
  | { readonly kind: 'done' }
  | { readonly kind: 'seal' }
  | { readonly kind: 'drop' }
  | {
      readonly kind: 'adopt';
      /** All bytes of the segment. Those beyond the row's length are not in the catalog. */
      readonly content: SegmentBytes;
      readonly next: 'seal' | 'set sealed' | 'go on' | 'leave';
    }
  | { readonly kind: 'damaged'; readonly detail: string };

export type HealingRow = Pick<Segment, 'name' | 'state' | 'bytes' | 'parts'>;

export type HealingVolume = {
  readonly hasParts: boolean;
  readonly isWritable: boolean;
  /** Whether other processes may write to the volume, because the catalog is not embedded. */
  readonly isShared: boolean;
};

export function planHealing(row: HealingRow, found: FoundSegment, volume: HealingVolume): HealPlan {
  if (row.state === 'sealed') {
    const { object } = found;
    const isBehind = object && object.bytes >= row.bytes && !object.sealed && volume.isWritable;
    const hasGrown = object?.sealed && object.bytes > row.bytes;
    if (volume.hasParts || !(isBehind || hasGrown)) return { kind: 'done' };
  }
  return volume.hasParts ? planParts(row, found, volume) : planAppended(row, found, volume);
}

function planParts(row: HealingRow, { object, parts }: FoundSegment, { isShared }: HealingVolume): HealPlan {
  const { name, state, bytes, parts: committed = [] } = row;
  const chain = chainOf(parts, committed);
  if (state === 'sealing' && chain) return { kind: 'seal' };
  if (object) {
    if (object.bytes < bytes) return { kind: 'damaged', detail: shorter(object.bytes, bytes) };
    return { kind: 'adopt', content: { name, state: 'sealed', bytes: object.bytes }, next: 'set sealed' };
  }
  if (!chain) return { kind: 'damaged', detail: 'a part that was committed is missing' };
  const end = endOf(chain);
  if (end < bytes) return { kind: 'damaged', detail: shorter(end, bytes) };
  if (end === 0) return { kind: 'drop' };
  const next = isShared ? 'seal' : 'go on';
  return { kind: 'adopt', content: { name, state: 'open', bytes: end, parts: chain.map(asPart) }, next };
}

function asPart({ name, offset }: FoundSegment['parts'][number]): { name: string; offset: number } {
  return { name, offset };
}

function planAppended({ name, state, bytes }: HealingRow, { object }: FoundSegment, volume: HealingVolume): HealPlan {
  if (!object) return bytes === 0 ? { kind: 'drop' } : { kind: 'damaged', detail: 'the segment is missing' };
  if (object.bytes < bytes) return { kind: 'damaged', detail: shorter(object.bytes, bytes) };
  if (object.sealed)
    return { kind: 'adopt', content: { name, state: 'sealed', bytes: object.bytes }, next: 'set sealed' };
  if (state === 'sealing') return { kind: 'seal' };
  if (object.bytes === 0 && state !== 'sealed' && volume.isWritable) return { kind: 'drop' };
  const next = !volume.isWritable ? 'leave' : volume.isShared || state === 'sealed' ? 'seal' : 'go on';
  return { kind: 'adopt', content: { name, state: 'open', bytes: object.bytes }, next };
}

function shorter(found: number, committed: number): string {
  return `it has ${found} bytes, and ${committed} were committed`;
}
