/**
 * A ranking file: URLs in a fixed order, which a stream follows while the index changes.
 *
 * ```
 *   ranked         place | first 16 bytes of the SHA-256 of the URL key | URL key
 *   user_version   1 if the file is complete, 2 after a URL was forgotten
 * ```
 * When a URL leaves the archive, its key is removed from the file. Its place and digest stay, so that a stream that
 * stopped at this URL can continue. A file with forgotten URLs serves only streams that already began with it. A new
 * stream needs a complete file, because a forgotten URL that is captured again would have no place.
 */
import { createHash, hash } from 'node:crypto';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { KeptRanking } from '../../archive/index.ts';
import type { UrlKey } from '../../url/index.ts';

const COMPLETE = 1;
const INCOMPLETE = 2;
const DIGEST_BYTES = 16;
const PAGE_KEYS = 512;
const BUSY_MS_MAX = 10_000;

const TABLE = 'CREATE TABLE ranked (place INTEGER PRIMARY KEY, digest BLOB NOT NULL, key TEXT)';
/** Created after all rows, because sorting all rows once takes a fraction of the time. */
const DIGESTS = 'CREATE UNIQUE INDEX ranked_digest ON ranked (digest)';

/** Writes a new file. Returns a digest of its keys. */
export function writeRanking(path: string, keys: Iterable<string>): string {
  using database = new DatabaseSync(path);
  // An incomplete file is deleted after a crash, so it needs no journal.
  database.exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN; ${TABLE}`);
  const put = database.prepare('INSERT INTO ranked (place, digest, key) VALUES (?, ?, ?)');
  const all = createHash('sha256');
  let place = 0;
  for (const key of keys) {
    put.run(place++, keyDigest(key), key);
    all.update(`${key}\0`);
  }
  database.exec(`${DIGESTS}; PRAGMA user_version = ${COMPLETE}; COMMIT; PRAGMA journal_mode = DELETE`);
  return all.digest('hex').slice(0, 2 * DIGEST_BYTES);
}

/** True if the file can be read and has no forgotten URLs. */
export function isCompleteRanking(path: string): boolean {
  try {
    using database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS_MAX });
    return Number(database.prepare('PRAGMA user_version').get()!.user_version) === COMPLETE;
  } catch {
    return false;
  }
}

/** Removes keys from the file. Returns how many of them the file had. */
export function forgetRanked(path: string, keys: readonly string[]): number {
  using database = new DatabaseSync(path, { timeout: BUSY_MS_MAX });
  database.exec('PRAGMA secure_delete = ON; BEGIN IMMEDIATE');
  const forget = database.prepare('UPDATE ranked SET key = NULL WHERE digest = ? AND key IS NOT NULL');
  let forgotten = 0;
  for (const key of keys) forgotten += Number(forget.run(keyDigest(key)).changes);
  if (forgotten > 0) database.exec(`PRAGMA user_version = ${INCOMPLETE}`);
  database.exec('COMMIT');
  return forgotten;
}

export class RankingFile implements KeptRanking {
  readonly #database: DatabaseSync;
  readonly #find: StatementSync;
  readonly #page: StatementSync;

  constructor(path: string) {
    this.#database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS_MAX });
    this.#find = this.#database.prepare('SELECT place FROM ranked WHERE digest = ?');
    this.#page = this.#database.prepare('SELECT place, key FROM ranked WHERE place >= ? ORDER BY place LIMIT ?');
  }

  async placeOf(key: UrlKey): Promise<number | undefined> {
    const row = this.#find.get(keyDigest(key));
    return row && Number(row.place);
  }

  async *keysFrom(place: number): AsyncGenerator<UrlKey[]> {
    for (let from = place; ; ) {
      const rows = this.#page.all(from, PAGE_KEYS);
      const last = rows.at(-1);
      if (!last) return;
      yield rows.flatMap(({ key }) => (key === null ? [] : [String(key) as UrlKey]));
      from = Number(last.place) + 1;
    }
  }

  async rankedOf(keys: readonly UrlKey[]): Promise<ReadonlySet<UrlKey>> {
    return new Set(keys.filter((key) => this.#find.get(keyDigest(key)) !== undefined));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#database.close();
  }
}

function keyDigest(key: string): Uint8Array {
  return hash('sha256', key, 'buffer').subarray(0, DIGEST_BYTES);
}
