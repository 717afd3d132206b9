/**
 * Segments on a volume of immutable objects: parts until they are joined (P1). See segment-store.ts. A put that is not
 * answered is put again with the same name and bytes (P2).
 */
import { PinakesError } from '../base/index.ts';
import type { SegmentPart } from '../catalog/index.ts';
import type { ObjectInfo, PartVolume, ReadRange } from '../volume/index.ts';
import { readSmall } from './appending-store.ts';
import { type AskAgain, askAgain } from './ask-again.ts';
import { chainOf, endOf, type FoundPart, parsePartName, partName, partsPrefix } from './part-name.ts';
import { begunName } from './segment-name.ts';
import { isMissing } from './segment-reader.ts';
import type { FoundSegment, SegmentBytes, SegmentRange, SegmentStore } from './segment-store.ts';

export type PartStoreOptions = {
  readonly again?: AskAgain | undefined;
  readonly ownerNumber?: number | undefined;
  /**
   * Throws when another process owns the volume (P1). Called after bytes were put and before they count. Called also
   * before anything is removed, and before an object is put that was made of what the volume has: what a successor
   * wrote can only be read after it became the owner, so a former owner never seals, notes or lists any of it. Without
   * this function, leases in the catalog keep others away.
   */
  readonly assertOwned?: (() => Promise<void>) | undefined;
  /** Throws when it is known already that another process owns the volume. */
  readonly assertNotLost?: (() => void) | undefined;
};

export class PartStore implements SegmentStore {
  readonly volume: string;
  readonly hasParts = true;
  readonly isWritable: boolean;
  readonly ownerNumber: number | undefined;
  readonly #volume: PartVolume;
  readonly #again: AskAgain;
  readonly #assertOwned: PartStoreOptions['assertOwned'];
  readonly #assertNotLost: PartStoreOptions['assertNotLost'];

  constructor(volume: PartVolume, { again = {}, ownerNumber, assertOwned, assertNotLost }: PartStoreOptions = {}) {
    this.volume = volume.name;
    this.isWritable = volume.writable;
    this.ownerNumber = ownerNumber;
    this.#volume = volume;
    this.#again = again;
    this.#assertOwned = assertOwned;
    this.#assertNotLost = assertNotLost;
  }

  async find(name: string): Promise<FoundSegment> {
    const parts: FoundPart[] = [];
    // A fresh seal is joined of parts that have the name that the segment was begun under (R3).
    const begun = begunName(name);
    for await (const page of this.#volume.list(partsPrefix(begun)))
      for (const info of page) {
        const parsed = parsePartName(info.name);
        if (parsed?.segment === begun) parts.push({ ...parsed, name: info.name, bytes: info.bytes });
      }
    // After the list: parts go only when the object is there, so one of the two is found.
    const [object] = await this.#volume.stat([name]);
    return { object, parts };
  }

  async lengthOf(segment: SegmentBytes): Promise<number | undefined> {
    const { object, parts } = await this.find(segment.name);
    if (object) return object.bytes;
    const chain = chainOf(parts, segment.parts ?? []);
    return chain && chain.length > 0 ? endOf(chain) : undefined;
  }

  /** A volume of immutable objects does not say how much room it has. */
  async space(): Promise<undefined> {}

  list(prefix?: string): AsyncIterable<ObjectInfo[]> {
    return this.#volume.list(prefix);
  }

  async begin(): Promise<void> {}

  async append(name: string, at: number, bytes: readonly Uint8Array[], attempt: number): Promise<SegmentPart> {
    this.#assertNotLost?.();
    const part = { name: partName(name, at, attempt), offset: at };
    await askAgain(() => this.#volume.put(part.name, bytes), this.#again);
    return part;
  }

  /** A part is durable when it was put. */
  async sync(): Promise<void> {
    await this.#assertOwned?.();
  }

  async cut(): Promise<void> {}

  async seal(segment: SegmentBytes): Promise<void> {
    const ranges = partRanges(segment, { offset: 0, length: segment.bytes });
    await this.#assertOwned?.();
    await askAgain(() => this.#volume.join(segment.name, ranges), this.#again);
  }

  async read(segment: SegmentBytes, ranges: readonly SegmentRange[]): Promise<Uint8Array[]> {
    if (isObject(segment)) return this.#volume.read(ranges.map((range) => ({ name: segment.name, ...range })));
    const pieces = ranges.map((range) => partRanges(segment, range));
    let read: Uint8Array[];
    try {
      read = await this.#volume.read(pieces.flat());
    } catch (error) {
      // The segment was sealed meanwhile, and its parts removed. Its object has the same bytes.
      if (!isMissing(error)) throw error;
      return this.#volume.read(ranges.map((range) => ({ name: segment.name, ...withinSegment(segment, range) })));
    }
    let at = 0;
    return pieces.map(({ length }) => {
      const some = read.slice(at, at + length);
      at += length;
      return some.length === 1 ? some[0]! : Uint8Array.from(Buffer.concat(some));
    });
  }

  async *stream(segment: SegmentBytes, from: number, to: number): AsyncGenerator<Uint8Array> {
    if (isObject(segment)) {
      yield* this.#volume.stream(segment.name, from, to);
      return;
    }
    const range = withinSegment(segment, { offset: from, length: Math.max(0, to - from) });
    const end = range.offset + range.length;
    let at = from;
    try {
      for (const { name, offset, length } of partRanges(segment, range))
        for await (const piece of this.#volume.stream(name, offset, offset + length)) {
          at += piece.length;
          yield piece;
        }
    } catch (error) {
      if (!isMissing(error)) throw error;
      yield* this.#volume.stream(segment.name, at, end);
    }
  }

  async remove(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    await this.#assertOwned?.();
    await this.#volume.remove(names);
  }

  async writeObject(name: string, bytes: Uint8Array): Promise<void> {
    await this.#assertOwned?.();
    await askAgain(() => this.#volume.put(name, [bytes]), this.#again);
    await this.#assertOwned?.();
  }

  async readObject(name: string, bytesMax: number): Promise<Uint8Array | undefined> {
    const [found] = await this.#volume.stat([name]);
    if (!found) return undefined;
    try {
      return await readSmall(name, found.bytes, bytesMax, () => this.#volume.stream(name));
    } catch (error) {
      if (error instanceof PinakesError && error.code === 'OBJECT_MISSING') return undefined;
      throw error;
    }
  }
}

/** Readers of a segment that is being sealed read its parts, since its object need not be there (H1). */
function isObject({ state, parts }: SegmentBytes): boolean {
  return state === 'sealed' || !parts?.length;
}

/** The part of a range that lies before the end of the segment. */
function withinSegment({ bytes }: SegmentBytes, { offset, length }: SegmentRange): SegmentRange {
  return { offset, length: Math.max(0, Math.min(offset + length, bytes) - offset) };
}

/** A range of a segment as ranges of its parts. The row's length ends the last part. */
function partRanges({ parts = [], bytes }: SegmentBytes, { offset, length }: SegmentRange): ReadRange[] {
  const to = Math.min(offset + length, bytes);
  return parts.flatMap((part, index) => {
    const begin = Math.max(offset, part.offset);
    const end = Math.min(to, parts[index + 1]?.offset ?? bytes);
    return begin < end ? [{ name: part.name, offset: begin - part.offset, length: end - begin }] : [];
  });
}
