/**
 * What a catalog in memory holds, and its answers: maps, searched from end to end. Nothing is kept incrementally:
 * totals and references are counted for each call.
 */
import { compare, copyOf, type EpochMs, toHex, utf8 } from '../base/index.ts';
import type { UrlKey } from '../url/index.ts';
import { compareBlockKeys } from './block-order.ts';
import {
  type Alias,
  type Bar,
  type Block,
  type BlockKey,
  type Capture,
  type CapturePosition,
  type CaptureQuestion,
  type CaptureRange,
  type CatalogView,
  type DeadRecord,
  FEW_CAPTURES,
  type Mark,
  type Segment,
  type SurplusRecord,
  type Totals,
} from './catalog.ts';
import { ALIAS_CANDIDATES_MAX, declaredStart } from './declared-digest.ts';
import { compareRowsOfKeys } from './key-order.ts';
import { sideOf } from './key-range.ts';

const PAGE_SIZE = 1000;

export type HeldLease = { epoch: number; holder: string; expires: number | undefined };

/** All that a catalog in memory holds. */
export type MemoryContents = {
  readonly captures: Map<string, Capture>;
  /** Without their references, which are counted when a block is asked for. */
  readonly blocks: Map<string, Block>;
  readonly segments: Map<number, Segment>;
  readonly aliases: Map<string, Alias>;
  readonly notes: Map<string, string>;
  readonly dead: Map<number, Map<number, DeadRecord>>;
  readonly surplus: Map<number, Map<number, SurplusRecord>>;
  readonly deletedMarks: Set<string>;
  readonly bars: Map<string, Bar>;
  readonly leases: Map<string, HeldLease>;
  nextNumber: number;
  nextSequence: number;
  nextCollection: number;
  incarnation: number;
  isAdopting: boolean;
  batches: number;
};

export class MemoryView implements CatalogView {
  protected contents: MemoryContents;

  constructor(contents: MemoryContents) {
    this.contents = contents;
  }

  async findBlocks(digests: readonly Uint8Array[]): Promise<Block[][]> {
    const blocks = this.#sortedBlocks();
    const found = digests.map((digest) => blocks.filter((block) => compare(block.key.digest, digest) === 0));
    const counted = this.#counted(found.flat());
    return found.map(({ length }) => counted.splice(0, length));
  }

  async getBlocks(keys: readonly BlockKey[]): Promise<(Block | undefined)[]> {
    const found = keys.map((key) => this.contents.blocks.get(blockId(key)));
    const counted = this.#counted(found.filter((block) => block !== undefined));
    return found.map((block) => block && counted.shift());
  }

  async countReferences(keys: readonly BlockKey[]): Promise<number[]> {
    return (await this.getBlocks(keys)).map((block) => block?.references ?? 0);
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
    for (let at = 0; at < blocks.length; at += pageSize) yield this.#counted(blocks.slice(at, at + pageSize));
  }

  async segments(): Promise<Segment[]> {
    return [...this.contents.segments.values()].sort((a, b) => a.number - b.number);
  }

  async segment(number: number): Promise<Segment | undefined> {
    return this.contents.segments.get(number);
  }

  async segmentByName(name: string): Promise<Segment | undefined> {
    return [...this.contents.segments.values()].find((segment) => segment.name === name);
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

  async findDeleted(marks: readonly Mark[]): Promise<boolean[]> {
    return marks.map((mark) => this.contents.deletedMarks.has(toHex(mark)));
  }

  async findBarred(captures: readonly Pick<Capture, 'urlKey' | 'block'>[]): Promise<boolean[]> {
    return captures.map((capture) => isBarred(this.contents, capture));
  }

  async bars(): Promise<Bar[]> {
    return [...this.contents.bars.values()];
  }

  async deadRecords(segment: number): Promise<DeadRecord[]> {
    return byOffset(this.contents.dead.get(segment));
  }

  async surplusRecords(segment: number): Promise<SurplusRecord[]> {
    return byOffset(this.contents.surplus.get(segment));
  }

  #counted(blocks: readonly Block[]): Block[] {
    const counts = new Map(blocks.map(({ key }) => [blockId(key), 0]));
    for (const { block } of this.contents.captures.values()) {
      const count = block && counts.get(blockId(block));
      if (count !== undefined) counts.set(blockId(block!), count + 1);
    }
    return blocks.map((block) => ({ ...block, references: counts.get(blockId(block.key))! }));
  }

  #sortedCaptures(): Capture[] {
    return [...this.contents.captures.values()].sort(compareCaptures);
  }

  #sortedBlocks(): Block[] {
    return [...this.contents.blocks.values()].sort((a, b) => compareBlockKeys(a.key, b.key));
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

export function barId(bar: Bar): string {
  return bar.kind === 'content' ? `content ${toHex(bar.digest)}` : `url ${bar.urlKey}`;
}

export function isBarred({ bars }: MemoryContents, { urlKey, block }: Pick<Capture, 'urlKey' | 'block'>): boolean {
  if (block && bars.has(barId({ kind: 'content', digest: block.digest }))) return true;
  return bars.has(barId({ kind: 'url', urlKey }));
}

function byOffset<Row extends { readonly offset: number }>(rows: Map<number, Row> | undefined): Row[] {
  return [...(rows?.values() ?? [])].sort((a, b) => a.offset - b.offset);
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
