/** Copies the order that the index gives to URLs now into a file of its own. */
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { PinakesError } from '../../base/index.ts';
import { openForReading, SEARCH_FILE } from './database.ts';
import { writeRanking } from './ranking-file.ts';

export type RankingName = 'inlinks' | 'rank';

/** An index without a page has an order all the same: the empty one. */
const NOTHING_RANKED = '0'.repeat(32);

export class RankingWriter {
  readonly #database: DatabaseSync;

  constructor(directory: string) {
    this.#database = openForReading(join(directory, SEARCH_FILE));
  }

  /** Which computation of ranks the index has now. */
  computation(): string {
    const row = this.#database.prepare("SELECT value FROM state WHERE name = 'ranking'").get();
    if (row) return String(row.value);
    if (!this.#database.prepare('SELECT 1 FROM urls LIMIT 1').get()) return NOTHING_RANKED;
    throw new PinakesError('INDEX_MISSING', {
      where: SEARCH_FILE,
      detail: 'its pages are not ranked yet: `pinakes rank` does it',
    });
  }

  /** Writes a file. All of it comes from one state of the index, and so does the computation that is named. */
  write(name: RankingName, path: string): { computation: string; content: string } {
    // The greatest first, of equal ones by key; what no page cites has no place.
    const sql = `SELECT key FROM urls WHERE ${name} > 0 ORDER BY ${name} DESC, key`;
    this.#database.exec('BEGIN');
    try {
      const computation = this.computation();
      const statement = this.#database.prepare(sql);
      function* keys(): Generator<string> {
        for (const { key } of statement.iterate()) yield String(key);
      }
      return { computation, content: writeRanking(path, keys()) };
    } finally {
      this.#database.exec('COMMIT');
    }
  }

  close(): void {
    this.#database.close();
  }
}
