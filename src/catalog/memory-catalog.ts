/**
 * A catalog in memory: maps, searched from end to end. It is the model that other catalogs are compared with, so it is
 * simple rather than fast: nothing is kept incrementally, and totals are counted for each call.
 */
import { compare, copyOf, type EpochMs, toHex, utf8 } from '../base/index.ts';
import type { UrlKey } from '../url/index.ts';
import { assertBlockKey } from './block-codec.ts';
import { compareBlockKeys } from './block-order.ts';
import { assertCapture } from './capture-codec.ts';
import {
  type Alias,
  type Block,
  type BlockKey,
  type Capture,
  type CapturePosition,
  type CaptureQuestion,
  type CaptureRange,
  type Catalog,
  type CatalogBatch,
  type CatalogView,
  FEW_CAPTURES,
  type FileDamage,
  type Segment,
  type Totals,
} from './catalog.ts';
import { ALIAS_CANDIDATES_MAX, declaredStart } from './declared-digest.ts';
import { compareRowsOfKeys } from './key-order.ts';
import { sideOf } from './key-range.ts';

const PAGE_SIZE = 1000;

/** The rows of a catalog in memory. */
export type MemoryContents = {
  readonly captures: Map<string, Capture>;
  readonly blocks: Map<string, Block>;
  readonly segments: Map<number, Segment>;
  readonly aliases: Map<string, Alias>;
  readonly notes: Map<string, string>;
};

export class MemoryView implements CatalogView {
  protected contents: MemoryContents;

  constructor(contents: MemoryContents) {
    this.contents = contents;
  }

  async findBlocks(digests: readonly Uint8Array[]): Promise<Block[][]> {
    const blocks = this.#sortedBlocks();
    return digests.map((digest) => blocks.filter((block) => compare(block.key.digest, digest) === 0));
  }

  async getBlocks(keys: readonly BlockKey[]): Promise<(Block | undefined)[]> {
    return keys.map((key) => this.contents.blocks.get(blockId(key)));
  }

  async findAliases(declared: readonly Uint8Array[]): Promise<BlockKey[][]> {
    const aliases = [...this.contents.aliases.values()];
    return declared.map((digest) => {
      const start = declaredStart(digest);
      const found = aliases.filter((alias) => compare(declaredStart(alias.declared), start) === 0);
      const keys = found.map((alias) => alias.block).sort(compareBlockKeys);
      return keys.slice(0, ALIAS_CANDIDATES_MAX);
    });
  }

  async *captures(range: CaptureRange, pageSize = PAGE_SIZE): AsyncGenerator<Capture[]> {
    const found = this.#sortedCaptures().filter((capture) => isInRange(capture, range));
    if (range.reverse) found.reverse();
    for (let at = 0; at < found.length; at += pageSize) yield found.slice(at, at + pageSize);
  }

  async findCaptures(questions: readonly CaptureQuestion[]): Promise<(readonly Capture[])[]> {
    const captures = this.#sortedCaptures();
    return questions.map(({ urlKey, time, timeTo = time, limit, ofHash, at }) =>
      captures
        .filter((capture) => capture.urlKey === urlKey && capture.time >= time && capture.time <= timeTo)
        .filter(({ hash }) => ofHash === undefined || hash === ofHash)
        .filter(({ place }) => !at || (place.segment === at.segment && place.offset === at.offset))
        .slice(0, limit),
    );
  }

  async capturesOf(urlKey: UrlKey): Promise<readonly Capture[] | undefined> {
    const captures = this.#sortedCaptures().filter((capture) => capture.urlKey === urlKey);
    return captures.length > FEW_CAPTURES ? undefined : captures;
  }

  async nearest(urlKey: UrlKey, time: EpochMs, side: 'either' | 'notAfter' = 'either'): Promise<Capture | undefined> {
    let best: Capture | undefined;
    for (const capture of this.#sortedCaptures()) {
      if (capture.urlKey !== urlKey || (side === 'notAfter' && capture.time > time)) continue;
      const isNearer = !best || Math.abs(capture.time - time) < Math.abs(best.time - time);
      if (isNearer || capture.time === best?.time) best = capture;
    }
    return best;
  }

  async *blocks(pageSize = PAGE_SIZE): AsyncGenerator<Block[]> {
    const blocks = this.#sortedBlocks();
    for (let at = 0; at < blocks.length; at += pageSize) yield blocks.slice(at, at + pageSize);
  }

  async segments(): Promise<Segment[]> {
    return [...this.contents.segments.values()].sort((a, b) => a.number - b.number);
  }

  async notes(prefix = ''): Promise<Record<string, string>> {
    const notes = [...this.contents.notes].filter(([name]) => name.startsWith(prefix));
    return Object.fromEntries(notes.sort(([a], [b]) => compare(utf8(a), utf8(b))));
  }

  async *notePages(prefix: string): AsyncGenerator<[name: string, text: string][]> {
    const notes = Object.entries(await this.notes(prefix));
    for (let at = 0; at < notes.length; at += PAGE_SIZE) yield notes.slice(at, at + PAGE_SIZE);
  }

  async totals(): Promise<Totals> {
    const captures = [...this.contents.captures.values()];
    const blocks = [...this.contents.blocks.values()];
    const sizeOf = (key: BlockKey | undefined) => (key && this.contents.blocks.get(blockId(key))?.size) ?? 0;
    return {
      captures: captures.length,
      blocks: blocks.length,
      revisits: captures.filter((capture) => capture.kind === 'revisit').length,
      payloadBytes: captures.reduce((sum, capture) => sum + sizeOf(capture.block), 0),
      uniquePayloadBytes: blocks.reduce((sum, block) => sum + block.size, 0),
    };
  }

  #sortedCaptures(): Capture[] {
    return [...this.contents.captures.values()].sort(compareCaptures);
  }

  #sortedBlocks(): Block[] {
    return [...this.contents.blocks.values()].sort((a, b) => compareBlockKeys(a.key, b.key));
  }
}

export class MemoryCatalog extends MemoryView implements Catalog {
  readonly refusal = undefined;
  readonly isShared = false;
  #batches = 0;

  constructor() {
    super(emptyContents());
  }

  get batches(): number {
    return this.#batches;
  }

  async write(batch: CatalogBatch): Promise<void> {
    writeBatch(this.contents, batch);
    this.#batches++;
  }

  async view(): Promise<CatalogView & AsyncDisposable> {
    const { captures, blocks, segments, aliases, notes } = this.contents;
    const frozen: MemoryContents = {
      captures: new Map(captures),
      blocks: new Map(blocks),
      segments: new Map(segments),
      aliases: new Map(aliases),
      notes: new Map(notes),
    };
    return Object.assign(new MemoryView(frozen), { [Symbol.asyncDispose]: async () => {} });
  }

  async bytes(): Promise<number> {
    return 0;
  }

  /** Memory is assumed to be sound. */
  async *check(): AsyncGenerator<FileDamage> {}

  async clear(): Promise<void> {
    this.contents = emptyContents();
    this.#batches++;
  }

  async close(): Promise<void> {}
}

/** Applies a batch, after all of it was checked. */
export function writeBatch(contents: MemoryContents, batch: CatalogBatch): void {
  assertBatch(batch);
  const { captures, blocks, segments, aliases, notes } = contents;
  for (const capture of batch.removeCaptures ?? []) captures.delete(captureId(capture));
  for (const key of batch.removeBlocks ?? []) blocks.delete(blockId(key));
  for (const number of batch.removeSegments ?? []) segments.delete(number);
  for (const alias of batch.removeAliases ?? []) aliases.delete(aliasId(alias));
  for (const name of batch.removeNotes ?? []) notes.delete(name);
  for (const capture of batch.putCaptures ?? []) {
    captures.set(captureId(capture), { ...capture, block: capture.block && ownKey(capture.block) });
  }
  for (const block of batch.putBlocks ?? []) blocks.set(blockId(block.key), { ...block, key: ownKey(block.key) });
  for (const segment of batch.putSegments ?? []) segments.set(segment.number, segment);
  for (const alias of batch.putAliases ?? []) {
    aliases.set(aliasId(alias), { declared: copyOf(alias.declared), block: ownKey(alias.block) });
  }
  for (const [name, text] of Object.entries(batch.putNotes ?? {})) notes.set(name, text);
}

function emptyContents(): MemoryContents {
  return { captures: new Map(), blocks: new Map(), segments: new Map(), aliases: new Map(), notes: new Map() };
}

/** The whole batch is checked before any of it is applied. */
function assertBatch(batch: CatalogBatch): void {
  for (const capture of [...(batch.putCaptures ?? []), ...(batch.removeCaptures ?? [])]) {
    assertCapture(capture);
    if (capture.block) assertBlockKey(capture.block);
  }
  for (const block of batch.putBlocks ?? []) assertBlockKey(block.key);
  for (const key of batch.removeBlocks ?? []) assertBlockKey(key);
  for (const alias of [...(batch.putAliases ?? []), ...(batch.removeAliases ?? [])]) {
    declaredStart(alias.declared);
    assertBlockKey(alias.block);
  }
}

export function captureId({ urlKey, time, place }: Capture): string {
  return `${time} ${place.segment} ${place.offset} ${urlKey}`;
}

export function blockId(key: BlockKey): string {
  return `${toHex(key.digest)}~${key.overflow}`;
}

export function aliasId(alias: Alias): string {
  return `${toHex(declaredStart(alias.declared))} ${blockId(alias.block)}`;
}

export function ownKey(key: BlockKey): BlockKey {
  return { digest: copyOf(key.digest), overflow: key.overflow };
}

function compareCaptures(a: CapturePosition, b: CapturePosition): number {
  return (
    compareRowsOfKeys(a.urlKey, b.urlKey) ||
    a.time - b.time ||
    a.place.segment - b.place.segment ||
    a.place.offset - b.place.offset
  );
}

function isInRange(capture: Capture, range: CaptureRange): boolean {
  const { timeFrom = Number.NEGATIVE_INFINITY, timeTo = Number.POSITIVE_INFINITY, after } = range;
  if (sideOf(capture.urlKey, range) !== 'inside') return false;
  if (capture.time < timeFrom || capture.time > timeTo) return false;
  if (!after) return true;
  const side = sideOf(after.urlKey, range);
  if (side !== 'inside') return side === (range.reverse ? 'above' : 'below');
  return range.reverse ? compareCaptures(capture, after) < 0 : compareCaptures(capture, after) > 0;
}
