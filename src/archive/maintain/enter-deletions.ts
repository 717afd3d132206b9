/**
 * Carries out deletions whose records are durable and not yet in the catalog: after a crash, and in a rebuild (D1).
 * What they are about is in the catalog by then.
 */
import { type Finding, PinakesError } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { adoptRecords } from '../../ledger/index.ts';
import type { ObjectInfo } from '../../volume/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { UNSWEPT_NOTE } from '../revisit/catalog-draft.ts';
import { refreshSegments } from './deleter.ts';

export async function enterDeletions(
  archive: OpenedArchive,
  segment: Segment,
  object: ObjectInfo,
  options: { readonly onFinding: (finding: Finding) => void; readonly signal?: AbortSignal | undefined },
): Promise<Segment> {
  const { catalog, collections, fingerprint, stores } = archive;
  // What is not read yet may have revisits of the contents that lose their last capture. They are swept when it is.
  await catalog.commit({ putNotes: { [UNSWEPT_NOTE]: 'yes' } });
  const collectionName = (number: number) => collections.name(number);
  const adopting = { ...options, catalog, lease: undefined, collectionName, fingerprint, keepsUnreferenced: true };
  const content = { ...segment, bytes: object.bytes };
  const adopted = await adoptRecords(
    adopting,
    stores.get(segment.volume),
    segment,
    content,
    object.sealed ? 'bury' : 'cut',
  );
  if (!adopted) throw new PinakesError('LEASE_LOST', { where: segment.name });
  await refreshSegments(
    archive,
    (await catalog.segments()).map(({ number }) => number),
  );
  return adopted.row;
}
