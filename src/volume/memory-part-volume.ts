/** A volume of immutable objects in memory. A bucket outlives the volumes that are opened on it. */
import { PinakesError, READ_CHUNK_BYTES } from '../base/index.ts';
import { assertObjectName, assertOffset, assertPrefix, compareNames } from './object-name.ts';
import type { PartVolume, VolumeCall } from './part-volume.ts';
import type { ObjectInfo, ReadRange } from './volume.ts';
import { closedError, whereIn } from './volume-error.ts';

const PAGE_SIZE = 1000;

export type MemoryBucket = Map<string, Uint8Array>;

export class MemoryPartVolume implements PartVolume {
  readonly name: string;
  readonly writable = true;
  readonly #objects: MemoryBucket;
  #isClosed = false;

  constructor(name: string, bucket: MemoryBucket = new Map()) {
    this.name = name;
    this.#objects = bucket;
  }

  async *list(prefix = '', { signal }: VolumeCall = {}): AsyncGenerator<ObjectInfo[]> {
    signal?.throwIfAborted();
    assertPrefix(prefix);
    const names = [...this.#bucket().keys()].filter((name) => name.startsWith(prefix)).sort(compareNames);
    for (let at = 0; at < names.length; at += PAGE_SIZE)
      yield names.slice(at, at + PAGE_SIZE).flatMap((name) => this.#info(name) ?? []);
  }

  async stat(names: readonly string[], { signal }: VolumeCall = {}): Promise<(ObjectInfo | undefined)[]> {
    signal?.throwIfAborted();
    names.forEach(assertObjectName);
    return names.map((name) => this.#info(name));
  }

  async put(name: string, bytes: readonly Uint8Array[], { signal }: VolumeCall = {}): Promise<void> {
    signal?.throwIfAborted();
    assertObjectName(name);
    this.#bucket().set(name, Uint8Array.from(Buffer.concat(bytes)));
  }

  async join(name: string, ranges: readonly ReadRange[], call: VolumeCall = {}): Promise<void> {
    const pieces = await this.read(ranges, call);
    const short = ranges.find(({ length }, index) => pieces[index]!.length !== length);
    if (short) throw new PinakesError('OBJECT_MOVED', { where: whereIn(this.name, short.name) });
    await this.put(name, pieces, call);
  }

  async remove(names: readonly string[], { signal }: VolumeCall = {}): Promise<void> {
    signal?.throwIfAborted();
    names.forEach(assertObjectName);
    for (const name of names) this.#bucket().delete(name);
  }

  async read(ranges: readonly ReadRange[], { signal }: VolumeCall = {}): Promise<Uint8Array[]> {
    signal?.throwIfAborted();
    return ranges.map(({ name, offset, length }) => {
      assertOffset(offset, 'the offset');
      assertOffset(length, 'the length');
      return this.#existing(name).slice(offset, offset + length);
    });
  }

  async *stream(
    name: string,
    from = 0,
    to = Number.POSITIVE_INFINITY,
    { signal }: VolumeCall = {},
  ): AsyncGenerator<Uint8Array> {
    const object = this.#existing(name);
    for (let at = from; at < Math.min(to, object.length); at += READ_CHUNK_BYTES) {
      signal?.throwIfAborted();
      yield object.slice(at, Math.min(at + READ_CHUNK_BYTES, to));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  #info(name: string): ObjectInfo | undefined {
    const object = this.#bucket().get(name);
    return object && { name, bytes: object.length, sealed: true };
  }

  #existing(name: string): Uint8Array {
    assertObjectName(name);
    const object = this.#bucket().get(name);
    if (object) return object;
    throw new PinakesError('OBJECT_MISSING', { where: whereIn(this.name, name) });
  }

  #bucket(): MemoryBucket {
    if (this.#isClosed) throw closedError(this.name);
    return this.#objects;
  }
}
