/** Segments on a volume with real append: one object each, which is sealed in place. See segment-store.ts. */
import { concat, PinakesError } from '../base/index.ts';
import type { ObjectInfo, Volume, VolumeSpace } from '../volume/index.ts';
import type { FoundSegment, SegmentBytes, SegmentRange, SegmentStore } from './segment-store.ts';

export class AppendingStore implements SegmentStore {
  readonly volume: string;
  readonly hasParts = false;
  readonly isWritable: boolean;
  readonly #volume: Volume;

  constructor(volume: Volume) {
    this.volume = volume.name;
    this.isWritable = volume.writable;
    this.#volume = volume;
  }

  async find(name: string): Promise<FoundSegment> {
    const [object] = await this.#volume.stat([name]);
    return { object, parts: [] };
  }

  async lengthOf({ name }: SegmentBytes): Promise<number | undefined> {
    const [object] = await this.#volume.stat([name]);
    return object?.bytes;
  }

  space(): Promise<VolumeSpace> {
    return this.#volume.space();
  }

  async *list(prefix?: string): AsyncGenerator<ObjectInfo[]> {
    yield await this.#volume.list(prefix);
  }

  async begin(name: string): Promise<void> {
    await this.#volume.create(name);
  }

  async append(name: string, at: number, bytes: readonly Uint8Array[]): Promise<undefined> {
    await this.#volume.append(name, at, bytes);
  }

  async sync(names: readonly string[]): Promise<void> {
    await this.#volume.sync(names);
  }

  async cut(name: string, length: number): Promise<void> {
    await this.#volume.truncate(name, length);
  }

  async seal({ name }: SegmentBytes): Promise<void> {
    await this.#volume.seal(name);
  }

  read({ name }: SegmentBytes, ranges: readonly SegmentRange[]): Promise<Uint8Array[]> {
    return this.#volume.read(ranges.map(({ offset, length }) => ({ name, offset, length })));
  }

  stream({ name }: SegmentBytes, from: number, to: number): AsyncIterable<Uint8Array> {
    return this.#volume.stream(name, from, to);
  }

  async remove(names: readonly string[]): Promise<void> {
    await this.#volume.remove(names);
  }

  /** A half written object that a crash left is written anew. */
  async writeObject(name: string, bytes: Uint8Array): Promise<void> {
    const [found] = await this.#volume.stat([name]);
    if (found?.sealed) return;
    if (found) await this.#volume.truncate(name, 0);
    else await this.#volume.create(name);
    await this.#volume.append(name, 0, [bytes]);
    await this.#volume.seal(name);
  }

  async readObject(name: string, bytesMax: number): Promise<Uint8Array | undefined> {
    const [found] = await this.#volume.stat([name]);
    if (!found?.sealed) return undefined;
    return readSmall(name, found.bytes, bytesMax, () => this.#volume.stream(name));
  }
}

/** All bytes of an object that is not larger than expected. */
export async function readSmall(
  name: string,
  bytes: number,
  bytesMax: number,
  open: () => AsyncIterable<Uint8Array>,
): Promise<Uint8Array> {
  if (bytes > bytesMax) throw new PinakesError('RECORD_TOO_LARGE', { where: name, detail: `over ${bytesMax} bytes` });
  const pieces: Uint8Array[] = [];
  for await (const piece of open()) pieces.push(Uint8Array.from(piece));
  return concat(pieces);
}
