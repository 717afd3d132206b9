/**
 * Makes commit groups of records that are in one of our own segments and not yet in the catalog: after the death of a
 * writer, in an adoption, in a rebuild. The groups have all the checks of a writer's commit: C3 for the contents that
 * revisits refer to, C5 for captures that are known or were deleted, D3 for what is barred.
 *
 * A full record enters its content, and its capture. A revisit that names its content by the digest of the payload, as
 * all of ours do, enters its capture when the content is held, or is in this group before it. Other revisits are
 * foreign: the archive resolves them by what it knows of them (`ForeignRevisits`). A deletion record enters its marks
 * and bars. Of a record whose capture was deleted only the content is entered, since others may refer to it.
 */
import { fromLatin1, isDigestOfNothing, parseDigest } from '../base/index.ts';
import type {
  Alias,
  Bar,
  Block,
  BlockKey,
  Capture,
  CatalogView,
  CommitGroup,
  Mark,
  NewBlock,
  NewCapture,
  Place,
} from '../catalog/index.ts';
import { OutsideCapture } from './commit/commit.ts';
import type { RecordFacts } from './record-facts.ts';
import type { SegmentRecord } from './segment-records.ts';

/** What the archive knows of foreign revisits and of declared digests. */
export interface ForeignRevisits {
  /** Looks up everything that is needed to resolve these revisits, which are in one group with these contents. */
  load(revisits: readonly RecordFacts[], contents: readonly Uint8Array[]): Promise<ForeignGroup>;
  /** What else is entered with a record: aliases of its content, clues of a revisit that is not resolved. */
  entriesOf(facts: RecordFacts, place: Place, block: BlockKey | undefined, isDead: boolean): ForeignEntries;
}

/** Foreign revisits of one group. Each may refer to a record that is in the group before it. */
export interface ForeignGroup {
  /** Called with the record of each capture, in order. `added`: the content that the record adds. */
  enter(capture: Capture, added: NewBlock | undefined, aliases: readonly Alias[]): void;
  /** The content of a revisit. Undefined: it is not known. */
  resolve(facts: RecordFacts): Promise<Pick<Block, 'key' | 'holder'> | undefined>;
}

export type ForeignEntries = {
  readonly aliases?: readonly Alias[];
  readonly putNotes?: Readonly<Record<string, string>>;
};

export type OwnRecordsOptions = {
  readonly segment: number;
  readonly collection: number;
  readonly collectionName: string;
  /** The digest by which a content is known. Another one than its SHA-256 only in tests of collisions. */
  readonly fingerprint?: ((digest: Uint8Array) => Uint8Array) | undefined;
  readonly foreign?: ForeignRevisits | undefined;
  /**
   * What becomes of a revisit whose content is not held. `refuse`: it is not entered. `enter`: it is entered without a
   * content, which may be in a segment that is read later, or in a volume that is missing.
   */
  readonly unresolved: 'refuse' | 'enter';
  /** Full records of contents that are held are surplus, unless they are kept in full on purpose. */
  readonly duplicatesAre?: 'surplus' | 'spare' | undefined;
  /** Whether a record that occurs twice is two captures, as in files of others. */
  readonly mayRepeat?: boolean | undefined;
  /** Whether the catalog certainly does not have a capture, so that it need not look. */
  readonly isNew?: ((capture: Capture) => boolean) | undefined;
  /** Records whose captures are not entered. */
  readonly dead?: ReadonlySet<SegmentRecord> | undefined;
};

/** The parts of a commit group that records make. */
export type OwnGroup = {
  readonly captures: readonly NewCapture[];
  readonly blocks: readonly NewBlock[];
  readonly referents: NonNullable<CommitGroup['referents']>;
  readonly deletedMarks: readonly Mark[];
  readonly bars: readonly Bar[];
  readonly aliases: readonly Alias[];
  readonly putNotes: Readonly<Record<string, string>>;
  /** Revisits without a content that is held, of which nothing is entered. */
  readonly refused: readonly SegmentRecord[];
  /** For each capture of `captures`, its record. */
  readonly records: readonly SegmentRecord[];
};

/** The group of these records, in their order, by what the catalog answers now. */
export async function ownGroup(
  catalog: Pick<CatalogView, 'findBlocks' | 'findBarred'>,
  records: readonly SegmentRecord[],
  options: OwnRecordsOptions,
): Promise<OwnGroup> {
  const captures = records.filter(({ facts }) => facts.kind !== undefined);
  const named = captures.map(({ facts }) => namedContent(facts, options.fingerprint));
  const held = await catalog.findBlocks(named.map((key) => key?.digest ?? NO_DIGEST));
  const draft = new GroupDraft(options);
  for (const blocks of held) draft.hold(blocks);
  if (options.foreign) {
    const full = captures.flatMap(({ facts }, index) => (facts.kind === 'revisit' ? [] : [named[index]!.digest]));
    const inGroup = new Set(full.map(idOf));
    const isClear = (key: BlockKey | undefined) =>
      key !== undefined && (options.unresolved === 'refuse' || inGroup.has(idOf(key.digest)) || draft.find(key));
    const unclear = captures.flatMap(({ facts }, index) =>
      facts.kind === 'revisit' && !isClear(named[index]) ? [facts] : [],
    );
    if (unclear.length > 0) await draft.loadForeign(options.foreign, unclear, full);
  }
  for (const [index, record] of captures.entries()) await draft.enter(record, named[index]);
  return draft.finish(catalog, records);
}

/** Never the digest of a content that a revisit names. */
const NO_DIGEST = new Uint8Array(32);

type HeldBlock = Pick<Block, 'key' | 'size' | 'holder'>;

class GroupDraft {
  #foreign: ForeignGroup | undefined;
  #unclear: ReadonlySet<RecordFacts> = new Set();
  readonly #options: OwnRecordsOptions;
  /** The contents that the catalog has, and those of the group so far, by digest. */
  readonly #contents = new Map<string, HeldBlock[]>();
  readonly #isNew = new Set<HeldBlock>();
  readonly #referents = new Set<HeldBlock>();
  readonly #captures: NewCapture[] = [];
  readonly #blocks: NewBlock[] = [];
  readonly #aliases: Alias[] = [];
  readonly #putNotes: Record<string, string> = {};
  readonly #refused: SegmentRecord[] = [];
  readonly #records: SegmentRecord[] = [];
  /** Revisits without a content, and the contents that they name. */
  readonly #unresolved: { readonly record: SegmentRecord; readonly entered: Capture; readonly block: BlockKey }[] = [];

  constructor(options: OwnRecordsOptions) {
    this.#options = options;
  }

  /** Looks up what is known of revisits of which the catalog does not have the content that they name. */
  async loadForeign(
    foreign: ForeignRevisits,
    unclear: readonly RecordFacts[],
    contents: readonly Uint8Array[],
  ): Promise<void> {
    this.#unclear = new Set(unclear);
    this.#foreign = await foreign.load(unclear, contents);
  }

  hold(blocks: readonly Block[]): void {
    const [first] = blocks;
    if (first) this.#contents.set(idOf(first.key.digest), [...blocks]);
  }

  find({ digest, overflow }: BlockKey): HeldBlock | undefined {
    return this.#contents.get(idOf(digest))?.find(({ key }) => key.overflow === overflow);
  }

  async enter(record: SegmentRecord, named: BlockKey | undefined): Promise<void> {
    const { facts } = record;
    const { segment, collection, collectionName, unresolved, foreign, dead, isNew } = this.#options;
    const place = { segment, offset: facts.offset, length: facts.length };
    const isDead = dead?.has(record) ?? false;
    let added: NewBlock | undefined;
    let block: BlockKey | undefined;
    if (facts.kind !== 'revisit') {
      added = this.#addContent(facts, named!, place);
      block = added.key;
    } else {
      const held =
        (named && this.find(named)) ?? (this.#unclear.has(facts) ? await this.#foreign?.resolve(facts) : undefined);
      if (isDead) block = held?.key ?? named;
      else block = held && this.#referTo(held);
      if (!block && named && unresolved === 'refuse') {
        this.#refused.push(record);
        return;
      }
    }
    const capture = captureOf(facts, place, collection, block);
    const mayRepeat = this.#options.mayRepeat || (!isDead && isNew?.(capture));
    const { aliases = [], putNotes } = foreign?.entriesOf(facts, place, block, isDead) ?? {};
    this.#aliases.push(...aliases);
    Object.assign(this.#putNotes, putNotes);
    if (isDead) return;
    this.#captures.push(new OutsideCapture(capture, { collectionName, mayRepeat: mayRepeat ?? false }));
    this.#records.push(record);
    if (!block && named) this.#unresolved.push({ record, entered: capture, block: named });
    this.#foreign?.enter(capture, added, aliases);
  }

  /** Revisits of contents that are barred are refused too, although they do not bring the content back (D3). */
  async finish(catalog: Pick<CatalogView, 'findBarred'>, records: readonly SegmentRecord[]): Promise<OwnGroup> {
    const unresolved = this.#unresolved;
    const asked = unresolved.map(({ entered, block }) => ({ urlKey: entered.urlKey, block }));
    const isBarred = asked.length > 0 ? await catalog.findBarred(asked) : [];
    const deletions = records.flatMap(({ deletion }) => deletion?.deletion ?? []);
    return {
      captures: this.#captures,
      blocks: this.#blocks,
      referents: [...this.#referents],
      deletedMarks: deletions.flatMap(({ marks }) => marks),
      bars: deletions.flatMap(({ bars }) => bars),
      aliases: this.#aliases,
      putNotes: this.#putNotes,
      refused: [...this.#refused, ...unresolved.flatMap(({ record }, index) => (isBarred[index] ? [record] : []))],
      records: this.#records,
    };
  }

  /** The content of a full record. A content of another size with the same digest is another content (I7). */
  #addContent(facts: RecordFacts, named: BlockKey, holder: Place): NewBlock {
    const { digest } = named;
    const id = idOf(digest);
    const same = this.#contents.get(id) ?? [];
    const size = facts.payloadBytes;
    const found = same.find(({ key }) => key.overflow === named.overflow);
    let key = found?.key ?? named;
    if (found && found.size !== size) {
      const other = same.find((block) => block.size === size);
      key = other?.key ?? { digest, overflow: Math.max(...same.map((block) => block.key.overflow)) + 1 };
    }
    const isHeld = same.some((block) => block.key === key);
    const isSpare = isHeld && this.#options.duplicatesAre === 'spare';
    const added: NewBlock = { key, size, holder, ...(isSpare && { isSpare }) };
    this.#blocks.push(added);
    if (isHeld) return added;
    this.#contents.set(id, [...same, added]);
    this.#isNew.add(added);
    return added;
  }

  /** The content that a revisit refers to. The commit checks one that is not in this group (C3). */
  #referTo(block: Pick<Block, 'key' | 'holder'>): BlockKey {
    const held = this.find(block.key);
    if (held && this.#isNew.has(held)) return held.key;
    if (held) this.#referents.add(held);
    else {
      const found = { ...block, size: 0 };
      this.#contents.set(idOf(block.key.digest), [found]);
      this.#referents.add(found);
    }
    return block.key;
  }
}

function idOf(digest: Uint8Array): string {
  return fromLatin1(digest);
}

/**
 * The content that a record has or names: by its payload, or, for one of our own revisits, by the name or the SHA-256
 * that the revisit gives.
 */
export function namedContent(
  facts: RecordFacts,
  fingerprint: (digest: Uint8Array) => Uint8Array = (digest) => digest,
): BlockKey | undefined {
  if (facts.kind !== 'revisit') return { digest: fingerprint(facts.payloadDigest), overflow: facts.overflow };
  const written = /^([0-9a-f]{64})~(\d{1,9})$/.exec(facts.content);
  if (written) return { digest: Uint8Array.from(Buffer.from(written[1]!, 'hex')), overflow: Number(written[2]) };
  const declared = parseDigest(facts.declaredDigest);
  if (declared?.algorithm !== 'sha256' || isDigestOfNothing(declared)) return undefined;
  return { digest: fingerprint(declared.bytes), overflow: facts.overflow };
}

function captureOf(facts: RecordFacts, place: Place, collection: number, block: BlockKey | undefined): Capture {
  const { urlKey, time, url, kind, status, mime, hash } = facts;
  return { urlKey, time: time!, place, url, kind: kind!, collection, status, mime, block, hash };
}
