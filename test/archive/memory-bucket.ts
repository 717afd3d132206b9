/** A bucket in memory on which small objects are replaced under a condition, for archives on immutable objects. */
import { digestOf, toHex } from '../../src/base/index.ts';
import {
  type ConditionalVolume,
  type MemoryBucket,
  MemoryPartVolume,
  type TaggedObject,
} from '../../src/volume/index.ts';

export class BucketVolume extends MemoryPartVolume implements ConditionalVolume {
  readonly #bucket: MemoryBucket;

  constructor(name: string, bucket: MemoryBucket) {
    super(name, bucket);
    this.#bucket = bucket;
  }

  async readTagged(name: string): Promise<TaggedObject | undefined> {
    const bytes = this.#bucket.get(name);
    return bytes && { bytes, tag: tagOf(bytes) };
  }

  async putIfAbsent(name: string, bytes: Uint8Array): Promise<string | undefined> {
    if (this.#bucket.has(name)) return undefined;
    this.#bucket.set(name, Uint8Array.from(bytes));
    return tagOf(bytes);
  }

  async putIfTag(name: string, tag: string, bytes: Uint8Array): Promise<string | undefined> {
    const found = this.#bucket.get(name);
    if (!found || tagOf(found) !== tag) return undefined;
    this.#bucket.set(name, Uint8Array.from(bytes));
    return tagOf(bytes);
  }
}

function tagOf(bytes: Uint8Array): string {
  return toHex(digestOf('sha256', bytes).bytes);
}
