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
 *
 * Damage between two records is not a reason to cut: what is behind it may have been acknowledged.
 */
import { type Finding, PinakesError } from '../../base/index.ts';
import type {
  Catalog,
  CommitGroup,
  CommitOutcome,
  DeadRecord,
  Lease,
  Segment,
  SegmentChange,
} from '../../catalog/index.ts';
import { type AskAgain, askAgain } from '../ask-again.ts';
import { commitCounted, countersOf } from '../counters.ts';
import { DELETED_AT_ONCE_MAX, type Deletion } from '../deletion-record.ts';
import { type ForeignRevisits, namedContent, type OwnGroup, type OwnRecordsOptions, ownGroup } from '../own-records.ts';
import type { RecordFacts } from '../record-facts.ts';
import { RUNS_NOTE, type Runs } from '../runs.ts';
import { type SegmentRecord, segmentRecords } from '../segment-records.ts';
import type { SegmentBytes, SegmentStore } from '../segment-store.ts';
import { type CollectionName, capturesOfDeletions, type MatchedCapture } from './deletion-match.ts';
import { UNSWEPT_NOTE } from './sweep.ts';

/** Records that one commit enters. */
const RECORDS_MAX = 1000;
/** Each try fails only because another process changed what the group refers to. */
const TRIES_MAX = 1000;

export type AdoptingOptions = {
  readonly catalog: Catalog;
  /** Undefined under an embedded catalog. */
  readonly lease: Lease | undefined;
  readonly collectionName: CollectionName;
  readonly again?: AskAgain | undefined;
  readonly fingerprint?: ((digest: Uint8Array) => Uint8Array) | undefined;
  readonly foreign?: ForeignRevisits | undefined;
  /** What becomes of revisits whose contents are not held. Default: they are refused. */
  readonly unresolved?: OwnRecordsOptions['unresolved'] | undefined;
  readonly duplicatesAre?: OwnRecordsOptions['duplicatesAre'];
  readonly isNew?: OwnRecordsOptions['isNew'];
  /** What the archive knows of the records of one segment besides the records themselves. */
  readonly beside?: ((row: Segment) => Promise<BesideRecords>) | undefined;
  readonly onFinding?: ((finding: Finding) => void) | undefined;
  /** Keeps contents to which nothing refers, while records that are not entered yet may refer to them. */
  readonly keepsUnreferenced?: boolean | undefined;
  /** Called after each commit, with the row if it moved one, and to renew the lease. */
  readonly onStep?: ((row?: Segment) => Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** What is known of the records of one segment besides the records themselves. */
export type BesideRecords = {
  /** Offsets of records whose captures were deleted by tombstones. */
  readonly dead?: ReadonlySet<number> | undefined;
  /** Whether the file is not from this archive. A record that occurs twice in it is two captures, and it stays. */
  readonly isOfOthers?: boolean | undefined;
  /** Notes to commit with these records. */
  readonly notesOf?: ((records: readonly RecordFacts[]) => Promise<Readonly<Record<string, string>>>) | undefined;
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
  if (row.bytes >= content.bytes) return { row, isCut: false };
  const beside = (await options.beside?.(row)) ?? {};
  const steps = new Steps(options, row, content, { refusedAre, beside });
  const reading = { onFinding: options.onFinding, signal: options.signal };
  for await (const record of segmentRecords(store, content, row.bytes, content.bytes, reading))
    if (!(await steps.add(record))) break;
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
  readonly #beside: BesideRecords;
  /** A segment of ours in which nothing but its first record was written is dropped. */
  readonly #dropsBeginning: boolean;
  #row: Segment | undefined;
  #isCut = false;
  #waiting: SegmentRecord[] = [];

  constructor(
    options: AdoptingOptions,
    row: Segment,
    content: SegmentBytes,
    { refusedAre, beside }: { refusedAre: 'cut' | 'bury'; beside: BesideRecords },
  ) {
    this.#options = options;
    this.#row = row;
    this.#content = content;
    this.#refusedAre = refusedAre;
    this.#beside = beside;
    this.#dropsBeginning = content.state !== 'sealed' && !beside.isOfOthers;
  }

  /** False: no more records are entered. */
  async add(given: SegmentRecord): Promise<boolean> {
    const record = this.#beside.isOfOthers ? { facts: given.facts } : given;
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
    if (!this.#row || this.#isCut || records.length === 0 || this.#isOnlyBeginning(this.#row, records)) return;
    this.#waiting = [];
    const entered = await this.#enter(this.#row, records);
    this.#row = entered?.row;
    this.#isCut = entered?.isCut ?? false;
    if (this.#row) await this.#options.onStep?.(this.#row);
  }

  async #enter(row: Segment, given: readonly SegmentRecord[]): Promise<Adopted | undefined> {
    const { dead = new Set() } = this.#beside;
    const gone = new Set(given.filter(({ facts }) => dead.has(facts.offset)));
    const refused = new Set<SegmentRecord>();
    let records = given;
    for (let tried = 0; tried < TRIES_MAX; tried++) {
      const group = await this.#groupOf(row, records, gone, refused);
      for (const record of group.refused) refused.add(record);
      if (refused.size > 0 && this.#refusedAre === 'cut') {
        records = records.slice(
          0,
          records.findIndex((record) => refused.has(record)),
        );
        refused.clear();
        if (records.length === 0 || this.#isOnlyBeginning(row, records)) return { row, isCut: true };
        continue;
      }
      const change = changeOf(row, records, this.#content);
      const outcome = await this.#send(row, change, records, { ...group, dead: [...gone, ...refused] });
      if (outcome.kind === 'committed') {
        countersOf(this.#options.catalog).note('adoptedRecords', row.name, records.length);
        if (!(await this.#deleteRest(deletionsOf(records)))) return undefined;
        return { row: { ...row, ...change.to }, isCut: records.length < given.length };
      }
      if (outcome.kind === 'fenced') return undefined;
      if (outcome.kind === 'barred') for (const index of outcome.captures) refused.add(group.records[index]!);
      // Others may refer to the content of a record whose capture is known or was deleted.
      if (outcome.kind === 'known')
        for (const index of [...outcome.captures, ...outcome.deleted])
          (this.#refusedAre === 'cut' ? refused : gone).add(group.records[index]!);
    }
    throw new PinakesError('ARCHIVE_BUSY', {
      detail: `the records of ${row.name} refer to what changes again and again`,
    });
  }

  async #groupOf(
    { number: segment, collection }: Segment,
    records: readonly SegmentRecord[],
    gone: ReadonlySet<SegmentRecord>,
    refused: ReadonlySet<SegmentRecord>,
  ): Promise<OwnGroup> {
    const {
      catalog,
      collectionName,
      fingerprint,
      foreign,
      unresolved = 'refuse',
      duplicatesAre,
      isNew,
    } = this.#options;
    const { isOfOthers } = this.#beside;
    const kept = records.filter((record) => !refused.has(record));
    return ownGroup(catalog, kept, {
      segment,
      collection,
      collectionName: await collectionName(collection),
      fingerprint,
      foreign,
      unresolved,
      duplicatesAre: isOfOthers ? 'spare' : duplicatesAre,
      mayRepeat: isOfOthers,
      isNew,
      dead: gone,
    });
  }

  async #send(
    row: Segment,
    change: SegmentChange,
    records: readonly SegmentRecord[],
    group: OwnGroup & { readonly dead: readonly SegmentRecord[] },
  ): Promise<CommitOutcome> {
    const { lease, keepsUnreferenced = false, fingerprint } = this.#options;
    const deletions = deletionsOf(records);
    const matched = deletions.length > 0 ? await this.#deleteMany(deletions) : [];
    if (!Array.isArray(matched)) return matched;
    const { captures, blocks, referents, deletedMarks, bars, aliases, putNotes, dead } = group;
    const isUnswept = keepsUnreferenced && matched.length + dead.length > 0;
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
      dead: dead.flatMap((record) => (record.facts.kind === undefined ? [] : [deadOf(row, record, fingerprint)])),
      aliases,
      putNotes: {
        ...putNotes,
        ...(await this.#beside.notesOf?.(records.map(({ facts }) => facts))),
        ...runsNotes(row, records),
        ...(isUnswept && { [UNSWEPT_NOTE]: 'yes' }),
      },
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

  #isOnlyBeginning({ bytes }: Segment, records: readonly SegmentRecord[]): boolean {
    return this.#dropsBeginning && bytes === 0 && records.every(({ facts }) => facts.type === 'warcinfo');
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

function deadOf(
  { number: segment }: Segment,
  { facts }: SegmentRecord,
  fingerprint: AdoptingOptions['fingerprint'],
): DeadRecord & { segment: number } {
  return { segment, offset: facts.offset, length: facts.length, block: namedContent(facts, fingerprint) };
}
