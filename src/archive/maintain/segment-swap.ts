/**
 * Swaps a replacement in: a segment that was written anew takes the place of the segment that it replaces. The catalog
 * gets the new places of all captures, and of all contents that the old segment held. Then the old segment is removed.
 *
 * The swap reads the replacement from its bytes, so that the catalog describes what is really there. An interrupted
 * swap can be run again, and then does the remaining work. The note with the two names stays until the old segment is
 * gone. The next opening of the archive, the next deletion or the next compaction finishes the swap before anything
 * else.
 *
 * ```
 *   note  adopting:<name of the replacement>     name of the segment that it replaces
 * ```
 */
import { assert, type Finding, PinakesError } from '../../base/index.ts';
import type { BlockKey, Capture, CatalogView, DeadRecord, Place, Segment } from '../../catalog/index.ts';
import { countersOf, findCapturesOf, namedContent, type RecordFacts, RUNS_NOTE } from '../../ledger/index.ts';
import { ifGiven } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { CatalogDraft } from '../revisit/catalog-draft.ts';
import { formatClues, unresolvedNote, unresolvedNotesOf } from '../revisit/revisit-clues.ts';
import { deletedOffsets } from '../segment/deleted-records.ts';
import { OddCounter, oddNote } from '../segment/odd-records.ts';
import { readReplaced } from '../segment/replacement.ts';
import { appliedNote } from '../segment/tombstones.ts';
import { recordsOf } from '../write/cataloguing.ts';

const SWAP_NOTE = 'adopting:';

const BATCH_RECORDS = 1000;

/** Swaps in a sealed replacement. Returns it as the catalog has it afterwards. */
export async function swapSegment(archive: OpenedArchive, replacement: Segment, replaced: Segment): Promise<Segment> {
  const { catalog, segmentRegistry, volumes, tombstones } = archive;
  const { name, volume } = replacement;
  const [info] = await volumes.get(volume).stat([name]);
  if (!info) throw new PinakesError('OBJECT_MISSING', { where: `volume ${volume}, object ${name}` });
  assert(info.sealed, 'a segment is sealed before it takes the place of another');
  const swap: Swap = {
    replaced,
    dead: new Map((await tombstones.list(replacement)).map(({ offset, block }) => [offset, block])),
    replacedDead: await deletedOffsets(archive, replaced),
  };
  let current: Segment = { ...replacement, state: 'sealed', bytes: info.bytes, records: 0, deadBytes: 0 };
  await catalog.write({ putSegments: [current], putNotes: { [SWAP_NOTE + name]: replaced.name } });
  segmentRegistry.put(current);
  let group: RecordFacts[] = [];
  const odd = new OddCounter();
  const commit = async () => {
    current = await swapGroup(archive, current, swap, group);
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
    putNotes: { ...(await tombstones.appliedNotes(name)), ...odd.notes(current.number) },
    // The notes of captures that stayed have moved with them.
    removeNotes: [
      ...Object.keys(await catalog.notes(unresolvedNotesOf(replaced.number))),
      oddNote(replaced.number),
      RUNS_NOTE + replaced.name,
    ],
    durable: true,
  });
  segmentRegistry.put(current);
  segmentRegistry.forget(replaced.number);
  countersOf(catalog).note('removedSegments', replaced.name);
  await removeReplaced(archive, current, replaced.name);
  return current;
}

/** The swaps that were begun and not finished: the name of each replacement with that of the segment it replaces. */
export async function pendingSwaps(catalog: Pick<CatalogView, 'notes'>): Promise<Map<string, string>> {
  const notes = Object.entries(await catalog.notes(SWAP_NOTE));
  return new Map(notes.map(([note, replaced]) => [note.slice(SWAP_NOTE.length), replaced]));
}

/** Finishes the swaps that were begun and not finished. */
export async function finishSwaps(archive: OpenedArchive): Promise<void> {
  const { catalog, segmentRegistry, volumes } = archive;
  for (const [name, replacedName] of await pendingSwaps(catalog)) {
    const replacement = await segmentRegistry.byName(name);
    // While its volume is missing, the swap waits for it. Nothing can be deleted from the segment meanwhile.
    if (replacement && volumes.failureOf(replacement.volume)) continue;
    const replaced = await segmentRegistry.byName(replacedName);
    if (replacement && replaced) await swapSegment(archive, replacement, replaced);
    else if (replacement) await removeReplaced(archive, replacement, replacedName);
    else await catalog.write({ removeNotes: [SWAP_NOTE + name] });
  }
}

/** Finishes interrupted swaps, and removes replacements whose swap never began. */
export async function settleReplacements(archive: OpenedArchive): Promise<void> {
  await finishSwaps(archive);
  const { segmentRegistry } = archive;
  for (const volume of archive.volumes.writable()) {
    for (const { name } of await volume.list()) {
      if (!/\.warc(\.gz|\.zst)?$/.test(name) || (await segmentRegistry.byName(name))) continue;
      // A file that the disk cannot read now is settled at a later opening.
      const replaced = await ifGiven(readReplaced(volume, name));
      if (replaced && (await segmentRegistry.byName(replaced.name)))
        await discardReplacement(archive, { volume: volume.name, name });
    }
  }
}

/** Removes a replacement that was not swapped in. */
export async function discardReplacement(
  { volumes, tombstones }: OpenedArchive,
  replacement: Pick<Segment, 'volume' | 'name'>,
): Promise<void> {
  await volumes.get(replacement.volume).remove([replacement.name]);
  await tombstones.remove(replacement);
}

/** Swaps in a replacement, or discards it when the swap fails before the catalog knows the replacement. */
export async function swapOrDiscard(archive: OpenedArchive, replacement: Segment, replaced: Segment): Promise<Segment> {
  try {
    return await swapSegment(archive, replacement, replaced);
  } catch (error) {
    // If the catalog knows the replacement, its swap is finished before the next change instead.
    if (!(await archive.segmentRegistry.find(replacement.number)))
      await discardReplacement(archive, replacement).catch(() => {});
    throw error;
  }
}

/** Removes the bytes of the old segment, which the catalog no longer has, and then the note about them. */
async function removeReplaced(archive: OpenedArchive, replacement: Segment, replacedName: string): Promise<void> {
  await archive.volumes.get(replacement.volume).remove([replacedName]);
  await archive.tombstones.remove({ name: replacedName });
  const applied = archive.volumes.settings().map(({ name }) => appliedNote(name, replacedName));
  await archive.catalog.write({ removeNotes: [SWAP_NOTE + replacement.name, ...applied] });
}

type Swap = {
  readonly replaced: Segment;
  /** Deleted records that the replacement still has, with their contents. */
  readonly dead: ReadonlyMap<number, BlockKey | undefined>;
  /** Offsets of the deleted records of the old segment. */
  readonly replacedDead: ReadonlySet<number>;
};

async function swapGroup(
  archive: OpenedArchive,
  segment: Segment,
  { replaced, dead, replacedDead }: Swap,
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
  const gone: (DeadRecord & { segment: number })[] = [];
  const inReplaced = capturesIn(replaced, segment.collection, found);
  for (const [index, facts] of captures.entries()) {
    const place = { segment: segment.number, offset: facts.offset, length: facts.length! };
    if (!dead.has(facts.offset)) {
      const known = inReplaced.get(identityOf(facts))?.pop();
      if (known) moveCapture(draft, known, facts, place);
      else if (!found[index]!.some((capture) => isAt(capture, place))) {
        // It was deleted after the replacement was written.
        gone.push({ ...place, block: namedContent(facts, archive.fingerprint) });
        deadBytes += place.length;
      }
      continue;
    }
    deadBytes += place.length;
    const key = dead.get(facts.offset);
    const block = facts.type === 'revisit' || !key ? undefined : draft.block(key);
    // Any of several deleted records with one content may become its holder. A live holder is never replaced by them.
    if (block?.holder.segment === replaced.number && replacedDead.has(block.holder.offset))
      draft.moveHolder(block.key, place);
  }
  const next: Segment = { ...segment, records: segment.records + group.length, deadBytes };
  draft.putSegment(next);
  if (gone.length > 0) await archive.commitGroup({ dead: gone });
  await archive.catalog.write(draft.batch());
  return next;
}

function isAt({ place }: Capture, { segment, offset }: Place): boolean {
  return place.segment === segment && place.offset === offset;
}

/**
 * The captures of the old segment, by identity. A record that is in the segment twice has two captures, the later one
 * first.
 */
function capturesIn(
  replaced: Segment,
  collection: number,
  found: readonly (readonly Capture[])[],
): Map<string, Capture[]> {
  const byIdentity = new Map<string, Capture[]>();
  for (const captures of found) {
    const [first] = captures;
    if (!first || byIdentity.has(identityOf(first))) continue;
    const own = captures.filter(
      (capture) => capture.place.segment === replaced.number && capture.collection === collection,
    );
    byIdentity.set(identityOf(first), own.reverse());
  }
  return byIdentity;
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
  const isHolder = block.holder.segment === known.place.segment && block.holder.offset === known.place.offset;
  if (isHolder || isPromoted) draft.moveHolder(block.key, place);
}
