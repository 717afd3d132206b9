/**
 * Writes to the open segments of an archive.
 *
 * Appended records stay in memory until `flush` writes them to the volume. They are durable after `sync`, and belong to
 * the archive when the catalog has them. After a failed commit, `rollBack` cuts an open segment back to its length in
 * the catalog. If the catalog may have written the batch, `abandon` stops writing to the segment instead.
 */
import { assert, type Clock, type IdSource, PinakesError } from '../../base/index.ts';
import type { Place, Segment } from '../../catalog/index.ts';
import { type Field, MemberEncoder } from '../../warc/index.ts';
import type { Policies } from '../connector.ts';
import { segmentName, warcinfoMember } from './new-segment.ts';
import { kindId, type SegmentKind } from './segment-kind.ts';
import type { SegmentRegistry } from './segment-registry.ts';
import { TOMBSTONES_SUFFIX } from './tombstones.ts';
import type { VolumeSet } from './volume-set.ts';

/** Bytes that may wait in memory before they are written to the volume. */
const PENDING_BYTES_MAX = 4 * 1024 * 1024;

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

export type SegmentWriterOptions = {
  readonly registry: SegmentRegistry;
  readonly volumes: VolumeSet;
  readonly policies: Policies;
  readonly clock: Clock;
  readonly newId: IdSource;
  readonly software: string;
};

export class SegmentWriter {
  readonly #options: SegmentWriterOptions;
  readonly #open = new Map<string, OpenSegment>();
  /** Full segments, which are sealed when the catalog has all of their records. */
  #full: OpenSegment[] = [];
  #serial = 0;

  constructor(options: SegmentWriterOptions) {
    this.#options = options;
  }

  /** Forgets all open segments, for a rebuild. */
  reset(): void {
    this.#open.clear();
    this.#full = [];
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

  /** Whether records are appended to this segment, so that it may be longer than in the catalog. */
  isWriting({ number }: Pick<Segment, 'number'>): boolean {
    return [...this.#full, ...this.#open.values()].some(({ segment }) => segment.number === number);
  }

  /** Creates a segment with its warcinfo record. `openFor` does not return this segment. */
  async begin(kind: SegmentKind, fields: readonly Field[]): Promise<OpenSegment> {
    const { clock, newId, software, volumes, registry } = this.#options;
    const time = clock();
    const name = await this.#nameFor(kind, time);
    await volumes.get(kind.volume).create(name);
    const segment: Segment = {
      number: registry.takeNumber(),
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
    const start = encoder.fileStart();
    if (start.length > 0) this.append(open, start, 0);
    const { collectionName } = kind;
    const info = { name, collectionName, software, recordId: newId(), time, fields };
    this.append(open, warcinfoMember(encoder, info));
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
      this.#options.registry.put(segment);
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
    this.#options.registry.put(open.segment);
    for (const [id, other] of this.#open) if (other === open) this.#open.delete(id);
  }

  openSegments(): OpenSegment[] {
    return [...this.#open.values()];
  }

  async #nameFor(kind: SegmentKind, now: number): Promise<string> {
    for (;;) {
      const name = segmentName(kind, now, this.#serial++);
      if (!(await this.#options.registry.byName(name)) && !(await this.#isTaken(name))) return name;
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
