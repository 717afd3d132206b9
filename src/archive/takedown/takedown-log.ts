/**
 * The log of takedowns of an archive: entries that are only appended, each chained to the one before it and signed. It
 * is in every writable volume, so that the volumes alone bring it back; an entry that one volume lost is written there
 * again with the next entry. The name of an entry says its number and digest, so appending reads only what a volume
 * lacks.
 *
 * The catalog notes the newest entry, and the records of deletions in the segments name the takedown that they belong
 * to. So a removal shows even at the end of the log, unless volumes, segments and catalog are changed together.
 *
 * ```
 *   note  takedown-log     <number> SP <digest of the newest entry>
 * ```
 */
import type { KeyObject } from 'node:crypto';
import { hostname } from 'node:os';
import { type Clock, Exclusive, formatW3cDate, fromUtf8, type IdSource, PinakesError, utf8 } from '../../base/index.ts';
import type { Catalog } from '../../catalog/index.ts';
import {
  HeldLease,
  LEASE_LIFE_MS,
  listedObjects,
  refusalOf,
  type SegmentStore,
  type SegmentStores,
} from '../../ledger/index.ts';
import {
  ENTRY_BYTES_MAX,
  type EntryFacts,
  LOG_FOLDER,
  type LogEntry,
  parseEntryName,
  type ReadEntry,
  readEntry,
  sealEntry,
} from './log-entry.ts';
import { parsePublicKey, SigningKey } from './signing-key.ts';

const NEWEST_NOTE = 'takedown-log';
const LOG_LEASE = 'takedown-log';
const KEY_PREFIX = `${LOG_FOLDER}key-`;
const KEY_BYTES_MAX = 4096;

export type LogOptions = {
  readonly directory: string;
  readonly archive: string;
  readonly catalog: Catalog;
  readonly stores: Pick<SegmentStores, 'available' | 'writable'>;
  readonly clock: Clock;
  readonly newId: IdSource;
};

/** The log as the volumes have it. */
export type ReadLog = {
  /** In order of number. */
  readonly entries: readonly ReadEntry[];
  /** What was changed or is missing. Empty: the log is whole. */
  readonly problems: readonly string[];
  /** Fingerprints of the keys that signed it, and the first entry of each. */
  readonly keys: readonly { readonly fingerprint: string; readonly from: number }[];
};

export class TakedownLog {
  readonly #options: LogOptions;
  readonly #appending = new Exclusive();

  constructor(options: LogOptions) {
    this.#options = options;
  }

  /** All entries, of all volumes together, checked. Changes nothing. */
  async read(): Promise<ReadLog> {
    const { entries } = await this.#load();
    const note = (await this.#options.catalog.notes(NEWEST_NOTE))[NEWEST_NOTE];
    const own = await SigningKey.read(this.#options.directory);
    const problems = problemsOf(entries, note);
    const newest = entries.at(-1)?.key;
    // In a cluster, each machine has a key of its own.
    if (own && newest !== undefined && newest !== own.fingerprint && !this.#options.catalog.isShared)
      problems.push('the newest entry is not signed with the key of this archive');
    return { entries, problems, keys: keysOf(entries) };
  }

  /** Appends an entry durably, to every writable volume. */
  append(by: string, facts: EntryFacts): Promise<LogEntry> {
    return this.#appending.run(() => this.#underLease(() => this.#append(by, facts)));
  }

  async #underLease<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    const { catalog, newId } = this.#options;
    const lifeMs = catalog.isShared ? LEASE_LIFE_MS : undefined;
    const held = await HeldLease.take(catalog, LOG_LEASE, `${hostname()}, ${newId()}`, { lifeMs });
    if (!held) throw new PinakesError('ARCHIVE_BUSY', { detail: 'another process writes to the log of takedowns' });
    try {
      return await work();
    } finally {
      await held.end();
    }
  }

  async #append(by: string, facts: EntryFacts): Promise<LogEntry> {
    const { directory, archive, catalog, stores, clock } = this.#options;
    const key = await SigningKey.readOrMake(directory);
    const writable = stores.writable();
    if (writable.length === 0) throw new PinakesError('NO_WRITABLE_VOLUME');
    const names = new Map<SegmentStore, ReadonlySet<string>>();
    for (const store of stores.available()) names.set(store, new Set(await namesIn(store)));
    const all = [...new Set([...names.values()].flatMap((some) => [...some]))].sort();
    const newest = all.flatMap((name) => parseEntryName(name) ?? []).at(-1);
    const number = (newest?.number ?? 0) + 1;
    const entry = { number, previous: newest?.digest, archive, time: formatW3cDate(clock()), by, facts };
    const sealed = sealEntry(entry, key);
    if (sealed.bytes.length > ENTRY_BYTES_MAX)
      throw new PinakesError('RECORD_TOO_LARGE', { where: 'log of takedowns', detail: 'take down less at once' });
    const lacks = (store: SegmentStore, name: string) => names.get(store)?.has(name) !== true;
    const lost = new Set(all.filter((name) => writable.some((store) => lacks(store, name))));
    const { objects } = lost.size > 0 ? await this.#load((name) => lost.has(name)) : { objects: new Map() };
    objects.set(KEY_PREFIX + key.fingerprint, utf8(key.publicPem));
    for (const store of writable) {
      for (const [name, bytes] of objects) if (lacks(store, name)) await store.writeObject(name, bytes);
      await store.writeObject(sealed.name, sealed.bytes);
    }
    refusalOf(await catalog.commit({ putNotes: { [NEWEST_NOTE]: `${number} ${sealed.digest}` }, durable: true }));
    return entry;
  }

  /** The keys and the wanted entries. */
  async #load(
    isWanted: (name: string) => boolean = () => true,
  ): Promise<{ objects: Map<string, Uint8Array>; entries: ReadEntry[] }> {
    const objects = new Map<string, Uint8Array>();
    const found = new Map<string, Uint8Array[]>();
    for (const store of this.#options.stores.available())
      for (const name of await namesIn(store)) {
        const isKey = name.startsWith(KEY_PREFIX);
        if (!isKey && !isWanted(name)) continue;
        const max = isKey ? KEY_BYTES_MAX : ENTRY_BYTES_MAX;
        const bytes = await store.readObject(name, max);
        if (bytes) found.set(name, [...(found.get(name) ?? []), bytes]);
      }
    const keys = new Map<string, KeyObject>();
    for (const [name, versions] of found) {
      if (!name.startsWith(KEY_PREFIX)) continue;
      for (const bytes of versions) {
        const parsed = parsePublicKey(fromUtf8(bytes));
        // A key that does not match its name was put there by another.
        if (parsed?.fingerprint !== name.slice(KEY_PREFIX.length)) continue;
        keys.set(parsed.fingerprint, parsed.key);
        objects.set(name, bytes);
      }
    }
    const entries: ReadEntry[] = [];
    for (const [name, versions] of found) {
      const read = versions.flatMap((bytes) => {
        const entry = readEntry(name, bytes, (fingerprint) => keys.get(fingerprint));
        return entry ? [{ entry, bytes }] : [];
      });
      // A volume may have lost or changed its object while another has it as it was written.
      const best = read.find(({ entry }) => entry.problem === undefined) ?? read[0];
      if (!best) continue;
      entries.push(best.entry);
      objects.set(name, best.bytes);
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { objects, entries };
  }
}

/** An object that a crash left half written is not sealed, and does not count. */
async function namesIn(store: SegmentStore): Promise<string[]> {
  const objects = await listedObjects(store, LOG_FOLDER);
  return objects.flatMap(({ name, sealed }) => (sealed ? [name] : []));
}

function numberOf(read: ReadEntry | undefined): number {
  return read ? Number(read.name.slice(LOG_FOLDER.length, LOG_FOLDER.length + 9)) : 0;
}

function keysOf(entries: readonly ReadEntry[]): ReadLog['keys'] {
  const keys = new Map<string, number>();
  for (const read of entries) if (read.key !== undefined && !keys.has(read.key)) keys.set(read.key, numberOf(read));
  return Array.from(keys, ([fingerprint, from]) => ({ fingerprint, from }));
}

function problemsOf(entries: readonly ReadEntry[], note: string | undefined): string[] {
  const problems: string[] = [];
  let before: ReadEntry | undefined;
  for (const read of entries) {
    const number = numberOf(read);
    const expected = numberOf(before) + 1;
    if (read.problem !== undefined) problems.push(`entry ${number}: ${read.problem}`);
    if (number > expected)
      problems.push(
        number === expected + 1 ? `entry ${expected} is missing` : `entries ${expected} to ${number - 1} are missing`,
      );
    else if (number < expected) problems.push(`there are several entries ${number}`);
    else if (read.entry && read.entry.previous !== before?.digest)
      problems.push(`entry ${number} does not follow the entry before it`);
    before = read;
  }
  const [number = '', digest] = note?.split(' ') ?? [];
  if (digest !== undefined && !entries.some((read) => read.digest === digest))
    problems.push(`the newest entry, number ${number}, is missing`);
  return problems;
}
