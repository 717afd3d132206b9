/**
 * The segments that one writer has open, and its commits.
 *
 * A segment is listed in the catalog before its name is used (P3), under the writer's lease, which its warcinfo record
 * names together with the sequence number that the catalog dealt. Appended records stay in memory, at most
 * PENDING_BYTES_MAX, until `flush` writes them. `commit` makes everything appended durable (I1), moves the rows of the
 * segments that grew, and enters what the caller found for the records, all in one transaction (C2).
 *
 * The outcome of a commit (C6):
 * - `committed`: stored.
 * - `stale`, `known`, `barred`, `moved`: refused. The caller calls `rollBack`, and may make the group again; it goes to
 *   the same offset with another attempt (P2).
 * - `fenced`: the lease or the segments belong to others now. All open segments are given up; nothing was stored.
 * - `unknown`: no answer. The segments that grew are given up, and healing finds out. It may turn out stored.
 *
 * An append or a sync that fails throws; then nothing was stored, and the caller rolls back as well. What was put
 * meanwhile is never committed, so that the next attempt may have other bytes. The same is true for a commit that
 * failed and has certainly changed nothing, such as one with a value that no catalog takes.
 */
import {
  assert,
  type Clock,
  concat,
  digestOf,
  formatW3cDate,
  type IdSource,
  mapLimited,
  PinakesError,
  toHex,
} from '../base/index.ts';
import type { Catalog, CommitGroup, CommitOutcome, Lease, Place, Segment, SegmentChange } from '../catalog/index.ts';
import { type Field, MemberEncoder, recordParts, warcFields } from '../warc/index.ts';
import { type AskAgain, askAgain, isRetryable } from './ask-again.ts';
import { commitCounted, countersOf } from './counters.ts';
import { droppedNote } from './dropped-segments.ts';
import { ownerLease } from './lease.ts';
import { OpenSegment, type SegmentKind } from './open-segment.ts';
import { isReplaced } from './replaced-notes.ts';
import { sealSegment } from './seal.ts';
import { segmentName } from './segment-name.ts';
import type { SegmentStore, SegmentStores } from './segment-store.ts';
import { formatOrigin } from './warcinfo-fields.ts';

/** Bytes that may wait in memory before they are written to the volume. */
export const PENDING_BYTES_MAX = 4 * 1024 * 1024;
/** The same on a volume of immutable objects, where each writing makes an object. Large parts are joined by copying. */
const PENDING_PART_BYTES_MAX = 8 * 1024 * 1024;
/** Segments that are written, and volumes that are synced, at the same time. */
const WRITES_AT_ONCE = 8;
/** A segment with more parts is sealed. Every commit writes the list of parts, and sealing reads small ones. */
const PARTS_MAX = 1000;
/** More segments than a writer ever begins in one millisecond. */
const SERIALS_MAX = 100_000;

export type SegmentWriterOptions = {
  readonly catalog: Catalog;
  readonly stores: Pick<SegmentStores, 'get' | 'available'>;
  /** Whether there is a file that belongs to a segment of this name, besides its own object. */
  readonly hasFileOf?: ((name: string) => Promise<boolean>) | undefined;
  /** Undefined: this process owns an embedded catalog, and its lease is the lock of the catalog. */
  readonly lease: Lease | undefined;
  readonly clock: Clock;
  readonly newId: IdSource;
  readonly software: string;
  readonly host: string;
  /** A segment that is larger is sealed, and another one begun. */
  readonly segmentBytesMax: number;
  /**
   * The attempt of the first part of each segment (P2). Under an embedded catalog it is above every attempt of the
   * owners before: see `firstAttemptOf`.
   */
  readonly firstAttempt?: number;
  /** A number for the name of a segment. Writers of one process share it, so that no name is used twice. */
  readonly nextSerial?: () => number;
  /** How long readers may go on reading the parts of a sealed segment. */
  readonly graceMs: number;
  readonly again?: AskAgain;
};

/** What the caller adds to the commit of appended records. */
export type RecordGroup = Omit<CommitGroup, 'id' | 'lease'>;

export type WriteOutcome = CommitOutcome | { readonly kind: 'unknown'; readonly error: PinakesError };

/** How many attempts the owner of an embedded catalog may take before they look like those of the next owner. */
const ATTEMPTS_OF_OWNER = 2 ** 24;

/** The first attempt of an owner, from the number in the owner object, which never goes back (P1). */
export function firstAttemptOf(ownerNumber: number): number {
  return ownerNumber * ATTEMPTS_OF_OWNER + 1;
}

export class SegmentWriter {
  readonly #options: SegmentWriterOptions;
  readonly #open = new Map<string, OpenSegment>();
  /** Full segments, which are sealed when the catalog has all of their records. */
  #full: OpenSegment[] = [];
  /** Rows whose objects could not be begun. They are used first, so that a missing volume does not fill the catalog. */
  readonly #unbegun = new Map<string, Segment>();
  #serial = 0;

  constructor(options: SegmentWriterOptions) {
    this.#options = options;
  }

  /**
   * The open segment of this kind. Undefined when there is none, or when it is full. With `staysTogether`, a full
   * segment is returned too, for records that belong to its last ones.
   */
  findOpen(kind: SegmentKind, staysTogether = false): OpenSegment | undefined {
    const open = this.#open.get(kindId(kind));
    if (!open || staysTogether || open.isEmpty) return open;
    const hasRoom = open.position < this.#options.segmentBytesMax && open.parts < PARTS_MAX;
    return hasRoom ? open : undefined;
  }

  /** The open segment of this kind. Begins a new one when `findOpen` finds none. */
  async openFor(kind: SegmentKind, staysTogether = false): Promise<OpenSegment> {
    const found = this.findOpen(kind, staysTogether);
    if (found) return found;
    const id = kindId(kind);
    const open = this.#open.get(id);
    const fresh = await this.begin(kind);
    if (open) this.#full.push(open);
    this.#open.set(id, fresh);
    return fresh;
  }

  /**
   * Lists a segment and appends its warcinfo record. `openFor` does not return this segment, and `commit` does not move
   * it: see `changeOf`.
   */
  async begin(
    kind: SegmentKind,
    replaces: readonly string[] = [],
    fields: readonly Field[] = [],
  ): Promise<OpenSegment> {
    const { catalog, stores, clock, newId, software } = this.#options;
    const store = stores.get(kind.volume);
    const now = clock();
    const lease = this.#options.lease ?? ownerLease(await catalog.incarnation());
    const row = await this.#listAndBegin(kind, store, now);
    const open = new OpenSegment(row, kind, store, this.#firstAttemptIn(store));
    const encoder = new MemberEncoder({ coding: kind.coding, dictionary: kind.dictionary });
    const info: Field[] = [
      { name: 'software', value: software },
      { name: 'format', value: 'WARC File Format 1.1' },
      { name: 'isPartOf', value: kind.collectionName },
      ...formatOrigin({ lease, sequence: row.sequence, replaces }),
      ...fields,
    ];
    const record = {
      type: 'warcinfo',
      recordId: newId(),
      date: formatW3cDate(now),
      contentType: 'application/warc-fields',
      fields: [{ name: 'WARC-Filename', value: row.name.split('/').pop()! }],
    } as const;
    open.begin(concat([encoder.fileStart(), encoder.encode(recordParts(record, warcFields(info)))]));
    encoder.close();
    return open;
  }

  async #listAndBegin(kind: SegmentKind, store: SegmentStore, now: number): Promise<Segment> {
    const id = kindId(kind);
    const unbegun = this.#unbegun.get(id);
    this.#unbegun.delete(id);
    const row = unbegun ?? (await this.#list(kind, now));
    try {
      await store.begin(row.name);
    } catch (error) {
      // An attempt that failed may have made the object.
      const isBegun = error instanceof PinakesError && error.code === 'OBJECT_EXISTS';
      if (!isBegun) this.#unbegun.set(id, row);
      throw error;
    }
    return row;
  }

  /** Lists a segment under a name that no volume has. */
  async #list(kind: SegmentKind, now: number): Promise<Segment> {
    const { catalog, lease, host, again, nextSerial = () => this.#serial++ } = this.#options;
    const { collection, volume, coding } = kind;
    const folder = kind.folder ?? kind.collectionName;
    const stem = kind.stem ?? folder.replace(/^_/, '');
    for (let tried = 0; tried < SERIALS_MAX; tried++) {
      const name = segmentName({ folder, stem, time: now, serial: nextSerial() % SERIALS_MAX, host, coding });
      if (await this.#isTaken(name)) continue;
      const row = await askAgain(() => catalog.listSegment({ volume, name, collection }, lease), again);
      if (row) return row;
      // The lease has ended, or another writer has the name.
      if (!(await catalog.segmentByName(name))) throw new PinakesError('LEASE_LOST', { where: lease?.name ?? name });
    }
    throw new PinakesError('OBJECT_EXISTS', { where: `${folder}/${stem}` });
  }

  /** A clock that was set back makes names again. A note about a segment that was replaced takes its name for good. */
  async #isTaken(name: string): Promise<boolean> {
    for (const store of this.#options.stores.available()) {
      // An error of a volume is reported when it is written to.
      const found = await store.find(name).catch(() => undefined);
      if (found && (found.object || found.parts.length > 0)) return true;
      if (await isReplaced(store, name).catch(() => false)) return true;
    }
    return (await this.#options.hasFileOf?.(name)) ?? false;
  }

  /** Appends a whole member, or a run of them, to a segment. Its place is known at once, but it is not durable yet. */
  append(open: OpenSegment, bytes: Uint8Array, records = 1): Place {
    const place: Place = { segment: open.segment.number, offset: open.position, length: bytes.length };
    open.pending.push(bytes);
    open.pendingBytes += bytes.length;
    open.position += bytes.length;
    open.records += records;
    return place;
  }

  /** Whether enough bytes wait in memory to write them to the volume. */
  isFull(open: OpenSegment): boolean {
    return open.pendingBytes >= (open.store.hasParts ? PENDING_PART_BYTES_MAX : PENDING_BYTES_MAX);
  }

  async flush(open: OpenSegment): Promise<void> {
    if (open.pendingBytes === 0) return;
    if (open.refersTo?.isDirty) {
      await this.flush(open.refersTo);
      await open.refersTo.store.sync([open.refersTo.segment.name]);
    }
    const at = open.position - open.pendingBytes;
    const bytes = open.pending;
    open.pending = [];
    open.pendingBytes = 0;
    open.isAttempted = true;
    const part = await open.store.append(open.segment.name, at, bytes, open.attempt);
    if (part) open.fresh.push(part);
  }

  /** Whether records are appended to this segment, so that it may be longer than in the catalog. */
  isWriting({ number }: Pick<Segment, 'number'>): boolean {
    return [...this.#full, ...this.#open.values()].some(({ segment }) => segment.number === number);
  }

  /** Whether the record at this place was appended after the last commit. */
  isUncommitted({ segment: number, offset }: Pick<Place, 'segment' | 'offset'>): boolean {
    const open = this.dirty().find(({ segment }) => segment.number === number);
    return open !== undefined && offset >= open.segment.bytes;
  }

  dirty(): OpenSegment[] {
    return [...this.#full, ...this.#open.values()].filter((open) => open.isDirty);
  }

  /** Makes everything appended durable, and returns the changes of the rows that follow from it. */
  async makeDurable(segments: readonly OpenSegment[] = this.dirty()): Promise<SegmentChange[]> {
    const byStore = new Map<OpenSegment['store'], string[]>();
    // Those that others refer to are written first.
    const first = segments.filter((open) => !open.refersTo?.isDirty);
    await mapLimited(first, WRITES_AT_ONCE, (open) => this.flush(open));
    for (const open of segments) {
      await this.flush(open);
      byStore.set(open.store, [...(byStore.get(open.store) ?? []), open.segment.name]);
    }
    await mapLimited([...byStore], WRITES_AT_ONCE, ([store, names]) => store.sync(names));
    return segments.map(changeOf);
  }

  /** Makes everything appended durable and commits it with the group. See the outcomes above. */
  async commit(group: RecordGroup = {}): Promise<WriteOutcome> {
    const grown = this.dirty();
    const changes = await this.makeDurable(grown);
    const { catalog, lease, again } = this.#options;
    const id = commitId(grown, lease !== undefined);
    const whole: CommitGroup = {
      ...group,
      lease,
      segments: [...changes, ...(group.segments ?? [])],
      ...(id !== undefined && { id }),
    };
    let outcome: CommitOutcome;
    let tries = 0;
    try {
      outcome = await askAgain(
        (tried) => {
          tries = tried;
          return commitCounted(catalog, whole);
          // An embedded catalog that failed is not asked again: the next opening finds out what it has.
        },
        lease ? again : { tries: 1 },
      );
    } catch (error) {
      if (await this.#hasChangedNothing(error, changes)) throw error;
      this.abandon(grown);
      if (!(error instanceof PinakesError)) throw error;
      return { kind: 'unknown', error };
    }
    if (outcome.kind === 'committed') for (const [index, open] of grown.entries()) settle(open, changes[index]!, id);
    if (outcome.kind !== 'fenced' || outcome.why === 'adopting') return outcome;
    this.abandon([...this.#full, ...this.#open.values()]);
    // The first try may have been carried out before the lease was taken over.
    if (tries === 1) return outcome;
    return { kind: 'unknown', error: new PinakesError('LEASE_LOST', { where: lease?.name ?? 'the catalog' }) };
  }

  /**
   * Whether a commit that failed has certainly changed nothing. After a retryable error it is not known. A catalog of
   * other processes may carry it out later, and one that takes no more changes may have it in its log. In these cases
   * its records must not be overwritten.
   */
  async #hasChangedNothing(error: unknown, changes: readonly SegmentChange[]): Promise<boolean> {
    const { catalog, lease } = this.#options;
    if (changes.length === 0 || catalog.refusal || isRetryable(error)) return false;
    if (lease && error instanceof PinakesError) return false;
    try {
      for (const { number, from } of changes) if ((await catalog.segment(number))?.bytes !== from.bytes) return false;
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Seals the full segments and returns their rows. The catalog has all of their records. A segment that cannot be
   * sealed is left to healing.
   */
  async sealFull(): Promise<Segment[]> {
    const full = this.#full;
    this.#full = [];
    const sealed: Segment[] = [];
    for (const open of full) {
      try {
        const row = await this.seal(open);
        if (row) sealed.push(row);
      } catch (error) {
        if (!(error instanceof PinakesError)) throw error;
      }
    }
    return sealed;
  }

  /** Seals a segment for good. The catalog has all of its records. Undefined: others have the segment now. */
  async seal(open: OpenSegment): Promise<Segment | undefined> {
    assert(!open.isDirty, 'a segment is sealed only when the catalog knows all of it');
    this.abandon([open]);
    const { catalog, lease, clock, graceMs, again } = this.#options;
    const sealed = await sealSegment({ catalog, store: open.store, lease, clock, graceMs, again }, open.segment);
    if (sealed) open.segment = sealed;
    return sealed;
  }

  /**
   * Stops writing to these segments without taking anything back, since the catalog may have the appended records.
   * Healing finds out.
   */
  abandon(segments: readonly OpenSegment[]): void {
    const gone = new Set(segments);
    this.#full = this.#full.filter((open) => !gone.has(open));
    for (const [id, open] of this.#open) if (gone.has(open)) this.#open.delete(id);
  }

  /**
   * Gives up the records that were appended since the last commit, which was refused or not asked for. A segment that
   * cannot be cut back is left to healing.
   */
  async rollBack(): Promise<void> {
    const all = [...this.#full, ...this.#open.values()];
    this.#full = [];
    this.#open.clear();
    for (const open of all) {
      if (open.isDirty && !(await this.#cutBack(open))) continue;
      const earlier = this.#open.get(kindId(open.kind));
      if (earlier) this.#full.push(earlier);
      this.#open.set(kindId(open.kind), open);
    }
  }

  /** Whether the segment can be written on. */
  async #cutBack(open: OpenSegment): Promise<boolean> {
    const { name, bytes } = open.segment;
    try {
      await open.store.cut(name, bytes);
    } catch {
      return false;
    }
    open.forget();
    return true;
  }

  /**
   * Removes the segments in which nothing was committed, when the writer ends. Those that cannot be removed are left to
   * healing.
   */
  async dropEmpty(): Promise<void> {
    const { catalog, lease, clock, again } = this.#options;
    for (const open of this.#open.values()) {
      const { number, state, bytes, volume, name } = open.segment;
      if (bytes > 0 || open.isDirty) continue;
      this.abandon([open]);
      const segments = [{ number, from: { state, bytes, volume }, to: undefined }];
      // On a volume with real append the object goes first: without a row it would be a file of the archivist's.
      await open.store.remove([name]);
      const putNotes = open.store.hasParts ? droppedNote(name, clock) : {};
      const { kind } = await askAgain(() => commitCounted(catalog, { lease, segments, putNotes }), again);
      if (kind === 'committed') countersOf(catalog).note('removedSegments', name);
    }
  }

  /** Forgets all open segments, for a rebuild. */
  reset(): void {
    this.#full = [];
    this.#open.clear();
    this.#unbegun.clear();
  }

  /** Goes on with a segment that the former owner of an embedded catalog left open and that was healed (P1). */
  resume(segment: Segment, kind: SegmentKind): void {
    const store = this.#options.stores.get(segment.volume);
    this.#open.set(kindId(kind), new OpenSegment(segment, kind, store, this.#firstAttemptIn(store)));
  }

  #firstAttemptIn(store: SegmentStore): number {
    const { firstAttempt = 1 } = this.#options;
    return store.ownerNumber === undefined ? firstAttempt : firstAttemptOf(store.ownerNumber);
  }

  openSegments(): OpenSegment[] {
    return [...this.#open.values()];
  }
}

/** The change of the row of a segment whose bytes are durable (C2). */
export function changeOf({ segment, position, records, fresh, store }: OpenSegment): SegmentChange {
  const { number, state, bytes, volume, parts = [] } = segment;
  const to = { bytes: position, records, ...(store.hasParts && { parts: [...parts, ...fresh] }) };
  return { number, from: { state, bytes, volume }, to };
}

/** Called when the catalog has the change. */
function settle(open: OpenSegment, { to }: SegmentChange, id: string | undefined): void {
  open.segment = { ...open.segment, ...to, ...(id !== undefined && { lastCommit: id }) };
  open.fresh = [];
  open.isAttempted = false;
}

/** The name of the last part. On a volume with real append: the segment, its length, and how often it was tried. */
function commitId(grown: readonly OpenSegment[], hasLease: boolean): string | undefined {
  const last = grown.at(-1);
  if (!last) return undefined;
  return last.fresh.at(-1)?.name ?? (hasLease ? `${last.segment.name} ${last.position} ${last.attempt}` : undefined);
}

const dictionaryIds = new WeakMap<Uint8Array, string>();

/** Equal dictionaries have the same id. */
function dictionaryId(dictionary: Uint8Array): string {
  const known = dictionaryIds.get(dictionary);
  if (known !== undefined) return known;
  const id = toHex(digestOf('sha256', dictionary).bytes);
  dictionaryIds.set(dictionary, id);
  return id;
}

function kindId({ collection, volume, coding, dictionary, stem = '', folder = '' }: SegmentKind): string {
  return `${collection} ${volume} ${coding} ${stem} ${folder} ${dictionary ? dictionaryId(dictionary) : ''}`;
}
