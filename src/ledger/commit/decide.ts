/**
 * Decides what becomes of a content: the one decision of the archive (I11), whichever way the content arrives. A store,
 * an add and a heal call it, and so does everyone else who writes a full record.
 *
 * The equal block is a block of the same digest that counts as the same content (I7):
 *
 * ```
 *   store mode regular     the same size; the block without an overflow number first
 *   store mode compare     the same bytes
 *   store mode force-new   none
 *   record with a number   the same size and this overflow number
 * ```
 *
 * The first row that is true decides:
 *
 * ```
 *   the server says that a held block is unmodified              revisit of that block
 *   no equal block, and no block of its digest                   new
 *   no equal block, but others of its digest                     collision: a new block with another number
 *   the holder of the equal block cannot be read                 lost: the full record becomes the holder
 *   the record or its size does not allow a revisit              held: a full record besides the holder
 *   a revisit would not be smaller than the full record          held
 *   otherwise                                                    revisit
 * ```
 * Some of these facts have to be read or compared first. While such a fact is missing, the answer is a question. The
 * caller finds out, and decides again with the fact.
 *
 * A record that is copied keeps its head, so a full record without an overflow number is the first content of its
 * digest. When the equal block has a number and there is no first content, the record becomes the first (`new`).
 */
import type { Block } from '../../catalog/index.ts';
import { UNSHARED_BYTES_MAX } from '../../warc/index.ts';

/** `regular`: same digest and size; `compare`: same bytes; `force-new`: never. */
export type StoreMode = 'regular' | 'compare' | 'force-new';

/** What is known of a content that arrives. */
export type ContentFacts = {
  /** Bytes of the payload. */
  readonly size: number;
  /** The blocks of its digest, with those of this commit. */
  readonly blocks: readonly Block[];
  readonly mode?: StoreMode;
  /**
   * The overflow number in the head of a record that is kept as it is; 0 when it has none. Undefined: the record is
   * still to be written, with the number of its block.
   */
  readonly number?: number;
  /** Whether the record can become a revisit. */
  readonly isShareable: boolean;
  /** Smaller payloads are not shared, by the policy of the archive. */
  readonly sharedBytesMin: number;
  /** The held block that the server says is unmodified. */
  readonly unmodified?: Block | undefined;
  /** The block with the same bytes, after the blocks were compared. */
  readonly same?: Block | 'none' | undefined;
  /** Whether the holder of the equal block can be read. Undefined: not known yet. */
  readonly isReadable?: boolean | undefined;
  /** Whether a revisit is smaller than the full record. Undefined: not known yet. */
  readonly isWorth?: boolean | undefined;
};

export type Decision =
  /** A full record, which holds a content that the archive does not have. `collision`: another has its digest. */
  | { readonly kind: 'new' | 'collision'; readonly overflow: number }
  | { readonly kind: 'held' | 'lost' | 'revisit'; readonly block: Block };

/** A fact that the decision needs. */
export type Question =
  | { readonly kind: 'same?'; readonly blocks: readonly Block[] }
  | { readonly kind: 'readable?' | 'worth?'; readonly block: Block };

const NEW: Decision = { kind: 'new', overflow: 0 };

export function decide(facts: ContentFacts): Decision | Question {
  const { blocks, unmodified } = facts;
  if (unmodified) return { kind: 'revisit', block: unmodified };
  if (blocks.length === 0) return facts.number ? { kind: 'new', overflow: facts.number } : NEW;
  if (facts.mode === 'compare' && facts.same === undefined) {
    const candidates = blocks.filter(({ size }) => size === facts.size);
    if (candidates.length > 0) return { kind: 'same?', blocks: candidates };
  }
  const block = equalBlock(facts);
  if (!block) return beside(facts);
  if (facts.isReadable === false) return { kind: 'lost', block };
  if (mayBeShared(facts)) {
    if (facts.isReadable === undefined) return { kind: 'readable?', block };
    if (facts.isWorth === undefined) return { kind: 'worth?', block };
    if (facts.isWorth) return { kind: 'revisit', block };
  }
  const becomesFirst = facts.number === 0 && block.key.overflow > 0 && !hasNumber(blocks, 0);
  return becomesFirst ? NEW : { kind: 'held', block };
}

/** The block that counts as the same content. In mode compare, only after the blocks were compared. */
function equalBlock({ mode, blocks, size, number = 0, same }: ContentFacts): Block | undefined {
  if (mode === 'force-new') return undefined;
  if (mode === 'compare') return same === 'none' ? undefined : same;
  if (number > 0) return blocks.find((block) => block.key.overflow === number && block.size === size);
  const first = blocks.find(({ key }) => key.overflow === 0);
  return first?.size === size ? first : blocks.find((block) => block.size === size);
}

/** Whether the record and its size allow a revisit. Whether one is worth writing depends on its head too. */
function mayBeShared({ isShareable, mode, size, sharedBytesMin }: ContentFacts): boolean {
  return isShareable && mode !== 'force-new' && size > UNSHARED_BYTES_MAX && size >= sharedBytesMin;
}

/** A content whose digest other contents have. */
function beside({ blocks, number }: ContentFacts): Decision {
  if (number !== undefined && !hasNumber(blocks, number)) return { kind: 'collision', overflow: number };
  return { kind: 'collision', overflow: Math.max(...blocks.map(({ key }) => key.overflow)) + 1 };
}

function hasNumber(blocks: readonly Block[], number: number): boolean {
  return blocks.some(({ key }) => key.overflow === number);
}
