/**
 * Restores records that are damaged or gone, from copies of their contents and from mirrors (I15): for `verify --heal`.
 *
 * Records are checked in the order of their places: with a mirror those of all captures, otherwise those that hold a
 * content with a copy. One that is not sound is written to a new segment of the same volume from its copy, which is the
 * same member, byte for byte. Its capture and content move there, as in a rebalance
 * (ledger/replacement/relocation.ts), with the root place that it had, and its old place is a dead record. What goes
 * with it and can be read, such as its request, is copied beside it. Then the old segment is written anew without the
 * damaged bytes, if the rest of it is sound.
 *
 * A copy may be of another record than the one that holds the content now, such as one that compaction replaced. Then
 * it is not restored, but reading falls back to the copy. A volume that is missing is left alone: it may come back. So
 * are read-only volumes, and segments that a snapshot keeps.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { equal, PinakesError, RunningDigest } from '../../base/index.ts';
import type { Place, Segment } from '../../catalog/index.ts';
import { type ReadingRecord, sortLines } from '../../warc/index.ts';
import { isBadSector, isDamage } from '../damage.ts';
import { COPIED_BYTES_MAX } from '../maintain/copies.ts';
import { beginRelocation, discardReplacement, relocateIn } from '../maintain/segment-swap.ts';
import { sealOpenSegments } from '../maintain/volume-admin.ts';
import type { FoundMember, LostRecord, RestoreSource } from '../mirror/mirror-source.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { findConcurrent, isCaptureType } from '../read/concurrent-records.ts';
import { copyNotesOf, parseCopyNote } from '../read/content-copies.ts';
import { blockId, parseBlockId } from '../revisit/catalog-draft.ts';
import { kindOfSegment } from '../segment/segment-kind.ts';
import { copiesSource, MirrorSources } from './restore-source.ts';
import { rewriteWithout } from './rewrite-without.ts';

/** More damaged records of one segment are restored in further segments. */
const RECORDS_MAX = 1000;
const BYTES_MAX = COPIED_BYTES_MAX;
/** After so many records, progress is reported. */
const STEP_RECORDS = 500;
const NO_CONTENT = '-';

export type RecordRestoreOptions = {
  /** Restores nothing, and only reports what would be restored. */
  readonly dryRun?: boolean | undefined;
  readonly onProgress?: ((progress: { checked: number; restored: number }) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type RecordRestoreReport = {
  /** Records that were checked. */
  checked: number;
  /** Records that were restored from copies or mirrors. */
  restored: number;
  /** Records that are damaged or gone, and that cannot be restored. */
  readonly left: { readonly segment: string; readonly offset: number; readonly why: string }[];
  /** Mirrors that could not be opened. */
  readonly unread: { readonly mirror: string; readonly why: string }[];
};

type Restorable = FoundMember & { readonly place: Place };

/** The offsets of what was restored in a segment, and of what was copied with it. */
type Restored = { readonly captures: Set<number>; readonly others: Set<number> };

export async function restoreRecords(
  archive: OpenedArchive,
  options: RecordRestoreOptions = {},
): Promise<RecordRestoreReport> {
  await using mirrors = await MirrorSources.open(archive);
  const scratch = await mkdtemp(join(archive.scratch, 'restore-'));
  try {
    const restoration = new Restoration(archive, [copiesSource(archive), ...mirrors.sources], options);
    restoration.report.unread.push(...mirrors.unread);
    const places = mirrors.sources.length > 0 ? allPlaces(archive) : copiedPlaces(archive);
    await restoration.run(sortLines(places, { directory: scratch }));
    return restoration.report;
  } finally {
    await rm(scratch, { recursive: true, force: true });
    archive.retrieval.forget();
  }
}

/** A line for each record that holds a content with a copy. */
async function* copiedPlaces({ catalog }: OpenedArchive): AsyncGenerator<string> {
  let last = '';
  for await (const page of catalog.notePages(copyNotesOf())) {
    const ids = [...new Set(page.map(([note, text]) => parseCopyNote(note, text).id))].filter((id) => id !== last);
    last = ids.at(-1) ?? last;
    for (const block of await catalog.getBlocks(ids.map((id) => parseBlockId(id)!)))
      if (block) yield lineOf(block.holder, blockId(block.key));
  }
}

/** A line for each record of a capture, and for each record that holds a content. Most of these are the same. */
async function* allPlaces({ catalog }: OpenedArchive): AsyncGenerator<string> {
  for await (const page of catalog.captures({}))
    for (const { place, kind, block } of page)
      yield lineOf(place, block && kind !== 'revisit' ? blockId(block) : NO_CONTENT);
  for await (const page of catalog.blocks()) for (const { holder, key } of page) yield lineOf(holder, blockId(key));
}

function lineOf({ segment, offset, length }: Place, content: string): string {
  return `${[segment, offset, length].map((number) => String(number).padStart(16, '0')).join(' ')} ${content}`;
}

class Restoration {
  readonly report: RecordRestoreReport = { checked: 0, restored: 0, left: [], unread: [] };
  readonly #archive: OpenedArchive;
  readonly #sources: readonly RestoreSource[];
  readonly #options: RecordRestoreOptions;
  /** The segment that is checked, unless nothing in it can be restored. */
  #segment: Segment | undefined;
  #restored: Restored = { captures: new Set(), others: new Set() };
  #waiting: Restorable[] = [];
  #waitingBytes = 0;

  constructor(archive: OpenedArchive, sources: readonly RestoreSource[], options: RecordRestoreOptions) {
    this.#archive = archive;
    this.#sources = sources;
    this.#options = options;
  }

  async run(lines: AsyncIterable<string>): Promise<void> {
    let last = '';
    let current = -1;
    for await (const line of lines) {
      if (line === last) continue;
      last = line;
      const [segment, offset, length, content] = line.split(' ') as [string, string, string, string];
      const place = { segment: Number(segment), offset: Number(offset), length: Number(length) };
      if (place.segment !== current) {
        await this.#end();
        current = place.segment;
        this.#segment = await this.#segmentOf(current);
      }
      if (this.#segment) await this.#check(this.#segment, place, content);
    }
    await this.#end();
    this.#progress();
  }

  /** Undefined: its volume is missing. */
  async #segmentOf(number: number): Promise<Segment | undefined> {
    const segment = await this.#archive.segmentRegistry.find(number);
    return segment && this.#archive.volumes.find(segment.volume) ? segment : undefined;
  }

  async #check(segment: Segment, place: Place, content: string): Promise<void> {
    this.#options.signal?.throwIfAborted();
    if (++this.report.checked % STEP_RECORDS === 0) this.#progress();
    const key = content === NO_CONTENT ? undefined : parseBlockId(content);
    const [block] = key ? await this.#archive.catalog.getBlocks([key]) : [];
    const lost = { segment, place, block };
    if (await isSound(this.#archive, lost)) return;
    const why = this.#obstacleOf(segment);
    const found = why === undefined ? await this.#find(lost) : undefined;
    if (!found) return this.#leave(segment, place, why ?? 'no copy or mirror has it');
    this.#waiting.push({ ...found, place });
    this.#waitingBytes += found.member.length;
    if (this.#waiting.length >= RECORDS_MAX || this.#waitingBytes >= BYTES_MAX) await this.#restore();
  }

  #obstacleOf(segment: Segment): string | undefined {
    const { snapshots, volumes } = this.#archive;
    const snapshot = snapshots.keeperOf(segment);
    if (snapshot !== undefined) return `the snapshot ${snapshot} keeps its segment`;
    if (!volumes.writable().some(({ name }) => name === segment.volume)) return 'its volume is read-only';
    return undefined;
  }

  async #find(lost: LostRecord): Promise<FoundMember | undefined> {
    if (lost.place.length > BYTES_MAX) return undefined;
    for (const source of this.#sources) {
      const found = await source(lost);
      if (found) return found;
    }
    return undefined;
  }

  #leave({ name }: Segment, { offset }: Place, why: string): void {
    this.report.left.push({ segment: name, offset, why });
  }

  #progress(): void {
    const { checked, restored } = this.report;
    this.#options.onProgress?.({ checked, restored });
  }

  /** Restores what was found so far. The segment stays, since more of it may be damaged. */
  async #restore(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    const segment = this.#segment;
    if (waiting.length === 0 || !segment) return;
    const isDone =
      this.#options.dryRun ||
      (await this.#archive.growing(() => relocate(this.#archive, segment, waiting, this.#restored)));
    if (isDone) this.report.restored += waiting.length;
    else for (const { place } of waiting) this.#leave(segment, place, 'its segment has changed meanwhile');
  }

  /** The segment was checked to its end. */
  async #end(): Promise<void> {
    await this.#restore();
    const { captures, others } = this.#restored;
    this.#restored = { captures: new Set(), others: new Set() };
    const number = this.#segment?.number;
    if (captures.size === 0 || number === undefined) return;
    await this.#archive.growing(() =>
      rewriteWithout(this.#archive, number, captures, others).catch((error: unknown) => {
        // What else is damaged in it stays, and so does the segment.
        if (!isUnreadable(error)) throw error;
      }),
    );
  }
}

/** Whether a record can be read, down to the digest of its content. */
async function isSound({ access, fingerprint }: OpenedArchive, { place, block }: LostRecord): Promise<boolean> {
  try {
    const record = await access.openSound(place, undefined);
    if (!('payload' in record)) return false;
    const digest = new RunningDigest('sha256');
    let bytes = 0;
    for await (const piece of record.payload) {
      digest.update(piece);
      bytes += piece.length;
    }
    return !block || (bytes === block.size && equal(fingerprint(digest.finish().bytes), block.key.digest));
  } catch (error) {
    if (isUnreadable(error)) return false;
    throw error;
  }
}

function isUnreadable(error: unknown): boolean {
  return isDamage(error) || isBadSector(error) || (error instanceof PinakesError && error.code === 'OBJECT_MISSING');
}

/** Writes records of a segment to a new one, and moves their captures there. False: the segment has changed. */
async function relocate(
  archive: OpenedArchive,
  { number }: Segment,
  found: readonly Restorable[],
  restored: Restored,
): Promise<boolean> {
  const { collections, segmentRegistry } = archive;
  await sealOpenSegments(archive, (segment) => segment.number === number);
  const old = await segmentRegistry.find(number);
  if (old?.state !== 'sealed') return false;
  const members = new Map(found.map(({ place, member }) => [place.offset, member]));
  const others = await readableConcurrent(archive, old, members);
  for (const offset of restored.others) others.delete(offset);
  const [{ dictionary } = { dictionary: undefined }] = found;
  const writer = await beginRelocation(
    archive,
    old,
    kindOfSegment(old, await collections.name(old.collection), dictionary),
  );
  let written: Awaited<ReturnType<typeof writer.finish>>;
  try {
    for (const offset of [...members.keys(), ...others.keys()].sort((a, b) => a - b)) {
      const member =
        members.get(offset) ?? (await archive.access.member({ segment: number, offset, length: others.get(offset)! }));
      await writer.put(old, offset, member);
    }
    written = await writer.finish();
  } catch (error) {
    writer.abandon();
    await discardReplacement(archive, writer.row).catch(() => {});
    throw error;
  }
  if (!(await relocateIn(archive, written))) return false;
  for (const offset of members.keys()) restored.captures.add(offset);
  for (const offset of others.keys()) restored.others.add(offset);
  return true;
}

/** The sound records that go with damaged ones, as far as the segment can be read: their lengths by their offsets. */
async function readableConcurrent(
  { access }: OpenedArchive,
  old: Segment,
  members: ReadonlyMap<number, unknown>,
): Promise<Map<number, number>> {
  const others = new Map<number, number>();
  const damaged = new Set<number>();
  const records = async function* (): AsyncGenerator<ReadingRecord> {
    for await (const record of access.recordsIn(old, 0, old.bytes, { onUnreadable: () => {} })) {
      yield record;
      if (record.damage.length > 0) damaged.add(record.head.offset);
    }
  };
  const rule = {
    isChosen: ({ type, offset }: ReadingRecord['head']) => isCaptureType(type) && members.has(offset),
    whenDoubtful: false,
  };
  try {
    for await (const { offset, length } of findConcurrent(records(), rule))
      if (length !== undefined && !damaged.has(offset)) others.set(offset, length);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
  }
  return others;
}
