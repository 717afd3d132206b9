/**
 * Adopts what is in the volumes, after the catalog went back or was lost (H2, R2). All ended writers are adopted
 * together:
 *
 * 1. One look at each segment fixes in its row what counts: its object, or a list of parts. A process that goes on with
 *    the adoption does not look again.
 * 2. The contents of all full records are entered, so that the order of the segments does not matter.
 * 3. All stores are entered, and the segments are sealed: parts under a fresh name (R3). Refused records stay as dead
 *    ones, since later records have been in snapshots at their offsets. Swaps that the catalog lost are done again
 *    (adopt-swaps.ts).
 * 4. Deletions are carried out, and contents are removed to which nothing refers. Into an empty catalog deletions go
 *    first, which then refuses what was deleted.
 * 5. Each volume gets the list of what was counted, and the adoption ends.
 *
 * A writer of this incarnation is left alone (I13). Its deletions, bars and swaps wait for the end (R2).
 */
import { ADOPTION_LEASE, type Catalog, type Lease, type Segment } from '../../catalog/index.ts';
import { askAgain } from '../ask-again.ts';
import { commitCounted } from '../counters.ts';
import { isDeletionSegment } from '../deletion-record.ts';
import { COMPACTION_LEASES, HeldLease, type LeaseOptions } from '../lease.ts';
import { chainOf } from '../part-name.ts';
import { pendingRelocations, Relocations } from '../replacement/relocation.ts';
import { pendingSwaps, REPLACED_NOTE, Swaps } from '../replacement/swap.ts';
import { begunName, folderOf } from '../segment-name.ts';
import type { SegmentStores } from '../segment-store.ts';
import { adoptContents } from './adopt-records.ts';
import { Survey, type SurveyedSegment } from './adopt-survey.ts';
import { endSwaps, enterReplacement, type LostSegment, type LostSwap } from './adopt-swaps.ts';
import { fixedOf, type HealedSegment, type HealingOptions, healSegment, unlessLost } from './heal.ts';
import { planHealing } from './heal-plan.ts';
import { incarnationOf } from './incarnation.ts';
import { formatList, listName } from './incarnation-list.ts';
import { sweepContents } from './sweep.ts';

/** The collection of files that are not in a folder. */
const DEFAULT_COLLECTION = 'default';

export type AdoptionOptions = Omit<HealingOptions, 'lease' | 'stores'> &
  LeaseOptions & { readonly stores: SegmentStores };

export type AdoptionReport = { readonly segments: readonly HealedSegment[] };

/** Undefined: the catalog is not being adopted, or another process adopts it. */
export async function adoptAll(options: AdoptionOptions, holder: string): Promise<AdoptionReport | undefined> {
  const { catalog, clock, lifeMs } = options;
  if (!(await catalog.isAdopting())) return undefined;
  const held = await HeldLease.take(catalog, ADOPTION_LEASE, holder, options);
  if (!held) return undefined;
  let renewed = clock();
  const onStep = async (row?: Segment) => {
    await options.onStep?.(row);
    if (lifeMs === undefined || clock() - renewed < lifeMs / 3) return;
    renewed = clock();
    await held.renew();
  };
  try {
    const adoption = new Adoption({ ...options, onStep }, held.lease);
    const segments = await unlessLost(options, held.lease, () => adoption.run());
    return segments && { segments };
  } finally {
    await held.end();
  }
}

/** The next incarnation: above all that left anything in the volumes, and above the catalog's own. */
export async function nextIncarnation(catalog: Catalog, stores: Pick<SegmentStores, 'available'>): Promise<number> {
  const survey = await Survey.make(stores, catalog);
  return Math.max(survey.nextIncarnation, (await catalog.incarnation()) + 1);
}

/** A segment to adopt, and whether it was there in an earlier incarnation only as parts. */
type Ended = { readonly row: Segment; readonly isFixed: boolean };

class Adoption {
  readonly #options: Omit<HealingOptions, 'lease' | 'stores'> & { readonly stores: SegmentStores };
  readonly #lease: Lease;

  constructor(options: Omit<HealingOptions, 'lease' | 'stores'> & { readonly stores: SegmentStores }, lease: Lease) {
    this.#options = options;
    this.#lease = lease;
  }

  /** Undefined: the lease was lost. */
  async run(): Promise<HealedSegment[] | undefined> {
    const { catalog, stores } = this.#options;
    const survey = await Survey.make(stores, catalog);
    const isEmpty = (await catalog.totals()).captures === 0;
    const swaps = await this.#findLostSwaps(survey);
    const relocations = swaps && (await this.#findRelocations(survey, swaps));
    const ended = relocations && (await this.#lookAtAll(survey, swaps, relocations));
    if (!ended) return undefined;
    const isDeletion = ({ row }: Ended) => isDeletionSegment(row);
    const deletions = ended.filter(isDeletion);
    const others = ended.filter((one) => !isDeletion(one));
    const healed: HealedSegment[] = [];
    if (isEmpty && !(await this.#healAll(deletions, healed))) return undefined;
    for (const one of others) if (!(await this.#enterContents(one))) return undefined;
    if (!(await this.#healAll(others, healed))) return undefined;
    const replaced = swaps.flatMap((swap) => swap.replaced);
    // Merged deletion segments have no captures, and are healed with the other deletions.
    for (const swap of [...swaps.filter(({ replacement }) => !isDeletionSegment(replacement)), ...relocations])
      if (!(await enterReplacement(this.#healing(), swap, replaced))) return undefined;
    if (!isEmpty && !(await this.#healAll(deletions, healed))) return undefined;
    const isWhole = !healed.some(({ kind }) => kind === 'damaged');
    if (isWhole && !(await sweepContents({ ...this.#options, lease: this.#lease }))) return undefined;
    // Contents without references would keep the rows of replaced segments.
    if (!(await endSwaps(this.#healing(), swaps))) return undefined;
    if (!(await this.#writeLists(survey))) return undefined;
    return (await askAgain(() => catalog.endAdoption(this.#lease), this.#options.again)) ? healed : undefined;
  }

  /**
   * The swaps that the catalog lost: of each row, the notes lead to a segment that is not a seal of it. Replacements
   * without a row get one. Swaps and relocations that the catalog has begun are ended first. Undefined: the lease was
   * lost.
   */
  async #findLostSwaps(survey: Survey): Promise<LostSwap[] | undefined> {
    const { catalog } = this.#options;
    await this.#endBegun(survey);
    const rows = await catalog.segments();
    const replacedBy = new Map<string, Segment[]>();
    for (const row of rows) {
      const stands = this.#isOfNow(row) ? undefined : survey.standsFor(row.name);
      if (stands === undefined || begunName(stands) === begunName(row.name)) continue;
      replacedBy.set(stands, [...(replacedBy.get(stands) ?? []), row]);
    }
    const swaps: LostSwap[] = [];
    for (const [name, replaced] of replacedBy) {
      const found = survey.segments.get(name)!;
      const replacement = rows.find((row) => row.name === name) ?? (await this.#list(found));
      if (!replacement) return undefined;
      swaps.push({ replacement, replaced, bytes: found.object!.bytes });
    }
    return swaps;
  }

  /** A segment of which the object is gone was replaced since, which is a lost swap too. */
  async #endBegun(survey: Survey): Promise<void> {
    const { catalog, stores, clock, again } = this.#options;
    const begun = [...(await pendingSwaps(catalog)).keys(), ...(await pendingRelocations(catalog)).keys()];
    const gone = new Set(begun.filter((name) => !survey.hasObject(name)));
    if (gone.size === begun.length) return;
    for (const { volume } of stores.writable()) {
      const options = { catalog, stores, volume, lease: this.#lease, clock, graceMs: 0, ...(again && { again }) };
      await new Swaps(options).finishSwaps(gone);
      await new Relocations(options).finish(gone);
    }
  }

  /**
   * Segments that a compactor wrote and the catalog does not know, while swaps were lost too. A record may have been
   * relocated to one of them before the segment was replaced in which the catalog has it (relocation.ts). Undefined:
   * the lease was lost.
   */
  async #findRelocations(survey: Survey, swaps: readonly LostSwap[]): Promise<LostSegment[] | undefined> {
    if (swaps.length === 0) return [];
    const { catalog } = this.#options;
    const rows = new Map((await catalog.segments()).map((row) => [row.name, row]));
    const known = new Set(swaps.map(({ replacement }) => replacement.name));
    const relocations: LostSegment[] = [];
    for (const found of survey.segments.values()) {
      const { name, object, origin } = found;
      if (!object || known.has(name) || isDeletionSegment(found)) continue;
      if (!origin?.lease?.name.startsWith(COMPACTION_LEASES)) continue;
      if (origin.lease.incarnation === this.#lease.incarnation) continue;
      if (!survey.counts(found, (old) => rows.has(old))) continue;
      const row = rows.get(name) ?? (await this.#list(found));
      if (!row) return undefined;
      relocations.push({ replacement: row, bytes: object.bytes });
    }
    return relocations;
  }

  /** Fixes what counts for each segment of an ended writer. Segments without a row get one. */
  async #lookAtAll(
    survey: Survey,
    swaps: readonly LostSwap[],
    relocations: readonly LostSegment[],
  ): Promise<Ended[] | undefined> {
    const { catalog } = this.#options;
    const lost = [...swaps, ...relocations].map(({ replacement }) => replacement);
    const entered = [...lost, ...swaps.flatMap(({ replaced }) => replaced)];
    const numbers = new Set(entered.map(({ number }) => number));
    const rows = (await catalog.segments()).filter(({ number }) => !numbers.has(number));
    const names = new Set(rows.map(({ name }) => name));
    // A fresh seal that was begun has a row, and the parts under the name that the segment was begun under.
    const begunNames = new Set(rows.map(({ name }) => begunName(name)));
    const ended: Ended[] = [];
    const taken = new Set(entered.map(({ name }) => name));
    for (const row of rows) {
      const stands = survey.standsFor(row.name);
      if (stands !== undefined) taken.add(stands);
      if (row.state === 'sealed' || this.#isLeftAlone(row)) continue;
      const one = await this.#look(survey, row, stands);
      if (!one) return undefined;
      ended.push(one);
    }
    for (const { replacement } of swaps) {
      if (!isDeletionSegment(replacement) || replacement.state === 'sealed') continue;
      const one = await this.#look(survey, replacement, replacement.name);
      if (!one) return undefined;
      ended.push(one);
    }
    const replaced = await catalog.notes(REPLACED_NOTE);
    const isGone = (name: string) => replaced[REPLACED_NOTE + name] !== undefined;
    for (const found of survey.segments.values()) {
      const { name } = found;
      const begun = begunName(name);
      if (names.has(name) || begunNames.has(begun) || taken.has(name) || isGone(name) || isGone(begun)) continue;
      if (incarnationOf(name, found.origin) === this.#lease.incarnation) continue;
      if (!survey.counts(found, (old) => names.has(old))) continue;
      const row = await this.#list(found);
      const one = row && (await this.#look(survey, row, found.object && name));
      if (!one) return undefined;
      ended.push(one);
    }
    return ended.sort(byStateAndName);
  }

  /** A living writer of this incarnation, and replacements that were being written. */
  #isLeftAlone(row: Segment): boolean {
    return this.#isOfNow(row) || (row.state === 'open' && (row.lease?.name.startsWith(COMPACTION_LEASES) ?? false));
  }

  #isOfNow({ lease }: Segment): boolean {
    return lease?.incarnation === this.#lease.incarnation && lease.name !== ADOPTION_LEASE;
  }

  /** Undefined: the lease was lost. */
  async #look(survey: Survey, row: Segment, stands: string | undefined): Promise<Ended | undefined> {
    if (row.state === 'sealing') return { row, isFixed: false };
    const { number, name, state, bytes, volume, parts, roots, sequence = number } = row;
    const found = survey.segments.get(stands ?? name);
    const isOurs = row.lease?.name === ADOPTION_LEASE && row.lease.incarnation === this.#lease.incarnation;
    // A row that this adoption listed has no parts before the look at it.
    if (isOurs && (parts || found?.object || !found?.parts.length)) return { row, isFixed: true };
    const chain = chainOf(found?.parts ?? [], parts ?? []) ?? [];
    const to = {
      lease: this.#lease,
      ...(stands !== undefined && stands !== name && { name: stands, roots: roots ?? [{ name, sequence }] }),
      ...(found?.object ? parts && { parts: [] } : found?.parts.length && { parts: chain.map(partOf) }),
    };
    const { catalog, again } = this.#options;
    const { incarnation, epoch } = this.#lease;
    const group = {
      // Another adoption looks again, even if this look was the last commit of the segment.
      id: `${name} looked at ${incarnation}-${epoch}`,
      lease: this.#lease,
      segments: [{ number, from: { state, bytes, volume }, to }],
    };
    const outcome = await askAgain(() => commitCounted(catalog, group), again);
    return outcome.kind === 'committed' ? { row: { ...row, ...to }, isFixed: true } : undefined;
  }

  /** A row for a segment that the catalog does not know. */
  async #list({ name, volume, origin }: SurveyedSegment): Promise<Segment | undefined> {
    const { catalog, again } = this.#options;
    const folder = folderOf(name) || DEFAULT_COLLECTION;
    const isDeletion = isDeletionSegment({ name });
    const collection = isDeletion ? 0 : await askAgain(() => catalog.collectionNumber(folder), again);
    const begun = begunName(name);
    const sequence = origin?.sequence;
    const segment = {
      volume,
      name,
      collection,
      sequence,
      ...(begun !== name && sequence !== undefined && { roots: [{ name: begun, sequence }] }),
    };
    return askAgain(() => catalog.listSegment(segment, this.#lease), again);
  }

  async #enterContents({ row, isFixed }: Ended): Promise<boolean> {
    if (!isFixed) return true;
    const store = this.#options.stores.get(row.volume);
    const fixed = fixedOf(row, await store.find(row.name));
    const plan = planHealing(row, fixed, { hasParts: store.hasParts, isWritable: true, isShared: true });
    if (plan.kind !== 'adopt') return true;
    return adoptContents(this.#healing(), store, row, plan.content);
  }

  /** False: the lease was lost. */
  async #healAll(ended: readonly Ended[], healed: HealedSegment[]): Promise<boolean> {
    for (const { row, isFixed } of ended) {
      const one = await healSegment({ ...this.#healing(), isFixed }, row);
      healed.push(one);
      if (one.kind === 'lost') return false;
    }
    return true;
  }

  #healing(): HealingOptions & { readonly lease: Lease } {
    return {
      ...this.#options,
      lease: this.#lease,
      refusedAre: 'bury',
      freshFor: this.#lease,
      keepsUnreferenced: true,
    };
  }

  /** Writes the list of what was counted in each volume. False: the lease was lost. */
  async #writeLists(survey: Survey): Promise<boolean> {
    const { catalog, stores, again } = this.#options;
    const { incarnation, epoch } = this.#lease;
    const rows = await catalog.segments();
    const names = new Set(rows.map(({ name }) => name));
    const notes = new Set([...survey.notes].flatMap(({ name, old }) => (names.has(old) ? [] : [name])));
    // A catalog that went back since would have other rows.
    const isHeld = await askAgain(() => commitCounted(catalog, { lease: this.#lease }), again);
    if (isHeld.kind !== 'committed') return false;
    for (const store of stores.writable()) {
      const own = rows.filter((row) => row.volume === store.volume && row.state === 'sealed');
      const list = { incarnation, segments: new Set(own.map(({ name }) => name)), notes };
      await store.writeObject(listName(incarnation, epoch), formatList(list));
    }
    return true;
  }
}

/** Sealed segments first (R6), each kind by name (R5). */
function byStateAndName({ row: one }: Ended, { row: other }: Ended): number {
  const isParts = ({ parts }: Segment) => Number((parts?.length ?? 0) > 0);
  return isParts(one) - isParts(other) || (one.name < other.name ? -1 : 1);
}

function partOf({ name, offset }: { readonly name: string; readonly offset: number }) {
  return { name, offset };
}
