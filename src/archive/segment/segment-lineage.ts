/**
 * The history of replaced segments. A replacement takes the position of its origin, which is the first segment in the
 * chain. In the order of segments and in every snapshot it is treated as the origin, whatever its own number is.
 *
 * ```
 *   note  lineage:<replacement>    [number of the origin, number of the segment it replaced, time it was written]
 *   note  moves:<replacement>      where the records of the replaced segment are in it (see segment-moves.ts)
 * ```
 * Both notes are durable before the replacement is sealed, and so before it can be swapped in. Moves are kept for
 * CURSOR_LIFE_MS; a cursor that needs older ones has expired. A rebuild numbers segments again. It removes these notes,
 * and a new epoch invalidates every cursor.
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

/** The parts of an open archive that the lineage uses. */
export type LineageArchive = {
  readonly catalog: Catalog;
  readonly segmentRegistry: SegmentRegistry;
  readonly clock: Clock;
  readonly newId: IdSource;
};

/**
 * Notes where the records of a segment moved. Called when the replacement has all its bytes and before it is sealed.
 */
export async function rememberMoves(
  archive: LineageArchive,
  fresh: Segment,
  replaced: Segment,
  moves: SegmentMoves,
): Promise<void> {
  const lineage = await SegmentLineage.load(archive);
  const now = archive.clock();
  const descent = JSON.stringify([lineage.originOf(replaced.number), replaced.number, now]);
  // The segment still exists, so earlier replacements of it were discarded.
  const givenUp = lineage.successorsOf(replaced.number);
  await archive.catalog.write({
    putNotes: { [LINEAGE_NOTE + fresh.name]: descent, [MOVES_NOTE + fresh.name]: moves.toString() },
    removeNotes: [
      ...givenUp.map((name) => LINEAGE_NOTE + name),
      ...[...givenUp, ...lineage.outdated(now)].map((name) => MOVES_NOTE + name),
    ],
    durable: true,
  });
}

/** Identifies the current numbering of segments, which changes with a rebuild. */
export async function epochOf({ catalog, newId, clock }: LineageArchive): Promise<string> {
  const known = (await catalog.notes(EPOCH_NOTE))[EPOCH_NOTE];
  if (known) return known;
  const epoch = createHash('sha256').update(`${newId()} ${clock()}`).digest('base64url').slice(0, 10);
  await catalog.write({ putNotes: { [EPOCH_NOTE]: epoch }, durable: true });
  return epoch;
}

export class SegmentLineage {
  readonly #archive: LineageArchive;
  readonly #numbering: number;
  readonly #byName = new Map<string, Descent>();
  /** The replacement of each replaced segment, by the number of the replaced one. */
  readonly #byReplaced = new Map<number, Descent>();
  readonly #origins = new Map<number, number>();
  #moves: { readonly name: string; readonly moves: SegmentMoves } | undefined;

  private constructor(archive: LineageArchive) {
    this.#archive = archive;
    this.#numbering = archive.segmentRegistry.numbering;
  }

  static async load(archive: LineageArchive): Promise<SegmentLineage> {
    const lineage = new SegmentLineage(archive);
    await lineage.refresh();
    return lineage;
  }

  /**
   * Fails after a rebuild, which gives numbers to other segments. Callers that hold numbers call this before they use a
   * result.
   */
  assertNumbering(): void {
    if (this.#archive.segmentRegistry.numbering !== this.#numbering) throw expired('the archive was rebuilt since');
  }

  /** Reads the replacements since the last call. */
  async refresh(): Promise<void> {
    const notes = await this.#archive.catalog.notes(LINEAGE_NOTE);
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
    for (const segment of await this.#archive.segmentRegistry.all()) {
      const origin = this.#byName.get(segment.name)?.origin;
      if (origin !== undefined) this.#origins.set(segment.number, origin);
    }
  }

  /** The number of the first segment in the chain of replacements. A segment that replaced none is its own origin. */
  originOf(number: number): number {
    return this.#origins.get(number) ?? number;
  }

  /** The segments by the number of their origin, in that order. During a swap, this is the replaced segment. */
  async byOrigin(): Promise<Map<number, Segment>> {
    const byOrigin = new Map<number, Segment>();
    for (const segment of await this.#archive.segmentRegistry.all()) {
      const origin = this.originOf(segment.number);
      if (!byOrigin.has(origin)) byOrigin.set(origin, segment);
    }
    return new Map([...byOrigin].sort(([a], [b]) => a - b));
  }

  /**
   * The current place of the record at an offset of a segment. If no record from there on was kept, the offset is
   * beyond the end.
   */
  async translate(number: number, offset: number): Promise<{ segment: Segment; offset: number; isSame: boolean }> {
    const same = await this.#archive.segmentRegistry.find(number);
    if (same) return { segment: same, offset, isSame: true };
    const origin = this.originOf(number);
    const chain = [...this.#byReplaced.values()]
      .filter((descent) => descent.origin === origin)
      .sort((a, b) => a.replaced - b.replaced);
    let at: number | undefined = number;
    let position = offset;
    let isSame = true;
    for (;;) {
      const segment = await this.#archive.segmentRegistry.find(at);
      if (segment) return { segment, offset: position, isSame };
      const step = chain.findIndex(({ replaced }) => replaced === at);
      const successor = chain[step];
      at =
        chain[step + 1]?.replaced ??
        (successor && (await this.#archive.segmentRegistry.byName(successor.name))?.number);
      if (!successor || at === undefined) throw expired(`segment ${number} is no longer there`);
      const found = (await this.#movesTo(successor.name)).find(position);
      position = found ? found.offset : Number.MAX_SAFE_INTEGER;
      isSame = isSame && found?.isSame === true;
    }
  }

  /** Names of the replacements that were written for this segment. */
  successorsOf(number: number): string[] {
    return [...this.#byName.values()].filter(({ replaced }) => replaced === number).map(({ name }) => name);
  }

  /** Names of replacements whose moves are older than CURSOR_LIFE_MS. */
  outdated(now: EpochMs): string[] {
    return [...this.#byName.values()].filter(({ time }) => now - time > CURSOR_LIFE_MS).map(({ name }) => name);
  }

  async #movesTo(name: string): Promise<SegmentMoves> {
    if (this.#moves?.name === name) return this.#moves.moves;
    const note = MOVES_NOTE + name;
    const text = (await this.#archive.catalog.notes(note))[note];
    if (text === undefined) throw expired('it is older than what compaction remembers');
    this.#moves = { name, moves: SegmentMoves.parse(text) };
    return this.#moves.moves;
  }
}

function expired(detail: string): PinakesError {
  return new PinakesError('CURSOR_EXPIRED', { detail });
}
