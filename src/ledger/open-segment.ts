/** A segment that this process has open for writing. Its bytes wait in memory until they are flushed to the volume. */
import type { Segment, SegmentPart } from '../catalog/index.ts';
import type { Coding } from '../warc/index.ts';
import type { SegmentStore } from './segment-store.ts';

export type SegmentKind = {
  readonly collection: number;
  readonly collectionName: string;
  readonly volume: string;
  readonly coding: Coding;
  readonly dictionary?: Uint8Array | undefined;
  /** Set for segments that are kept apart, such as those with records that stop other readers. Part of their names. */
  readonly stem?: string | undefined;
  /** The folder of the segments. Default: the name of the collection. */
  readonly folder?: string | undefined;
};

export class OpenSegment {
  /** The row, as the catalog has it. */
  segment: Segment;
  readonly kind: SegmentKind;
  readonly store: SegmentStore;
  /**
   * The bytes of its warcinfo record, and of the dictionary before it. Written anew when the first commit is refused.
   */
  beginning: Uint8Array | undefined;
  /** The offset of the next record. */
  position: number;
  records: number;
  pending: Uint8Array[] = [];
  pendingBytes = 0;
  /** The parts that were put since the last commit. */
  fresh: SegmentPart[] = [];
  /** The attempt with which the next part is put (P2). */
  attempt: number;
  /** Whether anything was put, or tried to be put, with this attempt since the last commit. */
  isAttempted = false;
  /** The segment that revisits in this one may refer to. Its records are made durable first (I1). */
  refersTo: OpenSegment | undefined;

  constructor(segment: Segment, kind: SegmentKind, store: SegmentStore, attempt: number) {
    this.segment = segment;
    this.kind = kind;
    this.store = store;
    this.position = segment.bytes;
    this.records = segment.records;
    this.attempt = attempt;
  }

  /** How many parts it has, on a volume of immutable objects. */
  get parts(): number {
    return (this.segment.parts?.length ?? 0) + this.fresh.length;
  }

  /** Whether it has nothing but its warcinfo record. */
  get isEmpty(): boolean {
    return this.position === this.beginning?.length;
  }

  /** Whether there are records to commit. The warcinfo record alone is not committed. */
  get isDirty(): boolean {
    return this.position !== this.segment.bytes && !this.isEmpty;
  }

  /** Begins the empty segment with these bytes. */
  begin(bytes: Uint8Array): void {
    this.beginning = bytes;
    this.pending = [bytes];
    this.pendingBytes = bytes.length;
    this.position = bytes.length;
    this.records = 1;
  }

  /** Gives up everything since the last commit. What is put next must not have the names of before (P2). */
  forget(): void {
    this.position = this.segment.bytes;
    this.records = this.segment.records;
    this.pending = [];
    this.pendingBytes = 0;
    this.fresh = [];
    if (this.isAttempted) this.attempt++;
    this.isAttempted = false;
    this.refersTo = undefined;
    if (this.segment.bytes === 0 && this.beginning) this.begin(this.beginning);
  }
}
