/**
 * Enters records of one of our own segments that are beyond its committed length, under the checks of a commit (H2):
 * C3 for the contents that revisits refer to, C5 for captures that are known or were deleted, D3 for what is barred.
 * Each commit moves the length of the segment's row, so the next healer begins where this one stopped.
 *
 * What becomes of a record that is refused:
 * - `cut`: the segment ends before it. Nothing after it was acknowledged, since its writer would have made the group
 *   again at the same offset.
 * - `bury`: it is entered as dead. Its bytes stay, because later records have been in snapshots at their offsets, or
 *   because the object is sealed.
 *
 * A deletion record is entered in one commit with the captures that it deletes.
 */
import { type Finding, PinakesError } from '../../base/index.ts';
import type {
  CommitGroup,
  CommitOutcome,
  DeadRecord,
  Lease,
  Segment,
  SegmentChange,
  SharedCatalog,
} from '../../catalog/index.ts';
import { type AskAgain, askAgain } from '../ask-again.ts';
import { commitCounted, countersOf } from '../counters.ts';
import { DELETED_AT_ONCE_MAX, type Deletion } from '../deletion-record.ts';
import { type ForeignRevisits, namedContent, type OwnGroup, ownGroup } from '../own-records.ts';
import { RUNS_NOTE, type Runs } from '../runs.ts';
import { type SegmentRecord, segmentRecords } from '../segment-records.ts';
import type { SegmentBytes, SegmentStore } from '../segment-store.ts';
import { type CollectionName, capturesOfDeletions, type MatchedCapture } from './deletion-match.ts';

/** Records that one commit enters. */
const RECORDS_MAX = 500;
/** Each try fails only because another process changed what the group refers to. */
const TRIES_MAX = 1000;

export type AdoptingOptions = {
  readonly catalog: SharedCatalog;
  /** Undefined under an embedded catalog. */
  readonly lease: Lease | undefined;
  readonly collectionName: CollectionName;
  readonly again?: AskAgain | undefined;
  readonly fingerprint?: ((digest: Uint8Array) => Uint8Array) | undefined;
  readonly foreign?: ForeignRevisits | undefined;
  readonly onFinding?: ((finding: Finding) => void) | undefined;
  /** Keeps contents to which nothing refers, while records that are not entered yet may refer to them. */
  readonly keepsUnreferenced?: boolean | undefined;
  /** Called after each commit, to renew the lease. */
  readonly onStep?: (() => Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type Adopted = {
  readonly row: Segment;
  /** Whether bytes of the segment are left that were not entered: records that were refused, or torn ones. */
  readonly isCut: boolean;
};

/** Undefined: the lease or the segment belongs to others now. */
export async function adoptRecords(
  options: AdoptingOptions,
  store: SegmentStore,
  row: Segment,
  content: SegmentBytes,
  refusedAre: 'cut' | 'bury',
): Promise<Adopted | undefined> {
  const steps = new Steps(options, row, content, refusedAre);
  let end = row.bytes;
  const reading = { onFinding: options.onFinding, signal: options.signal };
  for await (const record of segmentRecords(store, content, row.bytes, content.bytes, reading)) {
    const { offset, length } = record.facts;
    if (refusedAre === 'cut' && offset !== end) break;
    end = offset + length;
    if (!(await steps.add(record))) break;
  }
  return steps.end();
}

/**
 * Enters only the contents of the full records beyond the committed length, so that revisits in other segments find
 * them whatever the order is. False: the lease belongs to others now.
 */
export async function adoptContents(
  options: AdoptingOptions,
  store: SegmentStore,
  row: Segment,
  content: SegmentBytes,
): Promise<boolean> {
  const { catalog, lease, again, collectionName, fingerprint, onStep, signal } = options;
  const { number: segment, collection } = row;
  const grouping = {
    segment,
    collection,
    collectionName: await collectionName(collection),
    fingerprint,
    unresolved: 'refuse',
  } as const;
  const enter = async (records: readonly SegmentRecord[]) => {
    for (;;) {
      const { captures, blocks } = await ownGroup(catalog, records, grouping);
      const isBarred = await catalog.findBarred(captures.map(({ capture }) => capture));
      const barred = new Set(captures.flatMap(({ capture }, index) => (isBarred[index] ? [capture.place.offset] : [])));
      const kept = blocks.filter(({ holder }) => !barred.has(holder.offset));
      const group = { lease, blocks: kept, keepsUnreferenced: true };
      const outcome = await askAgain(() => commitCounted(catalog, group), again);
      await onStep?.();
      if (outcome.kind !== 'stale') return outcome.kind === 'committed';
    }
  };
  let full: SegmentRecord[] = [];
  for await (const record of segmentRecords(store, content, row.bytes, content.bytes, { signal })) {
    const { kind } = record.facts;
    if (kind === undefined || kind === 'revisit') continue;
    full.push(record);
    if (full.length < RECORDS_MAX) continue;
    if (!(await enter(full))) return false;
    full = [];
  }
  return full.length === 0 || enter(full);
}

/** The records of one segment, in commits. */
class Steps {
  readonly #options: AdoptingOptions;
  readonly #content: SegmentBytes;
  readonly #refusedAre: 'cut' | 'bury';
  #row: Segment | undefined;
  #isCut = false;
  #waiting: SegmentRecord[] = [];

  constructor(options: AdoptingOptions, row: Segment, content: SegmentBytes, refusedAre: 'cut' | 'bury') {
    this.#options = options;
    this.#row = row;
    this.#content = content;
    this.#refusedAre = refusedAre;
  }

  /** False: no more records are entered. */
  async add(record: SegmentRecord): Promise<boolean> {
    if (record.deletion) await this.#commit();
    if (record.deletion?.problem !== undefined) this.#report(record, record.deletion.problem);
    this.#waiting.push(record);
    if (record.deletion || this.#waiting.length >= RECORDS_MAX) await this.#commit();
    return this.#row !== undefined && !this.#isCut;
  }

  async end(): Promise<Adopted | undefined> {
    await this.#commit();
    return this.#row && { row: this.#row, isCut: this.#row.bytes < this.#content.bytes };
  }

  async #commit(): Promise<void> {
    const records = this.#waiting;
    if (!this.#row || this.#isCut || records.length === 0 || isOnlyBeginning(this.#row, records)) return;
    this.#waiting = [];
    const entered = await this.#enter(this.#row, records);
    this.#row = entered?.row;
    this.#isCut = entered?.isCut ?? false;
    if (this.#row) await this.#options.onStep?.();
  }

  async #enter(row: Segment, given: readonly SegmentRecord[]): Promise<Adopted | undefined> {
    const refused = new Set<SegmentRecord>();
    let records = given;
    for (let tried = 0; tried < TRIES_MAX; tried++) {
      const group = await this.#groupOf(row, records, refused);
      for (const record of group.refused) refused.add(record);
      if (refused.size > 0 && this.#refusedAre === 'cut') {
        records = records.slice(
          0,
          records.findIndex((record) => refused.has(record)),
        );
        refused.clear();
        if (records.length === 0 || isOnlyBeginning(row, records)) return { row, isCut: true };
        continue;
      }
      const change = changeOf(row, records, this.#content);
      const outcome = await this.#send(row, change, records, group, refused);
      if (outcome.kind === 'committed') {
        countersOf(this.#options.catalog).note('adoptedRecords', row.name, records.length);
        if (!(await this.#deleteRest(deletionsOf(records)))) return undefined;
        return { row: { ...row, ...change.to }, isCut: records.length < given.length };
      }
      if (outcome.kind === 'fenced') return undefined;
      for (const index of refusedBy(outcome)) refused.add(group.records[index]!);
    }
    throw new PinakesError('ARCHIVE_BUSY', {
      detail: `the records of ${row.name} refer to what changes again and again`,
    });
  }

  async #groupOf(
    { number: segment, collection }: Segment,
    records: readonly SegmentRecord[],
    refused: ReadonlySet<SegmentRecord>,
  ): Promise<OwnGroup> {
    const { catalog, collectionName, fingerprint, foreign } = this.#options;
    const kept = records.filter((record) => !refused.has(record));
    return ownGroup(catalog, kept, {
      segment,
      collection,
      collectionName: await collectionName(collection),
      fingerprint,
      foreign,
      unresolved: 'refuse',
    });
  }

  async #send(
    row: Segment,
    change: SegmentChange,
    records: readonly SegmentRecord[],
    group: OwnGroup,
    refused: ReadonlySet<SegmentRecord>,
  ): Promise<CommitOutcome> {
    const { lease, keepsUnreferenced = false } = this.#options;
    const deletions = deletionsOf(records);
    const matched = deletions.length > 0 ? await this.#deleteMany(deletions) : [];
    if (!Array.isArray(matched)) return matched;
    const { captures, blocks, referents, deletedMarks, bars, aliases, putNotes } = group;
    return this.#ask({
      id: `${row.name} ${change.to!.bytes} adopted`,
      lease,
      segments: [change],
      referents,
      deletions: matched,
      deletedMarks,
      bars,
      blocks,
      captures,
      dead: [...refused].map((record) => deadOf(row, record, this.#options.fingerprint)),
      aliases,
      putNotes: { ...putNotes, ...runsNotes(row, records) },
      keepsUnreferenced,
    });
  }

  /** Deletes captures until few enough are left for the commit of the record. Returns these, or what was refused. */
  async #deleteMany(deletions: readonly Deletion[]): Promise<MatchedCapture[] | CommitOutcome> {
    const { catalog, lease, collectionName } = this.#options;
    let found: MatchedCapture[] = [];
    for await (const matched of capturesOfDeletions(catalog, deletions, collectionName)) {
      found.push(matched);
      if (found.length < DELETED_AT_ONCE_MAX) continue;
      const outcome = await this.#ask({ lease, deletions: found });
      if (outcome.kind !== 'committed') return outcome;
      found = [];
    }
    return found;
  }

  /** Deletes what was stored between the search and the commit. Nothing is after it. False: the lease was lost. */
  async #deleteRest(deletions: readonly Deletion[]): Promise<boolean> {
    const { lease } = this.#options;
    // Nobody stores beside the owner of an embedded catalog.
    if (!lease || deletions.length === 0) return true;
    for (let tried = 0; tried < TRIES_MAX; tried++) {
      const found = await this.#deleteMany(deletions);
      if (Array.isArray(found) && found.length === 0) return true;
      const outcome = Array.isArray(found) ? await this.#ask({ lease, deletions: found }) : found;
      if (outcome.kind === 'fenced') return false;
    }
    return false;
  }

  #ask(group: CommitGroup): Promise<CommitOutcome> {
    const { catalog, again } = this.#options;
    return askAgain(() => commitCounted(catalog, group), again);
  }

  #report({ facts }: SegmentRecord, problem: string): void {
    const message = `a record of a deletion cannot be read: ${problem}; captures that it deleted may be back`;
    const { name: file } = this.#content;
    this.#options.onFinding?.({ code: 'deletion-unreadable', level: 'error', file, offset: facts.offset, message });
  }
}

function deletionsOf(records: readonly SegmentRecord[]): Deletion[] {
  return records.flatMap(({ deletion }) => deletion?.deletion ?? []);
}

/** A segment in which nothing but its first record was written is dropped. */
function isOnlyBeginning({ bytes }: Segment, records: readonly SegmentRecord[]): boolean {
  return bytes === 0 && records.every(({ facts }) => facts.type === 'warcinfo');
}

function changeOf(row: Segment, added: readonly SegmentRecord[], { parts }: SegmentBytes): SegmentChange {
  const { number, state, bytes, volume, records } = row;
  const { offset, length } = added.at(-1)!.facts;
  const end = offset + length;
  const to = {
    bytes: end,
    records: records + added.length,
    ...(parts && { parts: parts.filter((part) => part.offset < end) }),
    ...rootsOfRuns(runsIn(added)),
  };
  return { number, from: { state, bytes, volume }, to };
}

/** A replacement ends with its runs (K1). */
function runsNotes({ name }: Segment, records: readonly SegmentRecord[]): Record<string, string> {
  const runs = runsIn(records);
  return runs ? { [RUNS_NOTE + name]: runs.toNote() } : {};
}

function runsIn(records: readonly SegmentRecord[]): Runs | undefined {
  return records.findLast((record) => record.runs)?.runs;
}

function rootsOfRuns(runs: Runs | undefined): Pick<Segment, 'roots'> {
  return runs ? { roots: runs.roots } : {};
}

/** The records that the catalog refused, as indexes into the captures of the group. */
function refusedBy(outcome: CommitOutcome): readonly number[] {
  if (outcome.kind === 'known') return [...outcome.captures, ...outcome.deleted];
  return outcome.kind === 'barred' ? outcome.captures : [];
}

function deadOf(
  { number: segment }: Segment,
  { facts }: SegmentRecord,
  fingerprint: AdoptingOptions['fingerprint'],
): DeadRecord & { segment: number } {
  return { segment, offset: facts.offset, length: facts.length, block: namedContent(facts, fingerprint) };
}
