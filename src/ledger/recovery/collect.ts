/**
 * Removes what is left over in volumes of immutable objects (H4), under the lease of collection:
 *
 * - parts of segments that are sealed, when the grace of their readers is over, and of segments without a row, which
 *   were dropped or sealed under a fresh name. Never the parts of an open segment, nor a part that a row names.
 * - segments without a row that were written under a lease that has ended, when they have been seen for a day: what an
 *   ended writer or compaction put too late.
 *
 * A name is looked up in the catalog after it was found in the volume, and every name is listed before anything is put
 * under it (P3). So what has no row then is left over. Any other unlisted file is the archivist's and is only reported.
 *
 * ```
 *   note  unlisted:<name of a segment>     when it was seen first
 * ```
 */
import { type Clock, type Finding, PinakesError } from '../../base/index.ts';
import type { Catalog, Lease, Segment } from '../../catalog/index.ts';
import { askAgain } from '../ask-again.ts';
import { commitCounted } from '../counters.ts';
import { oldDroppedNotes } from '../dropped-segments.ts';
import { COLLECTION_LEASE, HeldLease, type LeaseOptions } from '../lease.ts';
import { parsePartName } from '../part-name.ts';
import { REPLACED_NOTE } from '../replacement/swap.ts';
import { SEALED_NOTE } from '../seal.ts';
import { isSegmentName } from '../segment-name.ts';
import { isMissing } from '../segment-reader.ts';
import { readOrigin } from '../segment-records.ts';
import { type SegmentStore, type SegmentStores, sealedBytes } from '../segment-store.ts';

export const UNLISTED_NOTE = 'unlisted:';
const UNLISTED_LIFE_MS = 24 * 3600 * 1000;

export type CollectionOptions = LeaseOptions & {
  readonly catalog: Catalog;
  readonly stores: Pick<SegmentStores, 'writable'>;
  readonly clock: Clock;
  /** How long readers may go on reading the parts of a sealed segment. */
  readonly graceMs: number;
  readonly onFinding?: ((finding: Finding) => void) | undefined;
};

/** The names of the objects that were removed. Undefined: another process collects, or the catalog is being adopted. */
export async function collectLeftovers(options: CollectionOptions, holder: string): Promise<string[] | undefined> {
  const { catalog, stores } = options;
  const held = await HeldLease.take(catalog, COLLECTION_LEASE, holder, options);
  if (!held) return undefined;
  const removed: string[] = [];
  try {
    // Asked under the lease: an adoption that begins later begins an incarnation, in which this lease is none.
    if (await catalog.isAdopting()) return undefined;
    for (const store of stores.writable())
      if (store.hasParts) removed.push(...(await new Collection(options, held.lease, store).run()));
  } finally {
    await held.end();
  }
  return removed;
}

class Collection {
  readonly #options: CollectionOptions;
  readonly #lease: Lease;
  readonly #store: SegmentStore;

  constructor(options: CollectionOptions, lease: Lease, store: SegmentStore) {
    this.#options = options;
    this.#lease = lease;
    this.#store = store;
  }

  async run(): Promise<string[]> {
    const { catalog } = this.#options;
    const parts = new Map<string, string[]>();
    const objects = new Map<string, number>();
    for await (const page of this.#store.list())
      for (const { name, bytes } of page) {
        const part = parsePartName(name);
        if (part) parts.set(part.segment, [...(parts.get(part.segment) ?? []), name]);
        else if (isSegmentName(name)) objects.set(name, bytes);
      }
    const rows = new Map((await catalog.segments()).map((row) => [row.name, row]));
    const removed = await this.#removeParts(parts, rows);
    return [...removed, ...(await this.#removeUnlisted(objects, rows))];
  }

  async #removeParts(found: ReadonlyMap<string, string[]>, rows: ReadonlyMap<string, Segment>): Promise<string[]> {
    const { catalog, clock, graceMs } = this.#options;
    const named = new Set([...rows.values()].flatMap(({ parts = [] }) => parts.map(({ name }) => name)));
    const sealed = await catalog.notes(SEALED_NOTE);
    const doomed: string[] = [];
    const removeNotes: string[] = [];
    for (const [segment, names] of found) {
      const row = rows.get(segment);
      if (row && row.state !== 'sealed') continue;
      const at = sealed[SEALED_NOTE + segment];
      if (at !== undefined && clock() < Number(at) + graceMs) continue;
      doomed.push(...names.filter((name) => !named.has(name)));
    }
    for (const [note, at] of Object.entries(sealed)) if (clock() >= Number(at) + graceMs) removeNotes.push(note);
    removeNotes.push(...(await oldDroppedNotes(catalog, clock)));
    await this.#remove(doomed);
    if (removeNotes.length > 0) await this.#commit({ removeNotes });
    return doomed;
  }

  async #removeUnlisted(found: ReadonlyMap<string, number>, rows: ReadonlyMap<string, Segment>): Promise<string[]> {
    const { catalog, clock } = this.#options;
    const known = await catalog.notes(UNLISTED_NOTE);
    const gone = Object.keys(known).filter((note) => {
      const name = note.slice(UNLISTED_NOTE.length);
      return rows.has(name) || !found.has(name);
    });
    const putNotes: Record<string, string> = {};
    const doomed: string[] = [];
    for (const [name, bytes] of found) {
      if (rows.has(name) || !(await this.#isLeftOver(name, bytes))) continue;
      const seen = known[UNLISTED_NOTE + name];
      if (seen === undefined) putNotes[UNLISTED_NOTE + name] = String(clock());
      else if (clock() >= Number(seen) + UNLISTED_LIFE_MS) doomed.push(name);
    }
    await this.#remove(doomed);
    const removeNotes = [...gone, ...doomed.map((name) => UNLISTED_NOTE + name)];
    if (removeNotes.length + Object.keys(putNotes).length > 0) await this.#commit({ putNotes, removeNotes });
    return doomed;
  }

  /** Whether a segment without a row is one of ours whose lease has ended. */
  async #isLeftOver(name: string, bytes: number): Promise<boolean> {
    const { catalog, onFinding } = this.#options;
    const replaced = REPLACED_NOTE + name;
    if ((await catalog.notes(replaced))[replaced] !== undefined) return false;
    const origin = await readOrigin(this.#store, sealedBytes(name, bytes), bytes).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
      return 'missing' as const;
    });
    // A compaction has removed it since the volume was listed.
    if (origin === 'missing') return false;
    const { lease } = origin ?? {};
    if (lease) return !(await catalog.leases()).some((row) => row.isLiving && isSame(row, lease));
    const message = 'the catalog does not have this file; add it to the archive, or remove it from the volume';
    onFinding?.({ code: 'file-unlisted', level: 'warning', file: name, offset: 0, message });
    return false;
  }

  /** Checks the lease again first: a catalog that went back has other rows. */
  async #remove(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    await this.#commit({});
    await this.#store.remove(names);
  }

  async #commit(changes: {
    readonly putNotes?: Readonly<Record<string, string>>;
    readonly removeNotes?: readonly string[];
  }): Promise<void> {
    const { catalog, again } = this.#options;
    const outcome = await askAgain(() => commitCounted(catalog, { lease: this.#lease, ...changes }), again);
    if (outcome.kind !== 'committed') throw new PinakesError('LEASE_LOST', { where: COLLECTION_LEASE });
  }
}

function isSame(one: Lease, other: Lease): boolean {
  return one.name === other.name && one.epoch === other.epoch && one.incarnation === other.incarnation;
}
