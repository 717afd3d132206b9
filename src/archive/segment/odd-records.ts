/**
 * Odd records (see `HeadForm`) and the segments that are kept for them.
 *
 * ```
 *   <collection>/odd-<collection>-<time>-<serial>-<host>.warc.gz        beside the other segments of the collection
 *   odd:<number of the segment>  =  {"odd":3,"undated":1}               a note of the catalog
 * ```
 * Other tools stop at such a record and never see what stands behind it. So none shares a segment with sound
 * records, except in files that were added in place. The notes say which segments have any, and are derived: a rebuild
 * counts anew.
 */
import type { CatalogView } from '../../catalog/index.ts';
import { isUndated, type RecordFacts } from '../record-facts.ts';

const NOTE = 'odd:';
const PREFIX = 'odd-';

export type OddCounts = {
  readonly odd: number;
  /** Of these: records that no date tells the time of, so that they are in no index. */
  readonly undated: number;
};

/** The name of a segment without its folder, for a kind of segments. */
export function segmentStem(collectionName: string, isOdd: boolean): string {
  return `${isOdd ? PREFIX : ''}${collectionName}`;
}

/** Whether a segment of the archive's own is one for odd records; a collection may be called `odd-` something. */
export function isOddSegment(name: string): boolean {
  const [folder, file] = name.split('/');
  return file?.startsWith(`${PREFIX}${folder}-`) ?? false;
}

/** The odd records of a segment while they are counted. */
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

  /** To be put into the catalog together with the records; nothing when there are none. */
  notes(segment: number): Record<string, string> {
    if (this.#odd === 0) return {};
    return { [NOTE + segment]: JSON.stringify({ odd: this.#odd, undated: this.#undated }) };
  }
}

export function oddNote(segment: number): string {
  return NOTE + segment;
}

/** What is counted so far of one segment. */
export async function countOdd(catalog: Pick<CatalogView, 'notes'>, segment: number): Promise<OddCounts | undefined> {
  const note = (await catalog.notes(oddNote(segment)))[oddNote(segment)];
  return note === undefined ? undefined : (JSON.parse(note) as OddCounts);
}

/** The segments that have odd records, by number. */
export async function oddSegments(catalog: Pick<CatalogView, 'notes'>): Promise<Map<number, OddCounts>> {
  const notes = Object.entries(await catalog.notes(NOTE));
  return new Map(notes.map(([name, counts]) => [Number(name.slice(NOTE.length)), JSON.parse(counts) as OddCounts]));
}
