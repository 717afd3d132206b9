/**
 * Replaces segments as ledger/replacement/swap.ts describes, with what the archive knows besides: its registry, notes
 * about places, files of tombstones of older archives.
 *
 * Under an embedded catalog, its lock already makes this process the only one that replaces segments. Each step takes
 * the compaction lease too, which marks the rows of replacements. So healing does not enter a replacement that a killed
 * process left.
 *
 * An older program noted a swap differently (old-lineage.ts). The swap that it left is given the notes of the ledger,
 * and finished.
 */
import { hostname } from 'node:os';
import { assert, type Finding, PinakesError } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import {
  compactionLease,
  type Followers,
  HeldLease,
  listedObjects,
  type PlacedFacts,
  pendingRelocations,
  pendingRemovals,
  pendingSwaps,
  REPLACED_NOTE,
  type RelocationOptions,
  Relocations,
  type Replacement,
  ReplacementWriter,
  RUNS_NOTE,
  Runs,
  readFacts,
  refusalOf,
  type SegmentKind,
  SWAPPING_NOTE,
  type SwapOptions,
  Swaps,
} from '../../ledger/index.ts';
import { type Field, readRecords } from '../../warc/index.ts';
import { keepLease } from '../cluster/keep-lease.ts';
import { inSegment } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { formatClues, unresolvedNote, unresolvedNotesOf } from '../revisit/revisit-clues.ts';
import { refreshSegments } from '../segment/listed-segment.ts';
import { OddCounter, oddNote } from '../segment/odd-records.ts';
import { oldNotesOf, readOldMoves, SWAP_NOTE } from '../segment/old-lineage.ts';
import { appliedNote } from '../segment/tombstones.ts';

/** Lists and begins a segment that replaces another one. What it replaces is sealed. */
export function beginReplacement(
  archive: OpenedArchive,
  replaced: Segment,
  kind: SegmentKind,
  fields: readonly Field[],
): Promise<ReplacementWriter> {
  return beginWriting(archive, [replaced], kind, fields, false);
}

/** Lists and begins a segment that replaces several others of one volume. They are sealed. */
export function beginMerge(
  archive: OpenedArchive,
  replaced: readonly Segment[],
  kind: SegmentKind,
): Promise<ReplacementWriter> {
  return beginWriting(archive, replaced, kind, [], false);
}

/** Lists and begins a segment in another volume for some records of a sealed segment. */
export function beginRelocation(archive: OpenedArchive, old: Segment, kind: SegmentKind): Promise<ReplacementWriter> {
  return beginWriting(archive, [old], kind, [], true);
}

function beginWriting(
  archive: OpenedArchive,
  olds: readonly Segment[],
  kind: SegmentKind,
  fields: readonly Field[],
  isRelocation: boolean,
): Promise<ReplacementWriter> {
  return withLease(archive, kind.volume, async ({ lease }) => {
    const { catalog, stores, clock, newId } = archive;
    const options = { catalog, stores, writer: archive.newWriter(lease), clock, newId };
    const written = await ReplacementWriter.begin(options, olds, kind, fields, isRelocation);
    archive.segmentRegistry.replacing.add(written.row.number);
    return written;
  });
}

/** Moves the records that were copied to a segment by relocation. Undefined: their old segment has changed. */
export async function relocateIn(archive: OpenedArchive, written: Replacement): Promise<Segment | undefined> {
  const { segmentRegistry, catalog } = archive;
  const { row, replaced } = written;
  const [old] = replaced;
  assert(old && replaced.length === 1, 'records of one segment move together');
  // Neither segment may be replaced meanwhile.
  const alone = <Answer>(work: () => Promise<Answer>): Promise<Answer> =>
    old.volume === row.volume ? work() : withLease(archive, old.volume, work);
  return alone(() =>
    withLease(archive, row.volume, async (held) => {
      const swaps = swapsOf(archive, row.volume, held);
      try {
        await enterTombstones(archive, old);
        // The new segment is read before its row says so.
        const { bytes, records, runs } = written;
        segmentRegistry.put({ ...row, state: 'sealed', bytes, records, roots: runs.roots });
        const moved = await new Relocations(relocationOf(archive, row.volume, held)).relocate(written);
        if (!moved) await swaps.discard(row);
        return moved;
      } catch (error) {
        await giveUp(archive, swaps, row, [row.number, old.number]).catch(() => {});
        throw error;
      } finally {
        segmentRegistry.replacing.delete(row.number);
        if (!(await catalog.segment(row.number).catch(() => row))) segmentRegistry.forget(row.number);
      }
    }),
  );
}

/** Swaps a replacement in, and removes the replaced segments. Returns the row of the replacement. */
export async function swapIn(archive: OpenedArchive, replacement: Replacement): Promise<Segment> {
  const { segmentRegistry, catalog } = archive;
  const { row, bytes, records, runs, replaced } = replacement;
  const numbers = [row, ...replaced].map(({ number }) => number);
  return withLease(archive, row.volume, async (held) => {
    const swaps = swapsOf(archive, row.volume, held);
    try {
      for (const old of replaced) await enterTombstones(archive, old);
      // Readers find the replacement as soon as the first capture is moved to it.
      segmentRegistry.put({ ...row, state: 'sealed', bytes, records, roots: runs.roots });
      // Only in a cluster can others change meanwhile what the plan relied on.
      if (!(await swaps.swap(replacement))) throw changedMeanwhile(archive, row);
      await refreshSegments(archive, numbers);
    } catch (error) {
      await giveUp(archive, swaps, row, numbers).catch(() => {});
      throw error;
    } finally {
      segmentRegistry.replacing.delete(row.number);
    }
    await swaps.removeReplaced();
    return (await catalog.segment(row.number))!;
  });
}

function changedMeanwhile({ cluster }: OpenedArchive, { volume }: Segment): PinakesError {
  assert(cluster, 'nothing that the plan relied on has changed');
  const detail = `contents of the volume ${volume} were changed while it was compacted; compact again`;
  return new PinakesError('ARCHIVE_BUSY', { detail });
}

/** After a failure: a swap that began is finished before the next change, and any other replacement is discarded. */
async function giveUp(archive: OpenedArchive, swaps: Swaps, row: Segment, numbers: readonly number[]): Promise<void> {
  // A catalog that takes no changes may have made the last one: only the next opening finds out.
  const isUnclear = archive.catalog.refusal !== undefined;
  if (!isUnclear && (await archive.catalog.segment(row.number))?.state === 'open')
    await swaps.discard(row).catch(() => {});
  await refreshSegments(archive, numbers);
}

/** Removes a replacement that is not swapped in. */
export async function discardReplacement(archive: OpenedArchive, row: Segment): Promise<void> {
  archive.segmentRegistry.replacing.delete(row.number);
  await withLease(archive, row.volume, (held) => swapsOf(archive, row.volume, held).discard(row));
}

/**
 * Finishes the swaps that began, removes what was replaced, and removes replacements whose swap never began. While a
 * volume is missing, its swaps wait for it.
 */
export async function finishSwaps(archive: OpenedArchive): Promise<void> {
  const { catalog, segmentRegistry, volumes } = archive;
  await takeOverOldSwaps(archive);
  const names = await volumesToSettle(archive);
  for (const { name } of volumes.writable()) {
    if (!names.has(name) || (await isBehind(archive, name))) continue;
    await withLease(archive, name, async (held) => {
      const swaps = swapsOf(archive, name, held);
      await swaps.finishSwaps();
      await new Relocations(relocationOf(archive, name, held)).finish();
      await swaps.removeReplaced();
      await swaps.discardUnfinished(segmentRegistry.replacing);
    });
  }
  if (names.size > 0) segmentRegistry.load(await catalog.segments());
}

/**
 * Whether the catalog may be older than a bucket, as after it was restored from a copy: a sealed segment is not there.
 * What looks like an unfinished replacement may have been swapped in since, so nothing is removed.
 */
async function isBehind({ catalog, stores }: OpenedArchive, volume: string): Promise<boolean> {
  const store = stores.get(volume);
  if (!store.hasParts) return false;
  const removed = new Set((await pendingRemovals(catalog)).keys());
  const there = new Set((await listedObjects(store)).map(({ name }) => name));
  return (await catalog.segments()).some(
    (row) => row.volume === volume && row.state === 'sealed' && !there.has(row.name) && !removed.has(row.name),
  );
}

/** The volumes in which a swap, a removal or a replacement was not finished. */
async function volumesToSettle({ catalog, segmentRegistry }: OpenedArchive): Promise<Set<string>> {
  const names = new Set<string>();
  for (const name of [...(await pendingSwaps(catalog)).keys(), ...(await pendingRelocations(catalog)).keys()]) {
    const row = await catalog.segmentByName(name);
    if (row) names.add(row.volume);
  }
  for (const { volume } of (await pendingRemovals(catalog)).values()) names.add(volume);
  for (const row of await segmentRegistry.all())
    if (isUnfinishedReplacement(row) && !segmentRegistry.replacing.has(row.number)) names.add(row.volume);
  return names;
}

/** Whether the row is of a replacement whose swap has not begun. Nothing of it is in the catalog. */
export function isUnfinishedReplacement({ state, lease, volume }: Segment): boolean {
  return state === 'open' && lease?.name === compactionLease(volume);
}

async function withLease<Answer>(
  archive: OpenedArchive,
  volume: string,
  work: (held: HeldLease) => Promise<Answer>,
): Promise<Answer> {
  const { catalog, newId, cluster } = archive;
  // In a cluster, it is held for the whole of a compaction.
  const own = cluster?.compactionOf(volume);
  if (own?.isLost) throw new PinakesError('LEASE_LOST', { where: own.lease.name });
  if (own) return work(own);
  const options = { lifeMs: cluster?.lifeMs, keep: keepLease };
  const held = await HeldLease.take(catalog, compactionLease(volume), `${hostname()}, ${newId()}`, options);
  if (!held) throw new PinakesError('ARCHIVE_BUSY', { detail: `the volume ${volume} is being compacted` });
  try {
    return await work(held);
  } finally {
    await held.end();
  }
}

function swapsOf(archive: OpenedArchive, volume: string, held: HeldLease): Swaps {
  const { cluster, tombstones } = archive;
  return new Swaps({
    ...besidesOf(archive, volume, held),
    // Readers in this process read on in the replacement.
    graceMs: cluster?.graceMs ?? 0,
    onRemoved: (name) => tombstones.remove({ name }),
  });
}

function relocationOf(archive: OpenedArchive, volume: string, held: HeldLease): RelocationOptions {
  const { fingerprint } = archive;
  const onStep = (numbers: readonly number[]) => refreshSegments(archive, numbers);
  return { ...besidesOf(archive, volume, held), fingerprint, onStep };
}

/** What the archive knows of records that move. */
function besidesOf(
  archive: OpenedArchive,
  volume: string,
  { lease }: HeldLease,
): Omit<SwapOptions, 'graceMs' | 'onRemoved'> {
  const { catalog, stores, clock, tombstones, volumes } = archive;
  let odd = new OddCounter();
  return {
    catalog,
    stores,
    volume,
    lease,
    clock,
    async *read(segment, from, to) {
      if (from === 0) odd = new OddCounter();
      for await (const facts of placedRecords(archive, segment, from, to)) {
        odd.add(facts);
        yield facts;
      }
    },
    followers,
    atEnd: async (replacement, replaced) => {
      const names = volumes.settings().map(({ name }) => name);
      const removeNotes: string[] = [];
      for (const { name, number } of replaced) {
        removeNotes.push(oddNote(number), ...names.map((other) => appliedNote(other, name)));
        // Those of captures that stay have moved with them.
        removeNotes.push(...Object.keys(await catalog.notes(unresolvedNotesOf(number))));
      }
      const applied = await tombstones.appliedNotes(replacement.name);
      return { putNotes: { ...applied, ...odd.notes(replacement.number) }, removeNotes };
    },
  };
}

/** The notes about revisits without a known content, which have the places of the revisits. */
const followers: Followers = async (moves) => {
  const unresolved = moves.filter(({ to }) => to.kind === 'revisit' && !to.block);
  return {
    removeNotes: unresolved.map(({ from }) => unresolvedNote(from.place)),
    putNotes: Object.fromEntries(unresolved.map(({ to, facts }) => [unresolvedNote(to.place), formatClues(facts)])),
  };
};

/** Every record that a swap moves, with the damaged ones. */
async function* placedRecords(
  archive: OpenedArchive,
  segment: Segment,
  from: number,
  to: number,
): AsyncGenerator<PlacedFacts> {
  const { access, stores } = archive;
  const isOwn = await access.isOwn(segment);
  const dictionary = await access.dictionaryOf(segment.number);
  const onFinding = (finding: Finding) => archive.report(inSegment(finding, isOwn));
  const records = readRecords(stores.get(segment.volume).stream(segment, from, to), {
    name: segment.name,
    offset: from,
    inputBytes: to - from,
    dictionary: dictionary && Buffer.from(dictionary),
    onFinding,
  });
  for await (const record of records) {
    const { facts } = await readFacts(record, segment.name, onFinding);
    assert(facts.length !== undefined, 'every record of a replacement has a member of its own');
    yield facts as PlacedFacts;
  }
}

/** Enters the deleted records that an older program noted beside a segment, so that the swap knows their contents. */
async function enterTombstones(archive: OpenedArchive, segment: Segment): Promise<void> {
  const { catalog, tombstones } = archive;
  const { number } = segment;
  const known = new Set((await catalog.deadRecords(number)).map(({ offset }) => offset));
  const noted = await tombstones.listApplied(segment);
  const unknown = noted.filter(({ offset }) => !known.has(offset));
  // Their lengths are in the count of dead bytes already.
  const dead = unknown.map(({ offset, block }) => ({ segment: number, offset, length: 0, block }));
  if (dead.length > 0) refusalOf(await archive.commitGroup({ dead }));
}

/** The swaps that an older program began, as those of this program. Each commit can be made again. */
async function takeOverOldSwaps(archive: OpenedArchive): Promise<void> {
  const { catalog, segmentRegistry, volumes, clock } = archive;
  for (const [note, replacedName] of Object.entries(await catalog.notes(SWAP_NOTE))) {
    const replacement = await segmentRegistry.byName(note.slice(SWAP_NOTE.length));
    if (replacement && volumes.failureOf(replacement.volume)) continue;
    const replaced = await segmentRegistry.byName(replacedName);
    if (!replacement) refusalOf(await catalog.commit({ removeNotes: [note] }));
    else if (replaced) await takeOver(archive, note, replacement, replaced);
    else {
      const removal = JSON.stringify({ by: replacement.name, volume: replacement.volume, at: clock() });
      const putNotes = { [REPLACED_NOTE + replacedName]: removal };
      refusalOf(await catalog.commit({ putNotes, removeNotes: [note] }));
    }
  }
}

async function takeOver(archive: OpenedArchive, note: string, replacement: Segment, replaced: Segment): Promise<void> {
  const { catalog, segmentRegistry } = archive;
  const { name, number, state, bytes, volume } = replacement;
  await enterTombstones(archive, replaced);
  const { origin, moves } = await readOldMoves(catalog, name);
  const before = Runs.ofRoot({ name: replaced.name, sequence: origin }, replaced.bytes);
  const runs = new Runs();
  // A record that was written anew is a run of one byte there, too.
  for (const { from, to, length } of moves) runs.add(before, { from, offset: to, bytes: length, isAnew: length === 1 });
  let records = 0;
  for await (const _ of placedRecords(archive, replacement, 0, bytes)) records++;
  const to = { state: 'sealed', records, roots: runs.roots } as const;
  const putNotes = { [SWAPPING_NOTE + name]: JSON.stringify([replaced.name]), [RUNS_NOTE + name]: runs.toNote() };
  const segments = [{ number, from: { state, bytes, volume }, to }];
  refusalOf(await catalog.commit({ segments, putNotes, removeNotes: [note, ...oldNotesOf(name)], durable: true }));
  segmentRegistry.put({ ...replacement, ...to });
}
