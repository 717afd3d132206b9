/**
 * What comes before captures are entered that the catalog does not have, so that no deleted capture is served (I6):
 *
 * - A catalog that is made again needs every volume, since records of deletions may be in any of them. Files that were
 *   added in place delete nothing, so those may be away.
 * - The marks of deletions are entered first. Captures with these marks are then entered as deleted.
 */
import { PinakesError } from '../../base/index.ts';
import type { Mark } from '../../catalog/index.ts';
import { isDeletionSegment, refusalOf, type SegmentStore, segmentRecords } from '../../ledger/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { isRebuilding } from '../segment/kept-places.ts';
import type { Found } from './found-segment.ts';

const MARKS_AT_ONCE = 10_000;

/** Whether all segments are entered: after the catalog was lost, or in a rebuild. */
export async function isMadeAgain(archive: OpenedArchive): Promise<boolean> {
  return archive.segmentRegistry.isNew || (await isRebuilding(archive));
}

/** Throws when a volume is away that may have records of deletions. With nothing to enter, nothing can be wrong. */
export function assertAllThere({ volumes, segmentRegistry }: OpenedArchive, found: readonly Found[]): void {
  if (found.length === 0) return;
  for (const { name, kind } of volumes.settings()) {
    if (kind === 'linked') continue;
    const failure = volumes.failureOf(name);
    if (failure) throw neededError(name, failure);
    if (segmentRegistry.unread.has(name)) throw neededError(name);
  }
}

function neededError(volume: string, cause?: PinakesError): PinakesError {
  const detail = cause?.message ?? 'it could not be listed';
  return new PinakesError('VOLUME_NEEDED', { where: `volume ${volume}`, detail, cause });
}

/** Whether an error means that a volume is away. A bucket is so while its server fails. */
export function isAway(error: unknown, { hasParts }: Pick<SegmentStore, 'hasParts'>): error is PinakesError {
  if (!(error instanceof PinakesError)) return false;
  return error.code === 'VOLUME_MISSING' || (hasParts && error.retryable);
}

/** Enters the marks of the deletion segments without a row. Their records are carried out when all is entered. */
export async function enterMarks(archive: OpenedArchive, found: readonly Found[], needsAll: boolean): Promise<void> {
  const { catalog } = archive;
  let marks: Mark[] = [];
  const enter = async () => {
    if (marks.length > 0) refusalOf(await catalog.commit({ deletedMarks: marks }));
    marks = [];
  };
  for (const { store, object, content } of found) {
    if (!isDeletionSegment(object) || (await catalog.segmentByName(object.name))) continue;
    try {
      for await (const { deletion } of segmentRecords(store, content, 0, object.bytes)) {
        marks.push(...(deletion?.deletion?.marks ?? []));
        if (marks.length >= MARKS_AT_ONCE) await enter();
      }
    } catch (error) {
      if (needsAll && isAway(error, store)) throw neededError(store.volume, error);
      // Damage is reported when the segment is healed.
      if (!(error instanceof PinakesError) || catalog.refusal) throw error;
    }
  }
  await enter();
}
