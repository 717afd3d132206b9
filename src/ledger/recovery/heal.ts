/**
 * Heals what a writer left: takes over its lease, so that the writer is fenced, and then brings each of its segments to
 * its end (H2, H3). Whole records beyond the committed length are entered, the row gets the list of parts that counts,
 * and the segment is sealed. What to do with one segment is planned in heal-plan.ts.
 *
 * Every step is one commit, and a healer that dies leaves the rest to the next one. A healer whose lease is taken over
 * stops at its next commit.
 *
 * Segments of a compaction are replacements that are being written. Nothing refers to them before they are swapped in,
 * so they are not healed here.
 */
import { ADOPTION_LEASE, type Catalog, type Lease, type Segment } from '../../catalog/index.ts';
import { askAgain } from '../ask-again.ts';
import { commitCounted, countersOf } from '../counters.ts';
import { droppedNote } from '../dropped-segments.ts';
import { COMPACTION_LEASES, HeldLease, type LeaseOptions } from '../lease.ts';
import { type Sealing, sealSegment } from '../seal.ts';
import { isMissing } from '../segment-reader.ts';
import type { FoundSegment, SegmentStore, SegmentStores } from '../segment-store.ts';
import { type AdoptingOptions, adoptRecords } from './adopt-records.ts';
import { planHealing } from './heal-plan.ts';

export type HealingOptions = AdoptingOptions &
  Pick<Sealing, 'clock' | 'graceMs' | 'freshFor'> & {
    readonly stores: Pick<SegmentStores, 'get'>;
    /** What becomes of refused records. Default: the segment is cut before them, unless its object is sealed. */
    readonly refusedAre?: 'cut' | 'bury' | undefined;
    /** Whether the row has all parts that count, and others are passed over. */
    readonly isFixed?: boolean | undefined;
    /** Whether the catalog is embedded. Its owner goes on with open segments. Default: if no lease is given. */
    readonly isEmbedded?: boolean | undefined;
  };

export type HealedSegment = {
  readonly name: string;
  /**
   * What became of it: sealed; gone on with by its owner; dropped, since nothing was committed in it; lost to another
   * process; damaged, and left as it is.
   */
  readonly kind: 'sealed' | 'open' | 'dropped' | 'lost' | 'damaged';
  /** The row as it is now. */
  readonly row?: Segment | undefined;
};

/** Heals one segment under its lease, or under none where the catalog is embedded. */
export async function healSegment(options: HealingOptions, given: Segment): Promise<HealedSegment> {
  const { name } = given;
  const store = options.stores.get(given.volume);
  const healed = (kind: HealedSegment['kind'], row?: Segment): HealedSegment => ({ name, kind, row });
  const sealedOr = (row: Segment | undefined) => (row ? healed('sealed', row) : healed('lost'));
  const isShared = !(options.isEmbedded ?? options.lease === undefined);
  let now = given;
  for (;;) {
    const found = options.isFixed ? fixedOf(now, await store.find(name)) : await store.find(name);
    const plan = planHealing(now, found, { hasParts: store.hasParts, isWritable: store.isWritable, isShared });
    if (plan.kind === 'done') return healed('sealed', now);
    if (plan.kind === 'seal') return sealedOr(await sealSegment({ ...options, store }, now));
    if (plan.kind === 'drop') return healed((await dropSegment(options, store, now)) ? 'dropped' : 'lost');
    if (plan.kind === 'damaged') {
      options.onFinding?.({ code: 'segment-damaged', level: 'error', file: name, offset: 0, message: plan.detail });
      return healed('damaged', now);
    }
    const { content, next } = plan;
    const refusedAre = next === 'set sealed' || next === 'leave' ? 'bury' : (options.refusedAre ?? 'cut');
    const adopted = await adoptRecords(options, store, now, content, refusedAre);
    if (!adopted) return healed('lost');
    const { row, isCut } = adopted;
    if (next === 'set sealed' && (row.bytes > 0 || !store.hasParts))
      return sealedOr(await setSealed(options, row, content.bytes));
    if (next === 'leave') return healed('open', row);
    if (row.bytes === 0) return healed((await dropSegment(options, store, row)) ? 'dropped' : 'lost');
    if (isCut) {
      countersOf(options.catalog).note('healedTails', `${name}, ${content.bytes - row.bytes} bytes`);
      await store.cut(name, row.bytes);
    }
    if (next === 'go on' && !(isCut && store.hasParts)) return healed('open', row);
    if (store.hasParts) return sealedOr(await sealSegment({ ...options, store }, row));
    await store.seal(row);
    now = row;
  }
}

/** Without the parts that the row does not have. A row without parts is about the object. */
export function fixedOf({ parts = [] }: Segment, { object, parts: found }: FoundSegment): FoundSegment {
  const names = new Set(parts.map((part) => part.name));
  if (names.size === 0) return { object, parts: [] };
  return { object: undefined, parts: found.filter((part) => names.has(part.name)) };
}

/** The object is sealed, so it has all of its bytes for good. */
async function setSealed(
  { catalog, lease, again }: HealingOptions,
  row: Segment,
  bytes: number,
): Promise<Segment | undefined> {
  const { number, state, volume } = row;
  const to = { state: 'sealed', bytes, ...(row.parts && { parts: [] }) } as const;
  const group = {
    id: `${row.name} sealed`,
    lease,
    segments: [{ number, from: { state, bytes: row.bytes, volume }, to }],
  };
  const outcome = await askAgain(() => commitCounted(catalog, group), again);
  return outcome.kind === 'committed' ? { ...row, ...to } : undefined;
}

/** Removes the row of a segment in which nothing was committed. Parts that are left are for the collector. */
async function dropSegment(options: HealingOptions, store: SegmentStore, row: Segment): Promise<boolean> {
  const { catalog, lease, clock, again } = options;
  const { number, state, bytes, volume, name } = row;
  // Without a row, an object of a volume with real append would be a file of the archivist's.
  if (!store.hasParts) {
    await store.remove([name]);
    countersOf(catalog).note('removedSegments', name);
  }
  const segments = [{ number, from: { state, bytes, volume }, to: undefined }];
  const putNotes = store.hasParts ? droppedNote(name, clock) : {};
  const outcome = await askAgain(() => commitCounted(catalog, { lease, segments, putNotes }), again);
  // An answer that was lost: the row is gone already.
  return outcome.kind === 'committed' || !(await catalog.segment(number));
}

export type LeaseHealingOptions = Omit<HealingOptions, 'lease'> & LeaseOptions;

/**
 * Heals all segments of an ended lease. Undefined: its holder is living, or the catalog is being adopted, which heals
 * all (R2).
 */
export async function healLease(
  options: LeaseHealingOptions,
  name: string,
  holder: string,
): Promise<HealedSegment[] | undefined> {
  const { catalog, clock, lifeMs } = options;
  const held = await HeldLease.take(catalog, name, holder, options);
  if (!held) return undefined;
  try {
    // Asked under the lease: an adoption that begins later begins an incarnation, in which this lease is none.
    if (await catalog.isAdopting()) return undefined;
    let renewed = clock();
    const onStep = async (row?: Segment) => {
      await options.onStep?.(row);
      if (lifeMs === undefined || clock() - renewed < lifeMs / 3) return;
      renewed = clock();
      await held.renew();
    };
    const healed: HealedSegment[] = [];
    for (const row of await segmentsOf(catalog, name)) {
      const { lease } = held;
      const one = await unlessLost(options, lease, () => healSegment({ ...options, lease, onStep }, row));
      healed.push(one ?? { name: row.name, kind: 'lost' });
      if (!one || one.kind === 'lost') break;
    }
    return healed;
  } finally {
    await held.end();
  }
}

/**
 * Undefined: an object was missing, because the lease was lost: its next holder has sealed the segment and removed its
 * parts.
 */
export async function unlessLost<Answer>(
  { catalog, again }: Pick<HealingOptions, 'catalog' | 'again'>,
  lease: Lease,
  work: () => Promise<Answer>,
): Promise<Answer | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!isMissing(error)) throw error;
    const outcome = await askAgain(() => commitCounted(catalog, { lease }), again);
    if (outcome.kind === 'committed') throw error;
    return undefined;
  }
}

/** The segments that a lease has and that are not sealed, those with deletions last. */
async function segmentsOf(catalog: Pick<Catalog, 'segments'>, lease: string): Promise<Segment[]> {
  const rows = (await catalog.segments()).filter((row) => row.state !== 'sealed' && row.lease?.name === lease);
  return rows.sort((a, b) => Number(a.collection === 0) - Number(b.collection === 0));
}

/** The names of the leases that have ended and have segments to heal. */
export async function leasesToHeal(catalog: Pick<Catalog, 'segments' | 'leases'>): Promise<string[]> {
  const living = new Set((await catalog.leases()).flatMap(({ name, isLiving }) => (isLiving ? [name] : [])));
  const names = (await catalog.segments()).flatMap(({ state, lease }) =>
    state !== 'sealed' && lease ? [lease.name] : [],
  );
  const isHealed = (name: string) =>
    !living.has(name) && !name.startsWith(COMPACTION_LEASES) && name !== ADOPTION_LEASE;
  return [...new Set(names)].filter(isHealed);
}
