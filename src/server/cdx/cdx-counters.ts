/**
 * The counters of the Internet Archive's CDX server, columns that tell what an answer leaves out:
 *
 *     dupecount      how many lines before this one have the same digest
 *     skipcount      how many captures between this line and the next were filtered or collapsed away
 *     endtimestamp   the last of these; the line's own time when there is none
 *
 * Digests that are remembered are bounded (I9): those of the lines that came last. There, the last line of an answer
 * counts one too few; here it does not.
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
  #last = '';

  constructor(collapser: Collapser | undefined) {
    this.#collapser = collapser;
  }

  /**
   * `rows` as they stand in the index, `passed` those of them that no filter holds back. Gives the lines that nothing
   * more can be added to.
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
      this.#last = row.timestamp;
    }
    return done;
  }

  end(): CdxRow[] {
    const held = this.#held;
    this.#held = undefined;
    return held ? [{ ...held, skipcount: String(this.#skipped), endtimestamp: this.#last }] : [];
  }

  #withDuplicates(row: CdxRow): CdxRow {
    const { digest, mimetype } = row;
    const seen = this.#digests.get(digest);
    // The last that was met stands last, so that the first is the one to forget.
    this.#digests.delete(digest);
    this.#digests.set(digest, { count: (seen?.count ?? 0) + 1, mimetype: seen?.mimetype ?? mimetype });
    if (this.#digests.size > DIGESTS_MAX) this.#digests.delete(this.#digests.keys().next().value!);
    const isResolved = seen !== undefined && mimetype === 'warc/revisit';
    return { ...row, dupecount: String(seen?.count ?? 0), ...(isResolved && { mimetype: seen.mimetype }) };
  }
}
