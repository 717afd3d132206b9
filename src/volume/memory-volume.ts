/**
 * A volume in memory, on a simulated disk that knows what is durable and what a power cut would lose.
 *
 * A disk outlives the volumes that are opened on it, as a real disk does. `powerLoss` leaves what the contract promises
 * and nothing more: the synced bytes, followed by a random beginning of the unsynced ones. An object whose name was
 * never synced remains or disappears at random.
 *
 * Streams reuse one buffer, so that a test finds a caller that keeps a piece too long.
 */
import { PinakesError, type Random, READ_CHUNK_BYTES } from '../base/index.ts';
import { assertObjectName, assertOffset, assertPrefix, compareNames } from './object-name.ts';
import type { ObjectInfo, ReadRange, Volume, VolumeSpace } from './volume.ts';
import { closedError, whereIn } from './volume-error.ts';

const TOTAL_BYTES = 2 ** 40;

type MemoryObject = {
  buffer: Uint8Array<ArrayBuffer>;
  bytes: number;
  durableBytes: number;
  /** Whether the object's existence and name would survive power loss. */
  durableName: boolean;
  sealed: boolean;
};

export class MemoryDisk {
  readonly totalBytes: number;
  readonly objects = new Map<string, MemoryObject>();

  constructor(totalBytes = TOTAL_BYTES) {
    this.totalBytes = totalBytes;
  }

  get usedBytes(): number {
    let used = 0;
    for (const { bytes } of this.objects.values()) used += bytes;
    return used;
  }

  powerLoss(random: Random): void {
    for (const [name, object] of [...this.objects]) {
      if (!object.durableName && random() < 0.5) this.objects.delete(name);
      object.durableName = true;
      object.bytes = object.durableBytes + Math.floor(random() * (object.bytes - object.durableBytes + 1));
      object.durableBytes = object.bytes;
    }
  }
}

export function openMemoryVolume(
  name: string,
  disk: MemoryDisk = new MemoryDisk(),
  options: { readonly writable: boolean } = { writable: true },
): Volume {
  return new MemoryVolume(name, disk, options.writable);
}

class MemoryVolume implements Volume {
  readonly name: string;
  readonly writable: boolean;
  readonly #disk: MemoryDisk;
  #closed = false;

  constructor(name: string, disk: MemoryDisk, writable: boolean) {
    this.name = name;
    this.writable = writable;
    this.#disk = disk;
  }

  async list(prefix = ''): Promise<ObjectInfo[]> {
    assertPrefix(prefix);
    const names = [...this.#objects().keys()].filter((name) => name.startsWith(prefix));
    return names.sort(compareNames).map((name) => this.#info(name)!);
  }

  async stat(names: readonly string[]): Promise<(ObjectInfo | undefined)[]> {
    names.forEach(assertObjectName);
    return names.map((name) => this.#info(name));
  }

  async create(name: string): Promise<void> {
    assertObjectName(name);
    this.#assertWritable();
    if (this.#objects().has(name)) throw this.#error('OBJECT_EXISTS', name);
    const buffer = new Uint8Array(0);
    this.#objects().set(name, { buffer, bytes: 0, durableBytes: 0, durableName: false, sealed: false });
  }

  async append(name: string, at: number, parts: readonly Uint8Array[]): Promise<void> {
    assertOffset(at, 'the end');
    const object = this.#unsealed(name);
    if (object.bytes !== at) throw this.#error('OBJECT_MOVED', name, `it is ${object.bytes} bytes long, not ${at}`);
    const added = parts.reduce((sum, part) => sum + part.length, 0);
    if (added > this.#disk.totalBytes - this.#disk.usedBytes) throw this.#error('DISK_FULL', name);
    if (object.buffer.length < at + added) {
      const larger = new Uint8Array(Math.max(1024, at + added, object.buffer.length * 2));
      larger.set(object.buffer.subarray(0, at));
      object.buffer = larger;
    }
    for (const part of parts) {
      object.buffer.set(part, object.bytes);
      object.bytes += part.length;
    }
  }

  async sync(names: readonly string[]): Promise<void> {
    this.#assertWritable();
    names.forEach(assertObjectName);
    for (const name of names) this.#makeDurable(this.#existing(name));
  }

  async truncate(name: string, length: number): Promise<void> {
    assertOffset(length, 'the length');
    const object = this.#unsealed(name);
    if (object.bytes < length) throw this.#error('OBJECT_MOVED', name, `it is ${object.bytes} bytes long`);
    object.bytes = length;
    this.#makeDurable(object);
  }

  async seal(name: string): Promise<void> {
    this.#assertWritable();
    const object = this.#existing(name);
    this.#makeDurable(object);
    object.sealed = true;
  }

  async rename(from: string, to: string): Promise<void> {
    this.#assertWritable();
    assertObjectName(to);
    const object = this.#existing(from);
    this.#makeDurable(object);
    this.#objects().delete(from);
    this.#objects().set(to, object);
  }

  async remove(names: readonly string[]): Promise<void> {
    this.#assertWritable();
    names.forEach(assertObjectName);
    for (const name of names) this.#objects().delete(name);
  }

  async read(ranges: readonly ReadRange[]): Promise<Uint8Array[]> {
    return ranges.map(({ name, offset, length }) => {
      assertOffset(offset, 'the offset');
      assertOffset(length, 'the length');
      const { buffer, bytes } = this.#existing(name);
      return buffer.slice(Math.min(offset, bytes), Math.min(offset + length, bytes));
    });
  }

  async *stream(name: string, from = 0, to = Number.MAX_SAFE_INTEGER): AsyncGenerator<Uint8Array, void, void> {
    assertOffset(from, 'the offset');
    assertOffset(to, 'the end');
    const object = this.#existing(name);
    const piece = new Uint8Array(READ_CHUNK_BYTES);
    for (let offset = from; offset < Math.min(to, object.bytes); ) {
      this.#objects();
      const end = Math.min(offset + READ_CHUNK_BYTES, to, object.bytes);
      piece.set(object.buffer.subarray(offset, end));
      yield piece.subarray(0, end - offset);
      offset = end;
    }
  }

  async space(): Promise<VolumeSpace> {
    this.#objects();
    const { totalBytes, usedBytes } = this.#disk;
    return { freeBytes: totalBytes - usedBytes, totalBytes };
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #objects(): Map<string, MemoryObject> {
    if (this.#closed) throw closedError(this.name);
    return this.#disk.objects;
  }

  #info(name: string): ObjectInfo | undefined {
    const object = this.#objects().get(name);
    return object && { name, bytes: object.bytes, sealed: object.sealed };
  }

  #existing(name: string): MemoryObject {
    assertObjectName(name);
    const object = this.#objects().get(name);
    if (!object) throw this.#error('OBJECT_MISSING', name);
    return object;
  }

  #unsealed(name: string): MemoryObject {
    this.#assertWritable();
    const object = this.#existing(name);
    if (object.sealed) throw this.#error('OBJECT_MOVED', name, 'it is sealed');
    return object;
  }

  #makeDurable(object: MemoryObject): void {
    object.durableBytes = object.bytes;
    object.durableName = true;
  }

  #assertWritable(): void {
    if (!this.writable) throw new PinakesError('VOLUME_READ_ONLY', { where: whereIn(this.name) });
  }

  #error(
    code: 'OBJECT_EXISTS' | 'OBJECT_MISSING' | 'OBJECT_MOVED' | 'DISK_FULL',
    name: string,
    detail?: string,
  ): PinakesError {
    return new PinakesError(code, { where: whereIn(this.name, name), ...(detail && { detail }) });
  }
}
