/**
 * The hosts of a collection by name. Each has the number of its known URLs and of its queued URLs.
 *
 * Within a transaction URLs are counted in memory. At the end of the transaction, `write` updates the row of each
 * changed host once.
 */
import { hash } from 'node:crypto';
import { HOST_ID_STEP } from '../frontier.ts';
import type { CrawlFile } from './crawl-file.ts';

const BUCKETS = 1024;
const REMEMBERED_MAX = 20_000;

/** A host, with the changes of its counts since its row was written. */
export type HostRow = { readonly id: number; known: number; newKnown: number; newQueued: number };

export class HostRows {
  readonly #file: CrawlFile;
  readonly #collection: string;
  readonly #remembered = new Map<string, HostRow>();
  /** Hosts whose rows are out of date. */
  readonly #changed = new Set<HostRow>();

  constructor(file: CrawlFile, collection: string) {
    this.#file = file;
    this.#collection = collection;
  }

  /** Returns the host of this name, and creates it if there is none. */
  get(name: string): HostRow {
    const remembered = this.#remembered.get(name);
    if (remembered) return remembered;
    const host = this.#load(name) ?? this.#create(name);
    if (this.#remembered.size >= REMEMBERED_MAX) this.forget();
    this.#remembered.set(name, host);
    return host;
  }

  countKnown(host: HostRow): void {
    host.known++;
    host.newKnown++;
    this.#changed.add(host);
  }

  countQueued(host: HostRow, change: number): void {
    host.newQueued += change;
    this.#changed.add(host);
  }

  write(): void {
    for (const host of this.#changed) {
      this.#file.run(
        'UPDATE host SET known = known + ?, queued = queued + ? WHERE id = ?',
        host.newKnown,
        host.newQueued,
        host.id,
      );
      host.newKnown = 0;
      host.newQueued = 0;
    }
    this.#changed.clear();
  }

  /** Forgets the counts since the last `write`, because the transaction failed. */
  revert(): void {
    this.#changed.clear();
    this.#remembered.clear();
  }

  /** Frees memory, unless some rows are out of date: their counts are needed for `write`. */
  forget(): void {
    if (this.#changed.size === 0) this.#remembered.clear();
  }

  #load(name: string): HostRow | undefined {
    const row = this.#file.get<{ id: number; known: number }>(
      'SELECT id, known FROM host WHERE collection = ? AND name = ?',
      this.#collection,
      name,
    );
    return row && { ...row, newKnown: 0, newQueued: 0 };
  }

  #create(name: string): HostRow {
    const first = bucketOf(name) * HOST_ID_STEP;
    const last = this.#file.get<{ last: number | null }>(
      'SELECT max(id) AS last FROM host WHERE id >= ? AND id < ?',
      first,
      first + HOST_ID_STEP,
    );
    const id = (last?.last ?? first) + 1;
    this.#file.run('INSERT INTO host (id, collection, name) VALUES (?, ?, ?)', id, this.#collection, name);
    return { id, known: 0, newKnown: 0, newQueued: 0 };
  }
}

function bucketOf(name: string): number {
  return hash('sha256', name, 'buffer').readUInt16BE(0) % BUCKETS;
}
