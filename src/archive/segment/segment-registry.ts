/**
 * The segments of an archive: their names, their volumes, and which of them are open for writing.
 *
 * ```
 *   <collection>/<collection>-<time>-<serial>-<host>.warc.gz         in some volume
 * ```
 * Every segment begins with a warcinfo record. Appended records stay in memory until `flush` writes them to the volume.
 * They are durable after `sync`, and belong to the archive when the catalog has them. After a failed commit, `rollBack`
 * cuts an open segment back to its length in the catalog. If the catalog may have written the batch, `abandon` stops
 * writing to the segment instead.
 */
import { hostname } from 'node:os';
import {
  assert,
  type Clock,
  digestOf,
  formatTimestamp,
  formatW3cDate,
  type IdSource,
  PinakesError,
  toHex,
} from '../../base/index.ts';
import type { Place, Segment } from '../../catalog/index.ts';
import { type Coding, MemberEncoder, recordParts, warcFields } from '../../warc/index.ts';
import type { Policies } from '../connector.ts';
import { isOddSegment, segmentStem } from './odd-records.ts';
import { TOMBSTONES_SUFFIX } from './tombstones.ts';
import type { VolumeSet } from './volume-set.ts';

/** Bytes that may wait in memory before they are written to the volume. */
const PENDING_BYTES_MAX = 4 * 1024 * 1024;

export type SegmentKind = {
  readonly collection: number;
  readonly collectionName: string;
  readonly volume: string;
  readonly coding: Coding;
  readonly dictionary?: Uint8Array | undefined;
  /** Whether the segment is for records that stop other readers: see odd-records.ts. */
  readonly isOdd?: boolean | undefined;
};

/** The kind of a segment that exists, or of its replacement. */
export function kindOfSegment(
  { name, collection, volume }: Segment,
  collectionName: string,
  dictionary: Uint8Array | undefined,
  coding = codingOfName(name),
): SegmentKind {
  return { collection, collectionName, volume, coding, dictionary, isOdd: isOddSegment(name) };
}

export function codingOfName(name: string): Coding {
  return name.endsWith('.gz') ? 'gzip' : name.endsWith('.zst') ? 'zstd' : 'none';
}

/** A segment that is open for writing. */
export class OpenSegment {
  segment: Segment;
  readonly kind: SegmentKind;
  /** The offset of the next record. */
  position: number;
  records: number;
  pending: Uint8Array[] = [];
  pendingBytes = 0;
  /** The segment that revisits in this one may refer to. Its records are made durable first (I1). */
  refersTo: OpenSegment | undefined;

  constructor(segment: Segment, kind: SegmentKind) {
    this.segment = segment;
    this.kind = kind;
    this.position = segment.bytes;
    this.records = segment.records;
  }

  get isDirty(): boolean {
    return this.position !== this.segment.bytes;
  }
}

export type RegistryOptions = {
  readonly volumes: VolumeSet;
  readonly policies: Policies;
  readonly clock: Clock;
  readonly newId: IdSource;
  readonly software: string;
};

export class SegmentRegistry {
  readonly #options: RegistryOptions;
  readonly #segments = new Map<number, Segment>();
  readonly #open = new Map<string, OpenSegment>();
  /** Full segments, which are sealed when the catalog has all of their records. */
  #full: OpenSegment[] = [];
  /**
   * Segments that could not be read to their end when the archive was opened. Captures in these segments may refer to
   * any record, so records without known references may not be removed.
   */
  readonly unread = new Set<string>();
  #nextNumber = 1;
  #numbering = 0;
  #serial = 0;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  load(segments: readonly Segment[]): void {
    this.#segments.clear();
    for (const segment of segments) this.put(segment);
  }

  /** Changes with every rebuild by this process. Segment numbers from before the rebuild mean other segments. */
  get numbering(): number {
    return this.#numbering;
  }

  /** Called before a rebuild changes anything: all segment numbers become invalid. */
  expireNumbers(): void {
    this.#numbering++;
  }

  /** Forgets everything, for a rebuild. Numbers begin again at 1. */
  reset(): void {
    this.#segments.clear();
    this.#open.clear();
    this.#full = [];
    this.#nextNumber = 1;
  }

  put(segment: Segment): void {
    this.#segments.set(segment.number, segment);
    this.#nextNumber = Math.max(this.#nextNumber, segment.number + 1);
  }

  forget(number: number): void {
    this.#segments.delete(number);
  }

  /** A number that no segment has had. */
  takeNumber(): number {
    return this.#nextNumber++;
  }

  get(number: number): Segment {
    const segment = this.#segments.get(number);
    if (!segment) throw new PinakesError('CONTENT_MISSING', { where: `segment ${number}` });
    return segment;
  }

  find(number: number): Segment | undefined {
    return this.#segments.get(number);
  }

  /** The segments in the order of their numbers, which is the order of their creation. */
  all(): Segment[] {
    return [...this.#segments.values()].sort((a, b) => a.number - b.number);
  }

  byName(name: string): Segment | undefined {
    for (const segment of this.#segments.values()) if (segment.name === name) return segment;
    return undefined;
  }

  /**
   * The open segment of this kind. Undefined when there is none, or when it is full. With `staysTogether`, a full
   * segment is returned too, for records that belong to its last ones.
   */
  findOpen(kind: SegmentKind, staysTogether = false): OpenSegment | undefined {
    const open = this.#open.get(kindId(kind));
    return open && (staysTogether || open.position < this.#options.policies.segmentBytesMax) ? open : undefined;
  }

  /** The open segment of this kind. Begins a new one when `findOpen` finds none. */
  async openFor(kind: SegmentKind, staysTogether = false): Promise<OpenSegment> {
    const found = this.findOpen(kind, staysTogether);
    if (found) return found;
    const id = kindId(kind);
    const open = this.#open.get(id);
    this.#options.volumes.named(kind.volume);
    const fresh = await this.begin(kind, []);
    if (open) this.#full.push(open);
    this.#open.set(id, fresh);
    return fresh;
  }

  /** Creates a segment with its warcinfo record. `openFor` does not return this segment. */
  async begin(kind: SegmentKind, fields: readonly { name: string; value: string }[]): Promise<OpenSegment> {
    const { clock, newId, software, volumes } = this.#options;
    const now = clock();
    const name = await this.#nameFor(kind, now);
    await volumes.get(kind.volume).create(name);
    const segment: Segment = {
      number: this.takeNumber(),
      volume: kind.volume,
      name,
      collection: kind.collection,
      state: 'open',
      bytes: 0,
      records: 0,
      deadBytes: 0,
    };
    const open = new OpenSegment(segment, kind);
    const encoder = new MemberEncoder({ coding: kind.coding, dictionary: kind.dictionary });
    const info = warcFields([
      { name: 'software', value: software },
      { name: 'format', value: 'WARC File Format 1.1' },
      { name: 'isPartOf', value: kind.collectionName },
      ...fields,
    ]);
    const filename = [{ name: 'WARC-Filename', value: name.split('/').pop()! }];
    const record = {
      type: 'warcinfo',
      recordId: newId(),
      date: formatW3cDate(now),
      contentType: 'application/warc-fields',
      fields: filename,
    } as const;
    const start = encoder.fileStart();
    if (start.length > 0) this.append(open, start, 0);
    this.append(open, encoder.encode(recordParts(record, info)));
    encoder.close();
    return open;
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
    return open.pendingBytes >= PENDING_BYTES_MAX;
  }

  async flush(open: OpenSegment): Promise<void> {
    if (open.pendingBytes === 0) return;
    if (open.refersTo?.isDirty) await this.#syncFirst(open.refersTo);
    const at = open.position - open.pendingBytes;
    const parts = open.pending;
    open.pending = [];
    open.pendingBytes = 0;
    await this.#options.volumes.get(open.segment.volume).append(open.segment.name, at, parts);
  }

  async #syncFirst(open: OpenSegment): Promise<void> {
    await this.flush(open);
    await this.#options.volumes.get(open.segment.volume).sync([open.segment.name]);
  }

  dirty(): OpenSegment[] {
    return [...this.#full, ...this.#open.values()].filter((open) => open.isDirty);
  }

  /** Makes everything appended durable, and returns the segments that grew. The catalog is updated next. */
  async sync(): Promise<Segment[]> {
    const segments = this.dirty();
    const byVolume = new Map<string, string[]>();
    for (const open of segments) {
      await this.flush(open);
      const names = byVolume.get(open.segment.volume) ?? [];
      names.push(open.segment.name);
      byVolume.set(open.segment.volume, names);
    }
    for (const [volume, names] of byVolume) await this.#options.volumes.get(volume).sync(names);
    return segments.map((open) => ({ ...open.segment, bytes: open.position, records: open.records }));
  }

  /** Called when the catalog has these lengths. */
  settle(segments: readonly Segment[]): void {
    for (const segment of segments) {
      this.put(segment);
      for (const open of [...this.#full, ...this.#open.values()]) {
        if (open.segment.number === segment.number) open.segment = segment;
      }
    }
  }

  /**
   * Seals the full segments and returns them. The catalog has all of their records. A segment that cannot be sealed
   * stays open until the next opening.
   */
  async sealFull(): Promise<Segment[]> {
    const full = this.#full;
    this.#full = [];
    for (const open of full) {
      try {
        await this.seal(open);
      } catch (error) {
        if (!(error instanceof PinakesError)) throw error;
      }
    }
    return full.flatMap(({ segment }) => (segment.state === 'sealed' ? [segment] : []));
  }

  /**
   * Stops writing to these segments without cutting them, since the catalog may have the appended records. The next
   * opening heals the segments.
   */
  abandon(segments: readonly Segment[]): void {
    const numbers = new Set(segments.map(({ number }) => number));
    this.#full = this.#full.filter(({ segment }) => !numbers.has(segment.number));
    for (const [id, { segment }] of this.#open) if (numbers.has(segment.number)) this.#open.delete(id);
  }

  /**
   * Removes the records that were appended since the last commit. A segment that cannot be cut is left alone, and the
   * next opening heals it.
   */
  async rollBack(): Promise<void> {
    const all = [...this.#full, ...this.#open.values()];
    this.#full = [];
    this.#open.clear();
    for (const open of all) {
      const kept = open.isDirty ? await this.#cutBack(open) : open;
      if (!kept) continue;
      kept.refersTo = undefined;
      const earlier = this.#open.get(kindId(kept.kind));
      if (earlier) this.#full.push(earlier);
      this.#open.set(kindId(kept.kind), kept);
    }
  }

  /** The segment as the catalog has it. Undefined when the catalog does not have it, or when it cannot be cut. */
  async #cutBack(open: OpenSegment): Promise<OpenSegment | undefined> {
    const volume = this.#options.volumes.get(open.segment.volume);
    try {
      if (open.segment.bytes === 0) {
        await volume.remove([open.segment.name]);
        return undefined;
      }
      await volume.truncate(open.segment.name, open.segment.bytes);
      return new OpenSegment(open.segment, open.kind);
    } catch {
      // The next store begins another segment, and the next opening of the archive heals this one.
      return undefined;
    }
  }

  /** Resumes an open segment after the archive was opened. */
  resume(segment: Segment, kind: SegmentKind): void {
    this.#open.set(kindId(kind), new OpenSegment(segment, kind));
  }

  /** Seals a segment for good. The catalog must have all of its records. */
  async seal(open: OpenSegment): Promise<void> {
    assert(!open.isDirty, 'a segment is sealed only when the catalog knows all of it');
    await this.#options.volumes.get(open.segment.volume).seal(open.segment.name);
    open.segment = { ...open.segment, state: 'sealed' };
    this.put(open.segment);
    for (const [id, other] of this.#open) if (other === open) this.#open.delete(id);
  }

  openSegments(): OpenSegment[] {
    return [...this.#open.values()];
  }

  async #nameFor(kind: SegmentKind, now: number): Promise<string> {
    const suffix = kind.coding === 'gzip' ? 'warc.gz' : kind.coding === 'zstd' ? 'warc.zst' : 'warc';
    const host = hostname().replace(/[^A-Za-z0-9.-]/g, '-') || 'host';
    const stem = segmentStem(kind.collectionName, kind.isOdd === true);
    const milliseconds = String(now % 1000).padStart(3, '0');
    for (;;) {
      const serial = String(this.#serial++).padStart(5, '0');
      const name = `${kind.collectionName}/${stem}-${formatTimestamp(now)}${milliseconds}-${serial}-${host}.${suffix}`;
      if (!this.byName(name) && !(await this.#isTaken(name))) return name;
    }
  }

  /**
   * Whether a volume has an object of this name, or only tombstones of it: a clock that was set back produces names
   * again.
   */
  async #isTaken(name: string): Promise<boolean> {
    for (const volume of this.#options.volumes.available()) {
      // An error of a volume is reported when it is written to.
      const found = await volume.stat([name, name + TOMBSTONES_SUFFIX]).catch(() => []);
      if (found.some((info) => info !== undefined)) return true;
    }
    return false;
  }
}

const dictionaryIds = new WeakMap<Uint8Array, string>();

function dictionaryId(dictionary: Uint8Array): string {
  const known = dictionaryIds.get(dictionary);
  if (known !== undefined) return known;
  const id = toHex(digestOf('sha256', dictionary).bytes);
  dictionaryIds.set(dictionary, id);
  return id;
}

function kindId(kind: SegmentKind): string {
  const dictionary = kind.dictionary ? dictionaryId(kind.dictionary) : '';
  return `${kind.collection} ${kind.volume} ${kind.coding} ${kind.isOdd === true} ${dictionary}`;
}
