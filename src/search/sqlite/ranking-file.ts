/**
 * URLs in an order that no longer changes: a file that streams go by, whatever the index learns meanwhile.
 *
 * ```
 *   ranked         place | first 16 bytes of the SHA-256 of the URL key | URL key
 *   user_version   1 while the file is whole, 2 when something was forgotten
 * ```
 * A URL that left the archive is forgotten: its key goes, its place and digest stay, so that a stream that stopped
 * at it still finds where to go on. A file that forgot something is good for streams that began by it, and for no
 * others: the URL may come back, and would have no place to come at.
 */
import { createHash, hash } from 'node:crypto';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { KeptRanking } from '../../archive/index.ts';
import type { UrlKey } from '../../url/index.ts';

const WHOLE = 1;
const INCOMPLETE = 2;
const DIGEST_BYTES = 16;
const PAGE_KEYS = 512;
const BUSY_MS_MAX = 10_000;

const TABLE = 'CREATE TABLE ranked (place INTEGER PRIMARY KEY, digest BLOB NOT NULL, key TEXT)';
/** Made when all rows are there: sorted at once it takes a fraction of the time. */
const DIGESTS = 'CREATE UNIQUE INDEX ranked_digest ON ranked (digest)';

/** Writes a file, which must not be there yet. Gives a digest of what is in it. */
export function writeRanking(path: string, keys: Iterable<string>): string {
  const database = new DatabaseSync(path);
  try {
    // A file that is not whole is thrown away, so nothing needs to be safe before the end.
    database.exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN; ${TABLE}`);
    const put = database.prepare('INSERT INTO ranked (place, digest, key) VALUES (?, ?, ?)');
    const all = createHash('sha256');
    let place = 0;
    for (const key of keys) {
      put.run(place++, keyDigest(key), key);
      all.update(`${key}\0`);
    }
    database.exec(`${DIGESTS}; PRAGMA user_version = ${WHOLE}; COMMIT; PRAGMA journal_mode = DELETE`);
    return all.digest('hex').slice(0, 2 * DIGEST_BYTES);
  } finally {
    database.close();
  }
}

/** Whether there is a file that can be read and that nothing was forgotten of. */
export function isCompleteRanking(path: string): boolean {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS_MAX });
    return Number(database.prepare('PRAGMA user_version').get()!.user_version) === WHOLE;
  } catch {
    return false;
  } finally {
    database?.close();
  }
}

/** Forgets those of these keys that it has; gives how many. */
export function forgetRanked(path: string, keys: readonly string[]): number {
  const database = new DatabaseSync(path, { timeout: BUSY_MS_MAX });
  try {
    database.exec('PRAGMA secure_delete = ON; BEGIN IMMEDIATE');
    const forget = database.prepare('UPDATE ranked SET key = NULL WHERE digest = ? AND key IS NOT NULL');
    let forgotten = 0;
    for (const key of keys) forgotten += Number(forget.run(keyDigest(key)).changes);
    if (forgotten > 0) database.exec(`PRAGMA user_version = ${INCOMPLETE}`);
    database.exec('COMMIT');
    return forgotten;
  } finally {
    database.close();
  }
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
