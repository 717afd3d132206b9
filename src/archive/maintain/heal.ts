/**
 * The work at the opening of an archive: the catalog is updated from the segments (I3).
 *
 * - An unknown segment is catalogued from its beginning, and a segment that grew is catalogued from its former end.
 * - Bytes after the last whole record of an open segment are cut off.
 * - Deletions that the catalog does not know of are carried out: those with a durable record, and those of older
 *   versions with durable tombstones. Their marks are entered before any capture (made-again.ts).
 * - A segment that is missing, shorter than in the catalog, or unreadable is reported and left as it is. Other segments
 *   are healed all the same.
 * - A replacement whose swap began is swapped in, and any other one is removed.
 * - The catalog may have neither a replacement nor the replaced segment, for example when the restored files were
 *   copied at different times. The replaced segment may then be an older state. It is removed unread, after the
 *   replacement was read from its beginning to its end.
 */
import { type Finding, PinakesError } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import {
  type HealingOptions,
  healSegment,
  type IncarnationList,
  isDeletionSegment,
  isUnswept,
  marksOf,
  namedContent,
  readReplacedNotes,
  refusalOf,
  type SegmentBytes,
  type SegmentStore,
  segmentRecords,
  sweepContents,
} from '../../ledger/index.ts';
import { readRecords } from '../../warc/index.ts';
import { inSegment, isBadSector } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { CatalogForeignRevisits } from '../revisit/foreign-revisits.ts';
import { resolveLater } from '../revisit/resolve-later.ts';
import { listedSegment, unlistSegment } from '../segment/listed-segment.ts';
import { countOdd, OddCounter } from '../segment/odd-records.ts';
import { type ReplacedSegment, readReplaced } from '../segment/replacement.ts';
import { kindOfSegment } from '../segment/segment-kind.ts';
import { finishDeletions } from './finish-delete.ts';
import { type Found, isNoteOfNow, newestList, removeFound, segmentsIn } from './found-segment.ts';
import { assertAllThere, enterMarks, isAway, isMadeAgain } from './made-again.ts';
import { finishSwaps, isUnfinishedReplacement } from './segment-swap.ts';

/** The collection of files that are not in a folder. */
const DEFAULT_COLLECTION = 'default';
const HOW_TO_REPAIR = 'restore it from a backup, or run `pinakes rebuild` to continue with what is left';

export type HealOptions = {
  /** Called with every segment that was read or changed. */
  readonly onProgress?: ((segment: Segment) => void) | undefined;
  /** Called with every finding in the segments, instead of the `onFinding` that the archive was opened with. */
  readonly onFinding?: ((finding: Finding) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** Notes of segments whose parts were found without a row, until they are sealed under a name of this owner. */
const FRESH_NOTE = 'fresh:';

type HealingOfAll = HealOptions & {
  /** Whether the segment was found without a row and is not sealed yet. */
  readonly isFresh: (name: string) => boolean;
  /** Whether the catalog had no captures when healing began. */
  readonly isEmpty: boolean;
};

export async function healArchive(archive: OpenedArchive, options: HealOptions): Promise<void> {
  archive.segmentRegistry.unread.clear();
  const isEmpty = (await archive.catalog.totals()).captures === 0;
  if (isEmpty) archive.resolutionFilter.restart();
  await reportingErrors(archive, 'swap of segments', () => finishSwaps(archive));
  await dropEmptyRows(archive);
  // Rows of replacements that are being written are in the catalog only.
  const names = new Map((await archive.catalog.segments()).map((segment) => [segment.name, segment]));
  const lists = await newestLists(archive);
  const fresh = await archive.catalog.notes(FRESH_NOTE);
  const isFresh = (name: string) => FRESH_NOTE + name in fresh;
  const listed = await listSegments(archive, names, lists);
  const needsAll = await isMadeAgain(archive);
  if (needsAll) assertAllThere(archive, listed);
  await enterMarks(archive, listed, needsAll);
  const unclear = new Set<Found>();
  const written = await findReplacements(archive, listed, names, unclear);
  const { stale, apart } = await removeStale(archive, listed, written, { names, lists });
  const found = listed.filter((one) => !stale.has(one));
  const volumeOf = new Map<string, Found>();
  for (const one of found) {
    const other = volumeOf.get(one.object.name);
    if (!other || isBetter(one, other)) volumeOf.set(one.object.name, one);
  }
  const present = new Set(found.map(({ object }) => object.name));
  const replacements = written.filter(
    (one) =>
      !stale.has(one.found) && !apart.has(one.found) && (!one.found.object.sealed || present.has(one.replaced.name)),
  );
  const isReplacement = new Set(replacements.map((one) => one.found));
  const healAll = async (some: readonly Found[]) => {
    for (const one of some) if (!isReplacement.has(one) && !unclear.has(one)) await healOne(one);
  };
  const healOne = async (one: Found) => {
    const { store, object } = one;
    const known = names.get(object.name);
    if (known && isUnfinishedReplacement(known)) return;
    const counts = known ? known.volume === store.volume : volumeOf.get(object.name) === one;
    // A segment that is completely in the catalog is not noted as unread, even if it cannot be read now.
    const onError = () => {
      if (counts && object.bytes > (known?.bytes ?? -1)) archive.segmentRegistry.unread.add(object.name);
    };
    const work = () =>
      counts ? healObject(archive, one, known, { ...options, isEmpty, isFresh }) : settleDouble(archive, one);
    const healed = await reportingErrors(archive, whereIs(one), work, onError);
    if (!healed) return;
    names.set(healed.name, healed);
    options.onProgress?.(healed);
  };
  await healAll(found.filter(({ object }) => !isDeletionSegment(object)));
  await resolveLater(archive);
  // A replacement is settled before a replacement of that replacement.
  const byName = new Map(replacements.map((one) => [one.found.object.name, one]));
  const inOrder = replacements.toSorted(
    (a, b) => depth(byName, a.found.object.name) - depth(byName, b.found.object.name),
  );
  for (const one of inOrder) {
    const isDouble = found.some((other) => other !== one.found && other.object.name === one.found.object.name);
    await reportingErrors(archive, whereIs(one.found), () => settleReplacement(archive, one, isDouble));
  }
  // Deletions come last: everything that they are about is in the catalog.
  await healAll(found.filter(({ object }) => isDeletionSegment(object)));
  await finishDeletions(archive);
  // Missing volumes and unread segments may contain captures of contents that nothing else refers to.
  if (archive.volumes.failures().length === 0 && archive.segmentRegistry.unread.size === 0)
    if (await isUnswept(archive.catalog)) await sweepContents(archive);
}

/**
 * Removes the rows of open segments without a committed record. A writer that died before its first commit leaves such
 * a row. What the object has is catalogued like a segment that the catalog does not know.
 */
async function dropEmptyRows(archive: OpenedArchive): Promise<void> {
  for (const segment of await archive.segmentRegistry.all())
    if (segment.state === 'open' && segment.bytes === 0 && !isUnfinishedReplacement(segment))
      await unlistSegment(archive, segment);
}

function depth(replacements: ReadonlyMap<string, FoundReplacement>, name: string): number {
  const one = replacements.get(name);
  return one && one.replaced.name !== name ? 1 + depth(replacements, one.replaced.name) : 0;
}

/** A replacement, and the segment that it replaces. */
type FoundReplacement = { readonly found: Found; readonly replaced: ReplacedSegment };

function whereIs({ store, object }: Found): string {
  return `${store.volume}: ${object.name}`;
}

/** The newest list of an incarnation in each volume. */
type Lists = ReadonlyMap<string, IncarnationList | undefined>;

async function newestLists({ stores }: OpenedArchive): Promise<Lists> {
  const lists = new Map<string, IncarnationList | undefined>();
  // A volume that disappears meanwhile is reported when it is listed.
  for (const store of stores.available())
    lists.set(
      store.volume,
      await newestList(store).catch((error: unknown) => {
        if (!isAway(error, store)) throw error;
        return undefined;
      }),
    );
  return lists;
}

/** The segments in all volumes, volume by volume, in order of name. */
async function listSegments(
  archive: OpenedArchive,
  rows: ReadonlyMap<string, Segment>,
  lists: Lists,
): Promise<Found[]> {
  const found: Found[] = [];
  for (const store of archive.stores.available()) {
    try {
      const { found: segments } = await segmentsIn(store, rows, lists.get(store.volume));
      await reportMissing(archive, store, segments);
      reportDamagedLinks(archive, store);
      found.push(...segments);
    } catch (error) {
      if (!isAway(error, store)) throw error;
      archive.segmentRegistry.unread.add(store.volume);
      reportError(archive, `volume ${store.volume}`, error);
    }
  }
  return found;
}

/**
 * Reports damaged lines in the list of files that were added in place. The files in these lines are unknown, and so are
 * the contents that their captures refer to.
 */
function reportDamagedLinks(archive: OpenedArchive, { volume: name }: SegmentStore): void {
  const { damagedLines = [] } = archive.volumes.linked(name) ?? {};
  if (damagedLines.length === 0) return;
  archive.segmentRegistry.unread.add(name);
  const which = `${damagedLines.length === 1 ? 'line' : 'lines'} ${damagedLines.slice(0, 10).join(', ')}`;
  const message = `${which} of its list of files cannot be read; restore the list from a backup, or remove the damaged lines and add the files again`;
  archive.report({ code: 'links-damaged', level: 'error', file: `volume ${name}`, offset: 0, message });
}

/**
 * Segments of the catalog that are missing from an available volume. They are reported together, since there may be
 * very many.
 */
async function reportMissing(
  archive: OpenedArchive,
  { volume, hasParts }: SegmentStore,
  found: readonly Found[],
): Promise<void> {
  const there = new Set(found.map(({ object }) => object.name));
  const missing = (one: Segment) => one.volume === volume && !there.has(one.name);
  const [first, ...others] = (await archive.segmentRegistry.all()).filter(missing);
  if (!first) return;
  // The catalog may be older than the bucket. Until it was made again, nothing is removed.
  if (hasParts) for (const { name } of [first, ...others]) archive.segmentRegistry.unread.add(name);
  const more = others.length === 0 ? '' : `, nor ${others.length === 1 ? 'is' : 'are'} ${others.length} more`;
  const message = `the segment is not in its volume${more}; ${HOW_TO_REPAIR}`;
  archive.report({
    code: 'segment-missing',
    level: 'error',
    file: `${volume}: ${first.name}`,
    offset: 0,
    message,
  });
}

/** Which of two objects of one name is used when the catalog has neither: the sealed one, or else the longer one. */
function isBetter(one: Found, other: Found): boolean {
  if (one.object.sealed !== other.object.sealed) return one.object.sealed;
  return one.object.bytes > other.object.bytes;
}

/** Does some work for one segment. An error of that segment is reported and does not stop the opening. */
async function reportingErrors<T>(
  archive: OpenedArchive,
  where: string,
  work: () => Promise<T>,
  onError?: () => void,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PinakesError) || !(SEGMENT_ERRORS.has(error.code) || isBadSector(error))) throw error;
    onError?.();
    reportError(archive, where, error);
    return undefined;
  }
}

/** Errors of one segment, as opposed to errors of the disk that the archive will write to. */
const SEGMENT_ERRORS: ReadonlySet<string> = new Set([
  'BAD_ARGUMENT',
  'FILE_IS_DIRECTORY',
  'FILE_MISSING',
  'FILE_UNREACHABLE',
  'FILE_UNREADABLE',
  'NOT_LINKABLE',
  'OBJECT_CHANGED',
  'OBJECT_MISSING',
  'OBJECT_MOVED',
  'VOLUME_MISSING',
  'VOLUME_TAKEN',
]);

function reportError(archive: OpenedArchive, file: string, error: PinakesError): void {
  archive.report({ code: 'segment-not-healed', level: 'error', file, offset: 0, message: error.message });
}

/** The segment after a change. Undefined when the catalog is up to date. */
async function healObject(
  archive: OpenedArchive,
  found: Found,
  segment: Segment | undefined,
  options: HealingOfAll,
): Promise<Segment | undefined> {
  const { store, object } = found;
  const isAsListed = object.bytes === segment?.bytes && object.sealed === (segment.state === 'sealed');
  if (segment && isAsListed && segment.state !== 'sealing' && !options.isFresh(object.name)) {
    if (!object.sealed && store.isWritable) await resumeSegment(archive, segment);
    return undefined;
  }
  return healUnequal(archive, found, segment, options);
}

/**
 * Replacements that the catalog does not know. `unclear` gets the objects that cannot be read now. They are not
 * catalogued, even if they can be read a moment later: such an object may be a void replacement, which would bring back
 * deleted captures.
 */
async function findReplacements(
  archive: OpenedArchive,
  found: readonly Found[],
  names: ReadonlyMap<string, Segment>,
  unclear: Set<Found>,
): Promise<FoundReplacement[]> {
  const written: FoundReplacement[] = [];
  for (const one of found) {
    // Files that were added in place are never replacements.
    if (names.has(one.object.name) || archive.volumes.linked(one.store.volume)) continue;
    const onError = () => {
      unclear.add(one);
      archive.segmentRegistry.unread.add(one.object.name);
    };
    const work = () => readReplaced(one.store, one.content);
    const replaced = await reportingErrors(archive, whereIs(one), work, onError);
    if (replaced && replaced.name !== one.object.name) written.push({ found: one, replaced });
  }
  return written;
}

/**
 * Removes replaced segments that the catalog does not know. They may be older states: still open, although a replaced
 * segment is always sealed, or without their last tombstones. Cataloguing an older state would bring back deleted
 * captures and lose captures that were stored later. When the replacement is damaged, or the old segment cannot be
 * removed, both are kept `apart`: some captures then occur twice, and none is lost.
 */
async function removeStale(
  archive: OpenedArchive,
  found: readonly Found[],
  written: readonly FoundReplacement[],
  { names, lists }: { readonly names: ReadonlyMap<string, Segment>; readonly lists: Lists },
): Promise<{ stale: ReadonlySet<Found>; apart: ReadonlySet<Found> }> {
  const byName = Map.groupBy(found, ({ object }) => object.name);
  const stale = new Set<Found>();
  const apart = new Set<Found>();
  for (const { found: later, replaced } of written) {
    if (!later.object.sealed || names.has(replaced.name)) continue;
    const olds = byName.get(replaced.name);
    if (!olds) continue;
    const tombstoneBytes = await archive.tombstones.bytes(replaced.name);
    // More was deleted after the replacement was written, so the replacement is void.
    if (tombstoneBytes > replaced.tombstoneBytes) continue;
    // A sealed segment is complete, and counts unless its swap was noted (R1). What an unfinished compaction wrote may
    // refer to contents that are gone.
    const isComplete = olds.some(({ object }) => object.sealed);
    if (replaced.isNotedWhenSwapped && isComplete && !(await isNoted(archive, later, replaced, lists))) continue;
    const canGo = olds.every(({ store }) => store.isWritable);
    if (canGo && (await reportingErrors(archive, whereIs(later), () => isSound(later))))
      for (const old of olds) stale.add(old);
    else apart.add(later);
  }
  for (const old of stale) {
    await removeFound(old);
    await archive.tombstones.remove(old.object);
  }
  return { stale, apart };
}

/** Whether a volume has a note that the swap of this replacement was made. */
async function isNoted(
  { stores }: OpenedArchive,
  { store, object }: Found,
  { name }: ReplacedSegment,
  lists: Lists,
): Promise<boolean> {
  const list = lists.get(store.volume);
  const notes = await readReplacedNotes(stores, (note) => note.old === name && isNoteOfNow(note, list));
  return notes.of(name)?.by === object.name;
}

/** Whether every byte of a segment can be read as records. */
async function isSound({ store, object, content }: Found): Promise<boolean> {
  let sound = true;
  // Zeros in place of a record look like padding, which our segments never have.
  const onFinding = ({ level, code }: Finding) => {
    if (level === 'error' || code === 'padding-skipped') sound = false;
  };
  for await (const record of readRecords(store.stream(content, 0, object.bytes), { name: object.name, onFinding }))
    for await (const _ of record.body());
  return sound;
}

/** Removes a replacement that the catalog does not know, since the replaced segment has all of its records. */
async function settleReplacement(
  archive: OpenedArchive,
  { found, replaced }: FoundReplacement,
  isDouble: boolean,
): Promise<undefined> {
  const { store, object } = found;
  const old = await archive.segmentRegistry.byName(replaced.name);
  // If the replaced segment could not be read, a sealed replacement may be all that is left of it, although it contains
  // records that were deleted later.
  if (!store.isWritable) return;
  const isNeeded = !old || !((await isThere(archive, old)) || (await isContained(archive, found, old)));
  if (object.sealed && isNeeded) return;
  await removeFound(found);
  // If another object has this name, the tombstones belong to that object.
  if (!isDouble) await archive.tombstones.remove(object);
}

/** Whether the object of a segment has the length that the catalog says. */
async function isThere({ stores }: OpenedArchive, { volume, name, bytes }: Segment): Promise<boolean> {
  const { object } = await stores.get(volume).find(name);
  return object?.sealed === true && object.bytes >= bytes;
}

/**
 * Whether the catalog has, or has deleted, each capture of a replacement. Such a replacement is void: it was made of an
 * older state of the segment.
 */
async function isContained(
  { catalog, collections, fingerprint }: OpenedArchive,
  { store, object: { bytes }, content }: Found,
  { collection }: Segment,
): Promise<boolean> {
  let isSound = true;
  const onFinding = ({ level }: Finding) => {
    if (level === 'error') isSound = false;
  };
  const records = segmentRecords(store, content, 0, bytes, { onFinding });
  const collectionName = await collections.name(collection);
  for await (const { facts } of records) {
    const { kind, time, urlKey, hash } = facts;
    if (kind === undefined || time === undefined) continue;
    const [found = []] = await catalog.findCaptures([{ urlKey, time, ofHash: hash }]);
    if (found.some((capture) => capture.collection === collection)) continue;
    const marks = marksOf({ kind, time, urlKey, hash, block: namedContent(facts, fingerprint) }, collectionName);
    if (!(await catalog.findDeleted(marks)).includes(true)) return false;
  }
  return isSound;
}

/**
 * A second object of one name is a segment that is being moved to another volume (see migrate.ts). The catalog says
 * which of the two is used. An unfinished copy is removed. A finished copy stays. The next migration compares the two
 * objects before it removes one.
 */
async function settleDouble(archive: OpenedArchive, found: Found): Promise<undefined> {
  const { store, object } = found;
  if (!object.sealed && store.isWritable) {
    await removeFound(found);
    return;
  }
  archive.report({
    code: 'segment-doubled',
    level: 'warning',
    file: whereIs(found),
    offset: 0,
    message: 'the segment is also in another volume, and is read from there',
  });
}

async function healUnequal(
  archive: OpenedArchive,
  found: Found,
  known: Segment | undefined,
  options: HealingOfAll,
): Promise<Segment | undefined> {
  const { store, object, content } = found;
  const segment = known ?? (await listFound(archive, found));
  if (segment.bytes > object.bytes)
    throw new PinakesError('OBJECT_MOVED', {
      where: whereIs(found),
      detail: `it is shorter than in the catalog; ${HOW_TO_REPAIR}`,
    });
  archive.segmentRegistry.put(segment);
  const isFresh = store.hasParts && !object.sealed && (!known || options.isFresh(object.name));
  const healing = await healingOf(archive, segment, content, options);
  const healed = await healSegment({ ...healing, ...(isFresh && (await freshSealing(archive, store))) }, segment);
  if (isFresh && healed.kind === 'sealed')
    refusalOf(await archive.catalog.commit({ removeNotes: [FRESH_NOTE + object.name] }));
  if (healed.kind === 'dropped') {
    archive.segmentRegistry.forget(segment.number);
    return undefined;
  }
  const row = await archive.catalog.segment(segment.number);
  if (!row || healed.kind === 'lost') throw new PinakesError('LEASE_LOST', { where: segment.name });
  if (healed.kind === 'damaged') return undefined;
  archive.segmentRegistry.put(row);
  // Dead records were counted in any of them.
  if (isDeletionSegment(row)) for (const one of await archive.catalog.segments()) archive.segmentRegistry.put(one);
  if (row.state === 'open' && store.isWritable) await resumeSegment(archive, row);
  return row;
}

/** A row for a segment that the catalog does not know. */
async function listFound(archive: OpenedArchive, { store, object, content }: Found): Promise<Segment> {
  const { name } = object;
  const folder = name.includes('/') ? name.split('/')[0]! : DEFAULT_COLLECTION;
  const collection = await archive.collections.number(folder);
  // Noted before the row is there: the next opening after a crash must not take the segment for one of its own.
  if (store.hasParts && !object.sealed)
    refusalOf(await archive.catalog.commit({ putNotes: { [FRESH_NOTE + object.name]: 'yes' }, durable: true }));
  return listedSegment(archive, { volume: store.volume, name, collection }, content);
}

/**
 * How a segment is sealed whose parts were found without a row. The process that wrote them may have been of another
 * life of the catalog, and what it puts late must not change the segment: it is sealed under a name of this owner (R3).
 */
async function freshSealing(
  { catalog }: OpenedArchive,
  { ownerNumber: owner }: SegmentStore,
): Promise<Pick<HealingOptions, 'isEmbedded' | 'freshFor'>> {
  return { isEmbedded: false, freshFor: { incarnation: await catalog.incarnation(), owner } };
}

/**
 * How the ledger enters the records of a segment. A revisit whose content is not held yet is entered without it, since
 * the content may be in a segment that is read later.
 */
async function healingOf(
  archive: OpenedArchive,
  segment: Segment,
  content: SegmentBytes,
  { signal, isEmpty, onFinding = (finding) => archive.report(finding) }: HealingOfAll,
): Promise<HealingOptions> {
  const { catalog, clock, stores, fingerprint, segmentRegistry, tombstones } = archive;
  const isOwn = await archive.access.isOwn({ ...content, volume: segment.volume });
  return {
    catalog,
    lease: undefined,
    isEmbedded: true,
    clock,
    graceMs: 0,
    stores,
    collectionName: (number) => archive.collections.name(number),
    fingerprint,
    foreign: new CatalogForeignRevisits(archive),
    unresolved: 'enter',
    duplicatesAre: 'spare',
    // The filter has every capture since then.
    isNew: ({ urlKey, time }) => isEmpty && !archive.resolutionFilter.mayHaveCapture(urlKey, time),
    refusedAre: 'bury',
    keepsUnreferenced: true,
    beside: async (row) => ({
      dead: await tombstones.read(row),
      isOfOthers: !isOwn && !isDeletionSegment(segment),
      notesOf: async (records) => {
        const odd = new OddCounter(await countOdd(catalog, row.number));
        for (const facts of records) odd.add(facts);
        return odd.notes(row.number);
      },
    }),
    onFinding: (finding) => onFinding(inSegment(finding, isOwn)),
    onStep: async (row) => {
      const now = row && (await catalog.segment(row.number));
      if (now) segmentRegistry.put(now);
    },
    signal,
  };
}

/** Goes on with an open segment of the former owner (P1). */
async function resumeSegment(archive: OpenedArchive, segment: Segment): Promise<void> {
  const dictionary = await archive.access.dictionaryOf(segment.number);
  const collectionName = await archive.collections.name(segment.collection);
  archive.segmentWriter.resume(segment, kindOfSegment(segment, collectionName, dictionary));
}
