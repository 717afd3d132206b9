/**
 * The swap: a replacement takes the place of the segments that it replaces (K1, R1).
 *
 * ```
 *   begin      one commit: the row of the replacement gets its length and is sealed, and the full records that are
 *              revisits now move. Everything that can fail is checked here. If it fails, the replacement is discarded
 *              and planned again.
 *   move       commits of a limited size move all other captures, holders, dead and surplus records
 *   end        one commit removes the rows of the old segments
 *   note       the note object that others believe (replaced-notes.ts)
 *   removal    when the grace is over: lease, incarnation and rows are checked again, then the old objects go
 * ```
 * Between begin and end a record is in the old segment and in the replacement, and its capture at one of the two. Each
 * step can be done again. The next holder of the lease does what is left (`finishSwaps`, `removeReplaced`), and removes
 * replacements whose swap never began (`discardUnfinished`).
 *
 * ```
 *   note   swapping:<name of the replacement>   JSON: names of the segments that it replaces
 *   note   runs:<name of the replacement>       runs.ts; as long as the segment is there
 *   note   replaced:<name of the old segment>   JSON: {"by","volume","at"}, until its object is removed
 * ```
 * Only the holder of a volume's compaction lease replaces segments of the volume, and makes records in them holders.
 */
import { type Clock, PinakesError } from '../../base/index.ts';
import type { Catalog, CommitGroup, Lease, Segment } from '../../catalog/index.ts';
import type { AskAgain } from '../ask-again.ts';
import { countersOf } from '../counters.ts';
import { compactionLease } from '../lease.ts';
import { formatReplacedNote, replacedNoteName } from '../replaced-notes.ts';
import { RUNS_NOTE } from '../runs.ts';
import { isMissing } from '../segment-reader.ts';
import { segmentRecords } from '../segment-records.ts';
import { type SegmentStores, sealedBytes } from '../segment-store.ts';
import { HeldCommits, refused, unchanged } from './held-commits.ts';
import { type Replacement, runsOf } from './replacement-writer.ts';
import { type Followers, type PlacedFacts, SwapMoves } from './swap-moves.ts';

export const SWAPPING_NOTE = 'swapping:';
export const REPLACED_NOTE = 'replaced:';

const BATCH_RECORDS = 1000;
/** Each try fails only because the holder of a content of the batch moved. */
const TRIES_MAX = 1000;

export type SwapOptions = {
  readonly catalog: Catalog;
  readonly stores: Pick<SegmentStores, 'get'>;
  readonly volume: string;
  /** The compaction lease of the volume. */
  readonly lease: Lease;
  readonly clock: Clock;
  /** How long readers may go on reading the old segments. */
  readonly graceMs: number;
  /** All records of a segment, in order. Default: only those that are whole. */
  readonly read?: (segment: Segment, from: number, to: number) => AsyncIterable<PlacedFacts>;
  readonly followers?: Followers;
  /** Called when the object of a segment is removed, before that is noted. */
  readonly onRemoved?: (name: string) => Promise<void>;
  /** What else the last commit changes. */
  readonly atEnd?: (
    replacement: Segment,
    replaced: readonly Segment[],
  ) => Promise<Pick<CommitGroup, 'putNotes' | 'removeNotes'>>;
  readonly again?: AskAgain;
};

/** What the catalog says of an object that is to be removed. */
export type Removal = {
  readonly by: string;
  /** The volume of the old segment. */
  readonly volume: string;
  /** When it was replaced. */
  readonly at: number;
};

export class Swaps {
  readonly #options: SwapOptions;
  readonly #commits: HeldCommits;
  /** Names of the note objects that this process wrote. */
  readonly #noted = new Set<string>();

  constructor(options: SwapOptions) {
    this.#options = options;
    this.#commits = new HeldCommits(options);
  }

  /**
   * Swaps a replacement in. Returns its row. Undefined: something that the plan relied on has changed, and the
   * replacement is discarded.
   */
  async swap(replacement: Replacement): Promise<Segment | undefined> {
    const begun = await this.#whileHeld(() => this.#begin(replacement));
    if (begun) return this.#whileHeld(() => this.#finish(begun, replacement.replaced));
    await this.discard(replacement.row);
    return undefined;
  }

  /** Finishes the swaps that began in this volume, except those of these replacements. */
  async finishSwaps(except: ReadonlySet<string> = new Set()): Promise<void> {
    const { catalog, volume } = this.#options;
    for (const [name, replacedNames] of await pendingSwaps(catalog)) {
      if (except.has(name)) continue;
      const row = await catalog.segmentByName(name);
      if (row && row.volume !== volume) continue;
      const replaced: Segment[] = [];
      for (const oldName of replacedNames) {
        const old = await catalog.segmentByName(oldName);
        if (old) replaced.push(old);
      }
      if (row) await this.#whileHeld(() => this.#finish(row, replaced));
      else await this.#commits.commit({ removeNotes: [SWAPPING_NOTE + name] });
    }
  }

  /**
   * Removes replacements of former holders of the lease whose swap never began, except those that this process is
   * writing, by their numbers.
   */
  async discardUnfinished(written: ReadonlySet<number> = new Set()): Promise<void> {
    const { catalog, volume, lease } = this.#options;
    const name = compactionLease(volume);
    for (const row of await catalog.segments()) {
      if (row.lease?.name !== name || row.state !== 'open') continue;
      const isOwn = row.lease.epoch === lease.epoch && row.lease.incarnation === lease.incarnation;
      if (!isOwn && !written.has(row.number)) await this.discard(row);
    }
  }

  /** Removes a replacement whose swap did not begin. */
  async discard({ number, name, volume }: Segment): Promise<void> {
    const { stores, onRemoved } = this.#options;
    const store = stores.get(volume);
    const dropRow = () =>
      this.#commits.commit({ segments: [{ number, from: { state: 'open', bytes: 0, volume }, to: undefined }] });
    // The next holder of the lease may have swapped it in by now. The collector removes what a crash leaves here.
    if (store.hasParts) await dropRow();
    const { object, parts } = await store.find(name);
    await store.remove([...(object ? [name] : []), ...parts.map((part) => part.name)]);
    await onRemoved?.(name);
    // On a volume with real append, an object without a row would be a file of the archivist's.
    if (!store.hasParts) await dropRow();
  }

  /** Removes the objects of replaced segments whose grace is over. Returns how many are left. */
  async removeReplaced(): Promise<number> {
    const { catalog, volume, clock, graceMs } = this.#options;
    let left = 0;
    for (const [old, removal] of await pendingRemovals(catalog)) {
      if (removal.volume !== volume) continue;
      await this.#note(old, removal);
      // Without a grace, a clock that was set back must not delay the removal.
      if (graceMs > 0 && clock() < removal.at + graceMs) left++;
      else await this.#remove(old);
    }
    return left;
  }

  async #begin(replacement: Replacement): Promise<Segment | undefined> {
    const { volume } = this.#options;
    const { row, bytes, records, replaced, runs, changed } = replacement;
    const { name, number } = row;
    const sealed: Segment = { ...row, state: 'sealed', bytes, records, roots: runs.roots };
    const moves = await this.#movesOf(sealed, replaced, replacement.runs);
    const facts: PlacedFacts[] = [];
    for (const { offset, length } of changed)
      for await (const one of this.#read(sealed, offset, offset + length)) facts.push(one);
    if (facts.length < changed.length) throw damaged(sealed);
    const moved = await moves.of(facts);
    if (!moved) return undefined;
    const to = { state: 'sealed', bytes, records, roots: runs.roots, ...(row.parts && { parts: [] }) } as const;
    const outcome = await this.#commits.ask({
      ...moved,
      id: `${SWAPPING_NOTE}${name}`,
      segments: [{ number, from: { state: 'open', bytes: 0, volume }, to }, ...replaced.map(unchanged)],
      putNotes: {
        ...moved.putNotes,
        [SWAPPING_NOTE + name]: JSON.stringify(replaced.map((old) => old.name)),
        [RUNS_NOTE + name]: runs.toNote(),
      },
    });
    if (outcome.kind === 'stale') return undefined;
    if (outcome.kind !== 'committed') throw refused(outcome, name);
    await this.#removeParts(name);
    return sealed;
  }

  async #finish(row: Segment, replaced: readonly Segment[]): Promise<Segment> {
    const { catalog, clock, atEnd } = this.#options;
    const moves = await this.#movesOf(row, replaced, await runsOf(catalog, row));
    let group: PlacedFacts[] = [];
    let records = 0;
    const move = async () => {
      for (let tried = 0; ; tried++) {
        const moved = await moves.of(group);
        if (!moved) throw damaged(row);
        if (Object.values(moved).every((part) => Object.keys(part).length === 0)) break;
        const outcome = await this.#commits.ask(moved);
        if (outcome.kind === 'committed') break;
        // A content that a promoted record gets has another holder by now.
        if (outcome.kind !== 'stale' || tried === TRIES_MAX) throw refused(outcome, row.name);
      }
      group = [];
    };
    for await (const facts of this.#read(row, 0, row.bytes)) {
      records++;
      group.push(facts);
      if (group.length === BATCH_RECORDS) await move();
    }
    // A capture whose record is not read would be lost with the old segment.
    if (records !== row.records) throw damaged(row);
    await move();
    const more = await atEnd?.(row, replaced);
    const at = clock();
    const removals = replaced.map(({ name, volume }) => [name, { by: row.name, volume, at }] as const);
    await this.#commits.commit({
      id: `${REPLACED_NOTE}${row.name}`,
      segments: [unchanged(row), ...replaced.map((old) => ({ ...unchanged(old), to: undefined }))],
      putNotes: {
        ...more?.putNotes,
        ...Object.fromEntries(removals.map(([name, removal]) => [REPLACED_NOTE + name, JSON.stringify(removal)])),
      },
      removeNotes: [
        ...(more?.removeNotes ?? []),
        SWAPPING_NOTE + row.name,
        ...replaced.map(({ name }) => RUNS_NOTE + name),
      ],
    });
    for (const { name } of replaced) countersOf(catalog).note('removedSegments', name);
    for (const [name, removal] of removals) await this.#note(name, removal);
    return row;
  }

  #movesOf(replacement: Segment, replaced: readonly Segment[], runs: Replacement['runs']): Promise<SwapMoves> {
    const { catalog, followers } = this.#options;
    return SwapMoves.load({ catalog, replacement, runs, replaced, followers });
  }

  async *#read(segment: Segment, from: number, to: number): AsyncIterable<PlacedFacts> {
    const { read, stores } = this.#options;
    if (read) yield* read(segment, from, to);
    else
      for await (const { facts } of segmentRecords(
        stores.get(segment.volume),
        sealedBytes(segment.name, segment.bytes),
        from,
        to,
      ))
        yield facts;
  }

  /** Writes the note object about a segment, of which the catalog says that it was replaced. */
  async #note(old: string, { by, volume }: Removal): Promise<void> {
    const { catalog, stores, lease } = this.#options;
    const name = replacedNoteName(old, lease);
    if (this.#noted.has(name)) return;
    const replacement = await catalog.segmentByName(by);
    const text = formatReplacedNote({ by, volume: replacement?.volume ?? volume });
    await stores.get(volume).writeObject(name, text);
    this.#noted.add(name);
  }

  async #remove(old: string): Promise<void> {
    const { catalog, stores, volume, lease, onRemoved } = this.#options;
    const note = REPLACED_NOTE + old;
    // The commit fails unless the lease is living, in this incarnation.
    await this.#commits.commit({});
    const isReplaced = (await catalog.notes(note))[note] !== undefined;
    if (!isReplaced || (await catalog.segmentByName(old)) || (await catalog.isAdopting()))
      throw new PinakesError('LEASE_LOST', { where: lease.name });
    await stores.get(volume).remove([old]);
    await onRemoved?.(old);
    await this.#commits.commit({ removeNotes: [note] });
  }

  /** Nothing reads the parts of a replacement. What is not removed here is removed by the collector. */
  async #removeParts(name: string): Promise<void> {
    const store = this.#options.stores.get(this.#options.volume);
    if (!store.hasParts) return;
    try {
      const { parts } = await store.find(name);
      await store.remove(parts.map((part) => part.name));
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
    }
  }

  /** An object that is missing may have been replaced and removed by the next holder of the lease. */
  async #whileHeld<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      if (isMissing(error)) await this.#commits.commit({});
      throw error;
    }
  }
}

/** The swaps that began and did not end: the name of each replacement, with those of the segments that it replaces. */
export async function pendingSwaps(catalog: Pick<Catalog, 'notes'>): Promise<Map<string, readonly string[]>> {
  const notes = Object.entries(await catalog.notes(SWAPPING_NOTE));
  return new Map(notes.map(([note, text]) => [note.slice(SWAPPING_NOTE.length), JSON.parse(text) as string[]]));
}

/** The replaced segments whose objects are not removed yet, by name. */
export async function pendingRemovals(catalog: Pick<Catalog, 'notes'>): Promise<Map<string, Removal>> {
  const notes = Object.entries(await catalog.notes(REPLACED_NOTE));
  return new Map(notes.map(([note, text]) => [note.slice(REPLACED_NOTE.length), JSON.parse(text) as Removal]));
}

function damaged({ name }: Segment): PinakesError {
  return new PinakesError('RECORD_DAMAGED', { where: name, detail: 'not all records of this replacement can be read' });
}
