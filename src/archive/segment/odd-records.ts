/**
 * Odd records (see `HeadForm`) and the segments that are kept for them.
 *
 * ```
 *   <collection>/odd-<collection>-<time>-<serial>-<host>.warc.gz        beside the other segments of the collection
 *   odd:<number of the segment>  =  {"odd":3,"undated":1}               a note of the catalog
 * ```
 * Other tools stop at an odd record and do not read the records after it. So odd records are kept in segments of their
 * own, except in files that were added in place. The notes say which segments have odd records. They are derived data:
 * a rebuild counts again.
 */
import type { CatalogView } from '../../catalog/index.ts';
import { isUndated, type RecordFacts } from '../../ledger/index.ts';

const NOTE = 'odd:';
const PREFIX = 'odd-';

export type OddCounts = {
  readonly odd: number;
  /** Odd records without a valid date, which are not in the index. */
  readonly undated: number;
};

/** The beginning of the name of a segment for odd records, without its folder. */
export function oddStem(collectionName: string): string {
  return PREFIX + collectionName;
}

/** Whether a segment of the archive is for odd records. The name of a collection may begin with `odd-` too. */
export function isOddSegment(name: string): boolean {
  const [folder, file] = name.split('/');
  return file?.startsWith(`${PREFIX}${folder}-`) ?? false;
}

/** Counts the odd records of a segment. */
export class OddCounter {
  #odd: number;
  #undated: number;

  constructor({ odd, undated }: OddCounts = { odd: 0, undated: 0 }) {
    this.#odd = odd;
    this.#undated = undated;
  }

  add(facts: RecordFacts): void {
    if (!facts.isOdd) return;
    this.#odd++;
    if (isUndated(facts)) this.#undated++;
  }

  /** The notes to commit with the records. Empty when there are no odd records. */
  notes(segment: number): Record<string, string> {
    if (this.#odd === 0) return {};
    return { [NOTE + segment]: JSON.stringify({ odd: this.#odd, undated: this.#undated }) };
  }
}

export function oddNote(segment: number): string {
  return NOTE + segment;
}

/** The count of one segment so far. */
export async function countOdd(catalog: Pick<CatalogView, 'notes'>, segment: number): Promise<OddCounts | undefined> {
  const note = (await catalog.notes(oddNote(segment)))[oddNote(segment)];
  return note === undefined ? undefined : (JSON.parse(note) as OddCounts);
}

/** The segments that have odd records, by number. */
export async function oddSegments(catalog: Pick<CatalogView, 'notes'>): Promise<Map<number, OddCounts>> {
  const notes = Object.entries(await catalog.notes(NOTE));
  return new Map(notes.map(([name, counts]) => [Number(name.slice(NOTE.length)), JSON.parse(counts) as OddCounts]));
}
