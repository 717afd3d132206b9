/**
 * Counts how many captures refer to each block and compares with the counts of the catalog, in memory that does not
 * grow with the archive (I9).
 *
 * Captures are in order of URL and blocks in order of digest, so the two cannot be walked side by side. So the keys of
 * blocks are hashed to 64 bits and divided into 4096 parts. Each part has two sums of hashes: one adds the hash for
 * each capture, the other adds the hash times the recorded count for each block. Parts with equal sums have the right
 * counts. In the other parts, references are counted block by block, as many parts at a time as fit into memory.
 */

import type { Block, BlockKey, Capture, CatalogView } from '../../catalog/index.ts';
import { formatContentKey } from '../content-key.ts';
import { blockId } from '../revisit/catalog-draft.ts';

const PARTS = 4096;
const COUNTED_AT_ONCE = 200_000;
const EXAMPLES_MAX = 5;

class Sums {
  readonly #high = new Uint32Array(PARTS);
  readonly #low = new Uint32Array(PARTS);

  add(key: BlockKey, times: number): void {
    const { high, low } = hashOf(key);
    const part = high >>> 20;
    this.#high[part]! += Math.imul(high, times);
    this.#low[part]! += Math.imul(low, times);
  }

  differing(other: Sums): number[] {
    const parts: number[] = [];
    for (let part = 0; part < PARTS; part++) {
      if (this.#high[part] !== other.#high[part] || this.#low[part] !== other.#low[part]) parts.push(part);
    }
    return parts;
  }
}

/** Two numbers of 32 bits that depend on every bit of the key. */
function hashOf({ digest, overflow }: BlockKey): { high: number; low: number } {
  let high = 0x9e3779b9 ^ overflow;
  let low = 0x85ebca6b + overflow;
  for (let at = 0; at < digest.length; at++) {
    high = Math.imul(high ^ digest[at]!, 0x01000193);
    low = Math.imul(low + digest[at]!, 0xcc9e2d51) ^ (low >>> 15);
  }
  high ^= high >>> 16;
  return { high: Math.imul(high, 0x7feb352d) >>> 0, low: low >>> 0 };
}

export type WrongCount = {
  readonly key: string;
  /** The count in the catalog. Undefined when the catalog does not have the block. */
  readonly recorded: number | undefined;
  readonly counted: number;
  readonly examples: readonly string[];
};

export class ReferenceCount {
  readonly #captures = new Sums();
  readonly #blocks = new Sums();
  #blockCount = 0;

  addCapture({ block }: Capture): void {
    if (block) this.#captures.add(block, 1);
  }

  addBlock({ key, references }: Block): void {
    this.#blocks.add(key, references);
    this.#blockCount++;
  }

  /**
   * The blocks with wrong counts, after all captures and blocks of this view were added. `rest` is called after each
   * page of rows.
   */
  async *wrong(view: CatalogView, rest: () => Promise<void> = async () => {}): AsyncGenerator<WrongCount> {
    const parts = this.#captures.differing(this.#blocks);
    const atOnce = Math.max(1, Math.floor(COUNTED_AT_ONCE / Math.max(1, this.#blockCount / PARTS)));
    for (let at = 0; at < parts.length; at += atOnce) yield* count(view, new Set(parts.slice(at, at + atOnce)), rest);
  }
}

async function* count(
  catalog: CatalogView,
  parts: ReadonlySet<number>,
  rest: () => Promise<void>,
): AsyncGenerator<WrongCount> {
  const isMeant = (key: BlockKey) => parts.has(hashOf(key).high >>> 20);
  const counted = new Map<string, { key: BlockKey; count: number; examples: string[] }>();
  for await (const page of catalog.captures({})) {
    for (const { block, url } of page) {
      if (!block || !isMeant(block)) continue;
      const id = blockId(block);
      const entry = counted.get(id) ?? { key: block, count: 0, examples: [] };
      entry.count++;
      if (entry.examples.length < EXAMPLES_MAX) entry.examples.push(url);
      counted.set(id, entry);
    }
    await rest();
  }
  for await (const page of catalog.blocks()) {
    for (const { key, references } of page) {
      if (!isMeant(key)) continue;
      const id = blockId(key);
      const entry = counted.get(id);
      counted.delete(id);
      if (entry?.count === references || (!entry && references === 0)) continue;
      yield { key: nameOf(key), recorded: references, counted: entry?.count ?? 0, examples: entry?.examples ?? [] };
    }
    await rest();
  }
  for (const { key, count: times, examples } of counted.values())
    yield { key: nameOf(key), recorded: undefined, counted: times, examples };
}

function nameOf(key: BlockKey): string {
  return formatContentKey('', key).slice(1);
}
