/**
 * Makes commit groups of records that are in one of our own segments and not yet in the catalog: after the death of a
 * writer, in an adoption, in a rebuild. The groups have all the checks of a writer's commit: C3 for the contents that
 * revisits refer to, C5 for captures that are known or were deleted, D3 for what is barred.
 *
 * A full record enters its content, and its capture. A revisit that names its content by the digest of the payload, as
 * all of ours do, enters its capture when the content is held, or is in this group before it. Other revisits are
 * foreign: the archive resolves them by what it knows of them (`ForeignRevisits`). A deletion record enters its marks
 * and bars; the captures that have them are deleted afterwards (see pending-deletions.ts).
 */
import { equal, isDigestOfNothing, parseDigest, toHex } from '../base/index.ts';
import type {
  Alias,
  Bar,
  Block,
  BlockKey,
  Capture,
  CommitGroup,
  Mark,
  NewBlock,
  NewCapture,
  Place,
  SharedCatalogView,
} from '../catalog/index.ts';
import { marksOf } from './mark.ts';
import type { RecordFacts } from './record-facts.ts';
import type { SegmentRecord } from './segment-records.ts';

/** What the archive knows of foreign revisits and of declared digests. */
export interface ForeignRevisits {
  /** The contents of these revisits, in order; undefined for one that is not known. */
  resolve(revisits: readonly RecordFacts[]): Promise<(BlockKey | undefined)[]>;
  /** What else is entered with a record: aliases of its content, clues of a revisit that is not resolved. */
  entriesOf(facts: RecordFacts, place: Place, block: BlockKey | undefined): ForeignEntries;
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
   * content, as in a rebuild, where its content may be in a volume that is missing.
   */
  readonly unresolved: 'refuse' | 'enter';
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

type Draft = {
  readonly captures: NewCapture[];
  readonly blocks: NewBlock[];
  readonly referents: Map<string, NonNullable<CommitGroup['referents']>[number]>;
  readonly aliases: Alias[];
  readonly putNotes: Record<string, string>;
  readonly refused: SegmentRecord[];
  readonly records: SegmentRecord[];
};

/** The group of these records, in their order, by what the catalog answers now. */
export async function ownGroup(
  catalog: Pick<SharedCatalogView, 'findBlocks'>,
  records: readonly SegmentRecord[],
  options: OwnRecordsOptions,
): Promise<OwnGroup> {
  const { segment, foreign, unresolved, fingerprint = (digest) => digest } = options;
  const captures = records.filter(({ facts }) => facts.kind !== undefined);
  const named = captures.map(({ facts }) => namedContent(facts, fingerprint));
  const held = await catalog.findBlocks(named.map((key) => key?.digest ?? NO_DIGEST));
  const unnamed = captures.filter((_, index) => !named[index]).map(({ facts }) => facts);
  const resolved = unnamed.length > 0 && foreign ? await foreign.resolve(unnamed) : [];
  const foreignKeys = new Map(unnamed.map((facts, index) => [facts, resolved[index]]));
  const foreignHeld = await heldBlocks(catalog, resolved);
  const draft: Draft = {
    captures: [],
    blocks: [],
    referents: new Map(),
    aliases: [],
    putNotes: {},
    refused: [],
    records: [],
  };
  for (const [index, record] of captures.entries()) {
    const { facts } = record;
    const place = { segment, offset: facts.offset, length: facts.length };
    let block: BlockKey | undefined;
    if (facts.kind !== 'revisit') {
      block = ownBlock(facts, named[index]!, held[index]!, draft);
      draft.blocks.push({ key: block, size: facts.payloadBytes, holder: place });
    } else if (named[index]) block = referTo(named[index], held[index]!, draft);
    else {
      const key = foreignKeys.get(facts);
      block = key && referTo(key, foreignHeld.get(idOf(key)) ?? [], draft);
    }
    if (facts.kind === 'revisit' && !block && unresolved === 'refuse' && named[index]) {
      draft.refused.push(record);
      continue;
    }
    const capture = captureOf(facts, place, options.collection, block);
    draft.captures.push({ capture, marks: marksOf(capture, options.collectionName) });
    draft.records.push(record);
    const { aliases = [], putNotes = {} } = foreign?.entriesOf(facts, place, block) ?? {};
    draft.aliases.push(...aliases);
    Object.assign(draft.putNotes, putNotes);
  }
  const deletions = records.flatMap(({ deletion }) => deletion?.deletion ?? []);
  return {
    ...draft,
    referents: [...draft.referents.values()],
    deletedMarks: deletions.flatMap(({ marks }) => marks),
    bars: deletions.flatMap(({ bars }) => bars),
  };
}

/** Never the digest of a content that a revisit names. */
const NO_DIGEST = new Uint8Array(32);

async function heldBlocks(
  catalog: Pick<SharedCatalogView, 'findBlocks'>,
  keys: readonly (BlockKey | undefined)[],
): Promise<Map<string, Block[]>> {
  const wanted = keys.filter((key) => key !== undefined);
  if (wanted.length === 0) return new Map();
  const found = await catalog.findBlocks(wanted.map(({ digest }) => digest));
  return new Map(wanted.map((key, index) => [idOf(key), found[index]!]));
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

/** The content of a full record. A content of another size with the same digest is another content (I7). */
function ownBlock(facts: RecordFacts, named: BlockKey, held: readonly Block[], draft: Draft): BlockKey {
  const sameDigest = [...held, ...draft.blocks.filter(({ key }) => equal(key.digest, named.digest))];
  const isOther = ({ key, size }: Pick<Block, 'key' | 'size'>) =>
    key.overflow === named.overflow && size !== facts.payloadBytes;
  if (!sameDigest.some(isOther)) return named;
  const same = sameDigest.find(({ size }) => size === facts.payloadBytes);
  if (same) return same.key;
  return { digest: named.digest, overflow: Math.max(...sameDigest.map(({ key }) => key.overflow)) + 1 };
}

/** The content that a revisit refers to, if it is held or is in this group before the revisit (C3). */
function referTo(named: BlockKey, held: readonly Block[], draft: Draft): BlockKey | undefined {
  const id = idOf(named);
  if (draft.blocks.some(({ key }) => idOf(key) === id)) return named;
  const block = held.find(({ key }) => key.overflow === named.overflow);
  if (block) draft.referents.set(id, { key: block.key, holder: block.holder });
  return block?.key;
}

function idOf({ digest, overflow }: BlockKey): string {
  return `${toHex(digest)}~${overflow}`;
}

function captureOf(facts: RecordFacts, place: Place, collection: number, block: BlockKey | undefined): Capture {
  const { urlKey, time, url, kind, status, mime, hash } = facts;
  return { urlKey, time: time!, place, url, kind: kind!, collection, status, mime, block, hash };
}
