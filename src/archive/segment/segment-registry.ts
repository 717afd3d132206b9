/**
 * The rows of the segments of an archive, by number and by name.
 *
 * The process that owns an embedded catalog makes every change itself, so its registry is complete and nothing is read
 * from the catalog. If other processes change the catalog too, a row that the registry does not have is read from the
 * catalog, so that their segments are found. A row that it has is used for FRESH_MS and then read again. A row that
 * another process removed may be used for that long: its object stays for the grace after a removal (R1).
 */
import { type Clock, PinakesError } from '../../base/index.ts';
import type { CatalogView, Segment } from '../../catalog/index.ts';
import { compareTexts, sequenceOf } from '../../ledger/index.ts';

/** A row of another process counts for this long. Readers see every acknowledged capture within a second (I14). */
const FRESH_MS = 500;

/** The rows of a catalog that other processes change too. */
export type SharedRows = Pick<CatalogView, 'segment' | 'segmentByName' | 'segments'>;

type Cached = { readonly segment: Segment; readonly readMs: number };

export class SegmentRegistry {
  readonly #shared: SharedRows | undefined;
  readonly #clock: Clock;
  readonly #rows = new Map<number, Cached>();
  readonly #numbers = new Map<string, number>();
  /** Rows that are being read, so that many callers cause one read. */
  readonly #asked = new Map<number, Promise<Segment | undefined>>();
  /**
   * Segments that could not be read to their end when the archive was opened. Captures in these segments may refer to
   * any record, so records without known references may not be removed.
   */
  readonly unread = new Set<string>();
  /** Files that are being added in place. The catalog does not have all of their records yet. */
  readonly entering = new Set<string>();
  /** Whether the catalog had no segment when the archive was opened. False when its segments are listed. */
  isNew = false;
  /** Replacements that this process is writing, by number. */
  readonly replacing = new Set<number>();
  /** The highest sequence number in the catalog when the archive was opened. */
  newestSequence = 0;
  #rebuilds = 0;
  #isComplete = true;
  /** Counts the changes of this process, so that an answer from before a change does not replace it. */
  #changes = 0;

  /** `shared`: the catalog, unless this process owns it. */
  constructor(clock: Clock, shared?: SharedRows) {
    this.#clock = clock;
    this.#shared = shared;
  }

  load(segments: readonly Segment[]): void {
    this.#rows.clear();
    this.#numbers.clear();
    for (const segment of segments) this.put(segment);
  }

  /** How many rebuilds this process began. Segment numbers from before a rebuild may mean other segments. */
  get rebuilds(): number {
    return this.#rebuilds;
  }

  /** False while the catalog is rebuilt, and after a rebuild that failed: segments may be missing. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Called before a rebuild changes anything: all segment numbers become invalid. */
  beginRebuild(): void {
    this.#rebuilds++;
    this.#isComplete = false;
  }

  /** Forgets everything, for a rebuild. */
  reset(): void {
    this.load([]);
  }

  endRebuild(): void {
    this.#isComplete = true;
  }

  /** Makes every row be read again. */
  expire(): void {
    if (this.#shared) this.load([]);
  }

  /** Enters a row that this process has committed. */
  put(segment: Segment): void {
    this.#changes++;
    this.#keep(segment);
  }

  /** Enters a row that this process writes to. Others may have counted dead bytes in it meanwhile. */
  grow(segment: Segment): void {
    const known = this.#rows.get(segment.number)?.segment;
    this.put(known ? { ...segment, deadBytes: known.deadBytes } : segment);
  }

  /** Removes the row of a segment that this process has removed. */
  forget(number: number): void {
    this.#changes++;
    this.#drop(number);
  }

  async get(number: number): Promise<Segment> {
    const segment = await this.find(number);
    if (!segment) throw new PinakesError('CONTENT_MISSING', { where: `segment ${number}` });
    return segment;
  }

  async find(number: number): Promise<Segment | undefined> {
    const known = this.#fresh(number);
    if (known || !this.#shared) return known;
    const asked = this.#asked.get(number) ?? this.#ask(number, this.#shared);
    this.#asked.set(number, asked);
    return asked.finally(() => this.#asked.delete(number));
  }

  async byName(name: string): Promise<Segment | undefined> {
    const number = this.#numbers.get(name);
    const known = number === undefined ? undefined : this.#fresh(number);
    if (known || !this.#shared) return known;
    const changes = this.#changes;
    const segment = await this.#shared.segmentByName(name);
    if (changes === this.#changes) {
      if (segment) this.#keep(segment);
      else if (number !== undefined) this.#drop(number);
    }
    return segment;
  }

  /** The segments in the order of their sequence numbers, which is the order of their creation (R4). */
  async all(): Promise<Segment[]> {
    const segments = this.#shared
      ? await this.#shared.segments()
      : Array.from(this.#rows.values(), ({ segment }) => segment);
    return segments.sort((a, b) => sequenceOf(a) - sequenceOf(b) || compareTexts(a.name, b.name));
  }

  async #ask(number: number, shared: SharedRows): Promise<Segment | undefined> {
    const changes = this.#changes;
    const segment = await shared.segment(number);
    if (changes !== this.#changes) return segment;
    if (segment) this.#keep(segment);
    else this.#drop(number);
    return segment;
  }

  #keep(segment: Segment): void {
    this.#drop(segment.number);
    this.#rows.set(segment.number, { segment, readMs: this.#clock() });
    this.#numbers.set(segment.name, segment.number);
  }

  #drop(number: number): void {
    const row = this.#rows.get(number);
    if (!row) return;
    this.#rows.delete(number);
    if (this.#numbers.get(row.segment.name) === number) this.#numbers.delete(row.segment.name);
  }

  #fresh(number: number): Segment | undefined {
    const row = this.#rows.get(number);
    if (!row) return undefined;
    // A clock that was set back must not keep a row.
    const isFresh = !this.#shared || Math.abs(this.#clock() - row.readMs) < FRESH_MS;
    return isFresh ? row.segment : undefined;
  }
}
