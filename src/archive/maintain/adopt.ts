/**
 * Puts a segment that was written anew into the place of the one it replaces: every capture moves to where its record
 * stands now, every content that the old segment held moves with it, and then the old segment goes.
 *
 * It reads the new segment back from its bytes, so what the catalog comes to say is what really stands there.
 * Interrupted and run again it does what is left to do: the note that names the two stays until the old segment is
 * gone, and the next opening of the archive, or the next deletion or compaction, sees to it first.
 */
import { assert, type Finding, PinakesError } from '../../base/index.ts';
import type { BlockKey, Capture, Place, Segment } from '../../catalog/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { findCapturesOf, type RecordFacts } from '../record-facts.ts';
import type { CatalogDraft } from '../revisit/catalog-draft.ts';
import { formatClues, unresolvedNote, unresolvedNotesOf } from '../revisit/revisit-clues.ts';
import { OddCounter, oddNote } from '../segment/odd-records.ts';
import { appliedNote } from '../segment/tombstones.ts';
import { recordsOf } from '../write/cataloguing.ts';

/** Says, by name, which segment is taking which one's place right now. */
const ADOPTING_NOTE = 'adopting:';

const BATCH_RECORDS = 1000;

export async function adoptSegment(archive: OpenedArchive, fresh: Segment, replaced: Segment): Promise<Segment> {
  const { catalog, segmentRegistry, volumes, tombstones } = archive;
  const [info] = await volumes.get(fresh.volume).stat([fresh.name]);
  if (!info) throw new PinakesError('OBJECT_MISSING', { where: `volume ${fresh.volume}, object ${fresh.name}` });
  assert(info.sealed, 'only a finished segment takes the place of another');
  const exchange: Exchange = {
    replaced,
    dead: new Map((await tombstones.list(fresh)).map(({ offset, block }) => [offset, block])),
    replacedDead: await tombstones.read(replaced),
  };
  let current: Segment = { ...fresh, state: 'sealed', bytes: info.bytes, records: 0, deadBytes: 0 };
  await catalog.write({ putSegments: [current], putNotes: { [ADOPTING_NOTE + fresh.name]: replaced.name } });
  segmentRegistry.put(current);
  let group: RecordFacts[] = [];
  const odd = new OddCounter();
  const commit = async () => {
    current = await adoptGroup(archive, current, exchange, group);
    group = [];
  };
  const reading = { onFinding: (finding: Finding) => archive.report(finding) };
  for await (const facts of recordsOf(archive, current, 0, current.bytes, reading)) {
    group.push(facts);
    odd.add(facts);
    if (group.length >= BATCH_RECORDS) await commit();
  }
  await commit();
  await catalog.write({
    removeSegments: [replaced.number],
    putSegments: [current],
    putNotes: { ...(await tombstones.appliedNotes(fresh.name)), ...odd.notes(current.number) },
    // Those of captures that stayed have moved with them.
    removeNotes: [...Object.keys(await catalog.notes(unresolvedNotesOf(replaced.number))), oddNote(replaced.number)],
    durable: true,
  });
  segmentRegistry.put(current);
  segmentRegistry.forget(replaced.number);
  await discardReplaced(archive, current, replaced.name);
  return current;
}

/** Exchanges of segments that were begun and not finished are finished. */
export async function finishAdoptions(archive: OpenedArchive): Promise<void> {
  for (const [note, replacedName] of Object.entries(await archive.catalog.notes(ADOPTING_NOTE))) {
    const fresh = archive.segmentRegistry.byName(note.slice(ADOPTING_NOTE.length));
    // What lies in a volume that is not there waits for it. Nothing can be deleted from it meanwhile.
    if (fresh && archive.volumes.failureOf(fresh.volume)) continue;
    const replaced = archive.segmentRegistry.byName(replacedName);
    if (fresh && replaced) await adoptSegment(archive, fresh, replaced);
    else if (fresh) await discardReplaced(archive, fresh, replacedName);
    else await archive.catalog.write({ removeNotes: [note] });
  }
}

/** The catalog speaks of the old segment no more: its bytes go, and then the note that it has to. */
async function discardReplaced(archive: OpenedArchive, fresh: Segment, replacedName: string): Promise<void> {
  await archive.volumes.get(fresh.volume).remove([replacedName]);
  await archive.tombstones.remove({ name: replacedName });
  const applied = archive.volumes.settings().map(({ name }) => appliedNote(name, replacedName));
  await archive.catalog.write({ removeNotes: [ADOPTING_NOTE + fresh.name, ...applied] });
}

type Exchange = {
  readonly replaced: Segment;
  /** Deleted records that the new segment still has, with their contents. */
  readonly dead: ReadonlyMap<number, BlockKey | undefined>;
  /** Offsets of the deleted records of the old one. */
  readonly replacedDead: ReadonlySet<number>;
};

async function adoptGroup(
  archive: OpenedArchive,
  segment: Segment,
  { replaced, dead, replacedDead }: Exchange,
  group: readonly RecordFacts[],
): Promise<Segment> {
  const draft = archive.newDraft();
  const captures = group.filter((facts) => facts.kind !== undefined);
  const found = await findCapturesOf(archive.catalog, captures);
  await draft.load([
    ...[...new Set(found)].flat().flatMap((capture) => (capture.block ? [capture.block.digest] : [])),
    ...captures.flatMap((facts) => dead.get(facts.offset)?.digest ?? []),
  ]);
  let deadBytes = segment.deadBytes;
  const standing = standingIn(replaced, segment.collection, found);
  for (const facts of captures) {
    const place = { segment: segment.number, offset: facts.offset, length: facts.length! };
    if (!dead.has(facts.offset)) {
      const known = standing.get(identityOf(facts))?.pop();
      if (known) moveCapture(draft, known, facts, place);
      continue;
    }
    deadBytes += place.length;
    const key = dead.get(facts.offset);
    const block = facts.type === 'revisit' || !key ? undefined : draft.block(key);
    // Where several deleted records have the content, any of them may hold it; a record that is not deleted never loses
    // it to one that is.
    if (block?.holder.segment === replaced.number && replacedDead.has(block.holder.offset))
      draft.moveHolder(block.key, place);
  }
  const next: Segment = { ...segment, records: segment.records + group.length, deadBytes };
  draft.putSegment(next);
  await archive.catalog.write(draft.batch());
  return next;
}

/**
 * The captures that stand in the old segment, by identity. Of records that stood twice each has its own, in the same
 * order: the last comes first.
 */
function standingIn(
  replaced: Segment,
  collection: number,
  found: readonly (readonly Capture[])[],
): Map<string, Capture[]> {
  const standing = new Map<string, Capture[]>();
  for (const captures of found) {
    const [first] = captures;
    if (!first || standing.has(identityOf(first))) continue;
    const own = captures.filter(
      (capture) => capture.place.segment === replaced.number && capture.collection === collection,
    );
    standing.set(identityOf(first), own.reverse());
  }
  return standing;
}

function identityOf({
  urlKey,
  time,
  hash,
}: Pick<Capture, 'urlKey' | 'hash'> & { time: Capture['time'] | undefined }): string {
  return `${hash} ${time} ${urlKey}`;
}

function moveCapture(draft: CatalogDraft, known: Capture, facts: RecordFacts, place: Place): void {
  const isPromoted = known.kind === 'revisit' && facts.type !== 'revisit';
  draft.moveCapture(known, {
    ...known,
    place,
    kind: facts.kind!,
    ...(isPromoted && { status: facts.status, mime: facts.mime }),
  });
  if (known.kind === 'revisit' && !known.block) {
    draft.removeNote(unresolvedNote(known.place));
    draft.putNote(unresolvedNote(place), formatClues(facts));
  }
  const block = known.block && draft.block(known.block);
  if (!block || facts.type === 'revisit') return;
  const holdsIt = block.holder.segment === known.place.segment && block.holder.offset === known.place.offset;
  if (holdsIt || isPromoted) draft.moveHolder(block.key, place);
}
