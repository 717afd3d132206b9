/**
 * The counters of the CDX server of the Internet Archive, columns about lines that a reply leaves out:
 *
 *     dupecount      how many earlier lines have the same digest
 *     skipcount      how many captures between this line and the next were filtered or collapsed
 *     endtimestamp   the time of the last capture in skipcount; without one, the time of the line itself
 *
 * Only the most recent digests are remembered (I9). The last line of a reply of the Internet Archive counts one capture
 * too few; here the count is right.
 */
import type { Collapser } from './cdx-collapse.ts';
import type { CdxRow } from './cdx-row.ts';

const DIGESTS_MAX = 100_000;

export const COUNTER_FIELDS = {
  showDupeCount: 'dupecount',
  showSkipCount: 'skipcount',
  lastSkipTimestamp: 'endtimestamp',
};

type Seen = { count: number; readonly mimetype: string };

export class CdxCounters {
  readonly #collapser: Collapser | undefined;
  readonly #digests = new Map<string, Seen>();
  #held: CdxRow | undefined;
  #skipped = 0;
  #lastTimestamp = '';

  constructor(collapser: Collapser | undefined) {
    this.#collapser = collapser;
  }

  /**
   * `rows` are all rows in the order of the index; `passed` are the rows that pass the filters. Returns the lines whose
   * counters are complete.
   */
  push(rows: readonly CdxRow[], passed: readonly CdxRow[]): CdxRow[] {
    const kept = new Set(this.#collapser ? this.#collapser.push(passed) : passed);
    const done: CdxRow[] = [];
    for (const row of rows) {
      if (kept.has(row)) {
        done.push(...this.end());
        this.#held = this.#withDuplicates(row);
        this.#skipped = 0;
      } else this.#skipped++;
      this.#lastTimestamp = row.timestamp;
    }
    return done;
  }

  end(): CdxRow[] {
    const held = this.#held;
    this.#held = undefined;
    return held ? [{ ...held, skipcount: String(this.#skipped), endtimestamp: this.#lastTimestamp }] : [];
  }

  #withDuplicates(row: CdxRow): CdxRow {
    const { digest, mimetype } = row;
    const seen = this.#digests.get(digest);
    // The map is in order of last use, so that the first entry is dropped first.
    this.#digests.delete(digest);
    this.#digests.set(digest, { count: (seen?.count ?? 0) + 1, mimetype: seen?.mimetype ?? mimetype });
    if (this.#digests.size > DIGESTS_MAX) this.#digests.delete(this.#digests.keys().next().value!);
    const isResolved = seen !== undefined && mimetype === 'warc/revisit';
    return { ...row, dupecount: String(seen?.count ?? 0), ...(isResolved && { mimetype: seen.mimetype }) };
  }
}
