/** Writes the current ranking of the index to a ranking file. */
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { PinakesError } from '../../base/index.ts';
import { openForReading, SEARCH_FILE } from './database.ts';
import { writeRanking } from './ranking-file.ts';

export type RankingName = 'inlinks' | 'rank';

/** The computation of an index without pages, whose ranking is empty. */
const EMPTY_COMPUTATION = '0'.repeat(32);

export class RankingWriter {
  readonly #database: DatabaseSync;

  constructor(directory: string) {
    this.#database = openForReading(join(directory, SEARCH_FILE));
  }

  /** The digest of the ranks that the index has now. */
  computation(): string {
    const row = this.#database.prepare("SELECT value FROM state WHERE name = 'ranking'").get();
    if (row) return String(row.value);
    if (!this.#database.prepare('SELECT 1 FROM urls LIMIT 1').get()) return EMPTY_COMPUTATION;
    throw new PinakesError('INDEX_MISSING', {
      where: SEARCH_FILE,
      detail: 'its pages are not ranked yet; run `pinakes rank`',
    });
  }

  /** Writes a ranking file. The file and the returned computation come from the same state of the index. */
  write(name: RankingName, path: string): { computation: string; content: string } {
    // The highest value first; URLs with equal values by key. URLs that no page cites are left out.
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
