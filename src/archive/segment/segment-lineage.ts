/**
 * Which segment took which one's place. A segment that compaction wrote keeps the standing of the one it replaced: in
 * the order of segments and in every snapshot it counts as its forebear, whatever its own number is.
 *
 * ```
 *   note  lineage:<name of the new segment>    [number of the forebear, number of the segment it replaced, time it was written]
 *   note  moves:<name of the new segment>      where the records of the replaced segment stand in it (see segment-moves.ts)
 * ```
 * Both are durable before the new segment is sealed, and so before it can take the other's place. Moves are kept
 * for CURSOR_LIFE_MS; a cursor that needs older ones has expired. A rebuild numbers segments anew; it forgets all of
 * this, and with the epoch every cursor.
 */
import { createHash } from 'node:crypto';
import { type Clock, type EpochMs, type IdSource, PinakesError } from '../../base/index.ts';
import type { Catalog, Segment } from '../../catalog/index.ts';
import { SegmentMoves } from './segment-moves.ts';
import type { SegmentRegistry } from './segment-registry.ts';

const LINEAGE_NOTE = 'lineage:';
const MOVES_NOTE = 'moves:';
const EPOCH_NOTE = 'epoch';

const CURSOR_LIFE_MS = 90 * 24 * 3600 * 1000;

type Descent = { readonly name: string; readonly origin: number; readonly replaced: number; readonly time: EpochMs };

export type LineageParts = {
  readonly catalog: Catalog;
  readonly segmentRegistry: SegmentRegistry;
  readonly clock: Clock;
  readonly newId: IdSource;
};

/**
 * Remembers where the records of a segment went. Called when the new segment has all its bytes and before it is sealed.
 */
export async function rememberMoves(
  parts: LineageParts,
  fresh: Segment,
  replaced: Segment,
  moves: SegmentMoves,
): Promise<void> {
  const lineage = await SegmentLineage.load(parts);
  const now = parts.clock();
  const descent = JSON.stringify([lineage.originOf(replaced.number), replaced.number, now]);
  // What is being replaced still stands, so whatever was to take its place before was given up.
  const givenUp = lineage.successorsOf(replaced.number);
  await parts.catalog.write({
    putNotes: { [LINEAGE_NOTE + fresh.name]: descent, [MOVES_NOTE + fresh.name]: moves.toString() },
    removeNotes: [
      ...givenUp.map((name) => LINEAGE_NOTE + name),
      ...[...givenUp, ...lineage.outdated(now)].map((name) => MOVES_NOTE + name),
    ],
    durable: true,
  });
}

/** What tells the numbers that segments have now from those they had before a rebuild. */
export async function epochOf({ catalog, newId, clock }: LineageParts): Promise<string> {
  const known = (await catalog.notes(EPOCH_NOTE))[EPOCH_NOTE];
  if (known) return known;
  const epoch = createHash('sha256').update(`${newId()} ${clock()}`).digest('base64url').slice(0, 10);
  await catalog.write({ putNotes: { [EPOCH_NOTE]: epoch }, durable: true });
  return epoch;
}

export class SegmentLineage {
  readonly #parts: LineageParts;
  readonly #numbering: number;
  readonly #byName = new Map<string, Descent>();
  /** Number of a replaced segment -> what took its place. */
  readonly #byReplaced = new Map<number, Descent>();
  readonly #origins = new Map<number, number>();
  #moves: { readonly name: string; readonly moves: SegmentMoves } | undefined;

  private constructor(parts: LineageParts) {
    this.#parts = parts;
    this.#numbering = parts.segmentRegistry.numbering;
  }

  static async load(parts: LineageParts): Promise<SegmentLineage> {
    const lineage = new SegmentLineage(parts);
    await lineage.refresh();
    return lineage;
  }

  /**
   * Numbers that were learned before a rebuild mean other segments behind it: whoever holds some asks before trusting
   * what they led to.
   */
  assertNumbering(): void {
    if (this.#parts.segmentRegistry.numbering !== this.#numbering) throw expired('the archive was rebuilt since');
  }

  /** Learns of the exchanges since. */
  async refresh(): Promise<void> {
    const notes = await this.#parts.catalog.notes(LINEAGE_NOTE);
    this.assertNumbering();
    this.#byName.clear();
    this.#byReplaced.clear();
    for (const [note, value] of Object.entries(notes)) {
      const name = note.slice(LINEAGE_NOTE.length);
      const [origin, replaced, time] = JSON.parse(value) as [number, number, EpochMs];
      const descent: Descent = { name, origin, replaced, time };
      this.#byName.set(name, descent);
      this.#byReplaced.set(replaced, descent);
    }
    this.#origins.clear();
    for (const { replaced, origin } of this.#byReplaced.values()) this.#origins.set(replaced, origin);
    for (const segment of this.#parts.segmentRegistry.all()) {
      const origin = this.#byName.get(segment.name)?.origin;
      if (origin !== undefined) this.#origins.set(segment.number, origin);
    }
  }

  /** The number of the first segment in whose place this one stands; its own when it replaced none. */
  originOf(number: number): number {
    return this.#origins.get(number) ?? number;
  }

  /**
   * The segments by the number they stand for, in order of it. While one is taking another's place, the other still
   * stands.
   */
  standing(): Map<number, Segment> {
    const standing = new Map<number, Segment>();
    for (const segment of this.#parts.segmentRegistry.all()) {
      const origin = this.originOf(segment.number);
      if (!standing.has(origin)) standing.set(origin, segment);
    }
    return new Map([...standing].sort(([a], [b]) => a - b));
  }

  /**
   * Where what stood at an offset of a segment stands now. When nothing from there on stayed, the offset is beyond
   * every end.
   */
  async translate(number: number, offset: number): Promise<{ segment: Segment; offset: number; isSame: boolean }> {
    const same = this.#parts.segmentRegistry.find(number);
    if (same) return { segment: same, offset, isSame: true };
    const origin = this.originOf(number);
    const chain = [...this.#byReplaced.values()]
      .filter((descent) => descent.origin === origin)
      .sort((a, b) => a.replaced - b.replaced);
    let at: number | undefined = number;
    let position = offset;
    let isSame = true;
    for (;;) {
      const segment = this.#parts.segmentRegistry.find(at);
      if (segment) return { segment, offset: position, isSame };
      const step = chain.findIndex(({ replaced }) => replaced === at);
      const successor = chain[step];
      at = chain[step + 1]?.replaced ?? (successor && this.#parts.segmentRegistry.byName(successor.name)?.number);
      if (!successor || at === undefined) throw expired(`segment ${number} is no longer there`);
      const found = (await this.#movesTo(successor.name)).find(position);
      position = found ? found.offset : Number.MAX_SAFE_INTEGER;
      isSame = isSame && found?.isSame === true;
    }
  }

  /** Names of segments that were written to take this one's place. */
  successorsOf(number: number): string[] {
    return [...this.#byName.values()].filter(({ replaced }) => replaced === number).map(({ name }) => name);
  }

  /** Names of segments whose moves no cursor may ask for any more. */
  outdated(now: EpochMs): string[] {
    return [...this.#byName.values()].filter(({ time }) => now - time > CURSOR_LIFE_MS).map(({ name }) => name);
  }

  async #movesTo(name: string): Promise<SegmentMoves> {
    if (this.#moves?.name === name) return this.#moves.moves;
    const note = MOVES_NOTE + name;
    const text = (await this.#parts.catalog.notes(note))[note];
    if (text === undefined) throw expired('it is older than what compaction remembers');
    this.#moves = { name, moves: SegmentMoves.parse(text) };
    return this.#moves.moves;
  }
}

function expired(detail: string): PinakesError {
  return new PinakesError('CURSOR_EXPIRED', { detail });
}
