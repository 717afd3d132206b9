/**
 * Relocation: single records move to a segment of another volume, while the segments that they were in stay. It brings
 * contents home (distribution), and brings back records that were damaged or lost from copies of them.
 *
 * ```
 *   write      the members are copied unchanged (I4) to a new segment, which ends with their runs: their root places
 *              stay what they were (R4)
 *   begin      one commit: the row of the new segment gets its length and is sealed, and the relocation is noted
 *   move       commits of a limited size: captures and holders move, and the old records are dead from then on
 *   end        one commit removes the note
 *
 *   note   relocating:<name of the new segment>   JSON: names of the segments that the records were in
 * ```
 * Why not one swap that replaces a segment by several: a note about a replaced segment names one replacement, in the
 * volume of the old one, and a rebuild would have to believe several objects in several volumes together or not at all.
 * Here no segment stands for another, so nothing has to be believed. Until compaction drops the dead records, a record
 * is in two segments, byte for byte: the same capture, with the same mark. A rebuild at any moment enters one of the
 * two and counts the other as dead (C5, R6), whatever it finds: the old segment, the new one, or both. A capture that
 * was deleted is deleted by its mark in both (D2). The old bytes go only when compaction replaces the old segment. That
 * is after the catalog has the capture at its new place, durably, since a commit that moves something is durable.
 *
 * A catalog that went back may have the capture where it was, in a segment that was replaced since. So an adoption
 * looks for the captures of replaced segments in every segment that a compactor wrote (recovery/adopt-swaps.ts).
 *
 * Before `begin`, nothing counts: the row is open and empty, and the next holder of the lease discards it. After it,
 * the next holder goes on (`finish`). Each step can be done again. The leases of both volumes are held: that of the new
 * segment by this class, and those of the old ones by the caller, so that no compaction replaces them meanwhile.
 */
import { equal, PinakesError } from '../../base/index.ts';
import type { Catalog, Segment } from '../../catalog/index.ts';
import { namedContent } from '../own-records.ts';
import { RUNS_NOTE } from '../runs.ts';
import { segmentRecords } from '../segment-records.ts';
import { sealedBytes } from '../segment-store.ts';
import { HeldCommits, refused, unchanged } from './held-commits.ts';
import { type Replacement, runsOf } from './replacement-writer.ts';
import type { SwapOptions } from './swap.ts';
import { type PlacedFacts, SwapMoves } from './swap-moves.ts';

export const RELOCATING_NOTE = 'relocating:';

const BATCH_RECORDS = 1000;

export type RelocationOptions = Pick<
  SwapOptions,
  'catalog' | 'stores' | 'volume' | 'lease' | 'read' | 'followers' | 'atEnd' | 'again'
> & {
  /** The digest by which a content is known. Another one than its SHA-256 only in tests of collisions. */
  readonly fingerprint?: ((digest: Uint8Array) => Uint8Array) | undefined;
  /** Called after each commit, with the numbers of the segments that it changed. */
  readonly onStep?: (segments: readonly number[]) => Promise<void>;
};

export class Relocations {
  readonly #options: RelocationOptions;
  readonly #commits: HeldCommits;

  constructor(options: RelocationOptions) {
    this.#options = options;
    this.#commits = new HeldCommits(options);
  }

  /**
   * Moves the records that were copied to a segment. Returns its row. Undefined: a segment that they were in has
   * changed, and the caller discards the new one.
   */
  async relocate({ row, bytes, records, replaced: old, runs }: Replacement): Promise<Segment | undefined> {
    const { volume, onStep } = this.#options;
    const { name, number, parts } = row;
    const sealed: Segment = { ...row, state: 'sealed', bytes, records, roots: runs.roots };
    await this.#assertSame(sealed, old, runs);
    const to = { state: 'sealed', bytes, records, roots: runs.roots, ...(parts && { parts: [] }) } as const;
    const outcome = await this.#commits.ask({
      id: `${RELOCATING_NOTE}${name}`,
      segments: [{ number, from: { state: 'open', bytes: 0, volume }, to }, ...old.map(unchanged)],
      putNotes: {
        [RELOCATING_NOTE + name]: JSON.stringify(old.map((segment) => segment.name)),
        [RUNS_NOTE + name]: runs.toNote(),
      },
    });
    if (outcome.kind === 'fenced' && outcome.why === 'segment') return undefined;
    if (outcome.kind !== 'committed') throw refused(outcome, name);
    await onStep?.([number]);
    return this.#finish(sealed, old);
  }

  /** Goes on with the relocations to this volume that began, except those to these segments. */
  async finish(except: ReadonlySet<string> = new Set()): Promise<void> {
    const { catalog, volume } = this.#options;
    for (const [name, oldNames] of await pendingRelocations(catalog)) {
      if (except.has(name)) continue;
      const row = await catalog.segmentByName(name);
      if (row && row.volume !== volume) continue;
      const old: Segment[] = [];
      for (const oldName of oldNames) {
        const segment = await catalog.segmentByName(oldName);
        if (segment) old.push(segment);
      }
      if (row) await this.#finish(row, old);
      else await this.#commits.commit({ removeNotes: [RELOCATING_NOTE + name] });
    }
  }

  /** Fails unless every record of the new segment can be read and has the content that its capture has. */
  async #assertSame(row: Segment, old: readonly Segment[], runs: Replacement['runs']): Promise<void> {
    const { fingerprint } = this.#options;
    const moves = await this.#movesOf(row, old, runs);
    let records = 0;
    const check = async (group: readonly PlacedFacts[]) => {
      for (const { facts, capture } of await moves.found(group)) {
        const named = facts.kind === 'revisit' ? undefined : namedContent(facts, fingerprint);
        const isSame = !named || !capture.block || equal(named.digest, capture.block.digest);
        if (!isSame || facts.kind !== capture.kind) throw damaged(row);
      }
    };
    for await (const group of this.#groups(row)) {
      records += group.length;
      await check(group);
    }
    if (records !== row.records) throw damaged(row);
  }

  async #finish(row: Segment, old: readonly Segment[]): Promise<Segment> {
    const { catalog, atEnd, onStep } = this.#options;
    const moves = await this.#movesOf(row, old, await runsOf(catalog, row));
    const numbers = [row, ...old].map(({ number }) => number);
    let records = 0;
    for await (const group of this.#groups(row)) {
      records += group.length;
      const moved = await moves.of(group);
      if (!moved) throw damaged(row);
      if (Object.values(moved).every((part) => Object.keys(part).length === 0)) continue;
      await this.#commits.commit({ ...moved, segments: [unchanged(row), ...old.map(unchanged)] });
      await onStep?.(numbers);
    }
    if (records !== row.records) throw damaged(row);
    const more = await atEnd?.(row, []);
    const removeNotes = [...(more?.removeNotes ?? []), RELOCATING_NOTE + row.name];
    await this.#commits.commit({ ...more, removeNotes, durable: true });
    return (await catalog.segment(row.number))!;
  }

  #movesOf(row: Segment, old: readonly Segment[], runs: Replacement['runs']): Promise<SwapMoves> {
    const { catalog, followers } = this.#options;
    return SwapMoves.load({ catalog, replacement: row, runs, replaced: old, followers, oldStays: true });
  }

  async *#groups(row: Segment): AsyncGenerator<PlacedFacts[]> {
    const { read, stores } = this.#options;
    let group: PlacedFacts[] = [];
    const records = read?.(row, 0, row.bytes) ?? wholeRecords(stores.get(row.volume), row);
    for await (const facts of records) {
      group.push(facts);
      if (group.length < BATCH_RECORDS) continue;
      yield group;
      group = [];
    }
    if (group.length > 0) yield group;
  }
}

/** The relocations that began and did not end: the name of each new segment, with those that its records were in. */
export async function pendingRelocations(catalog: Pick<Catalog, 'notes'>): Promise<Map<string, readonly string[]>> {
  const notes = Object.entries(await catalog.notes(RELOCATING_NOTE));
  return new Map(notes.map(([note, text]) => [note.slice(RELOCATING_NOTE.length), JSON.parse(text) as string[]]));
}

async function* wholeRecords(
  store: Parameters<typeof segmentRecords>[0],
  { name, bytes }: Segment,
): AsyncGenerator<PlacedFacts> {
  for await (const { facts } of segmentRecords(store, sealedBytes(name, bytes), 0, bytes)) yield facts;
}

function damaged({ name }: Segment): PinakesError {
  return new PinakesError('RECORD_DAMAGED', { where: name, detail: 'not all records that were moved can be read' });
}
