/**
 * The decisions of compaction, made only from the arguments: which capture becomes the holder of a content, which
 * revisits have to name another record, and what happens to the records of one segment. Nothing here reads a file or
 * the catalog.
 */
import type { BlockKey, Capture } from '../../catalog/index.ts';
import type { RecordHead } from '../../warc/index.ts';
import { blockId } from '../revisit/catalog-draft.ts';
import type { Referent } from '../revisit/referent.ts';
import type { DeletedRecord } from '../segment/deleted-records.ts';

/** What happens to the records of one segment when it is written anew. All other records are copied. */
export type RewritePlan = {
  /** Offsets of the records to remove. */
  readonly drop: ReadonlySet<number>;
  /** Deleted records that stay for now because others still refer to them, by their offsets. */
  readonly keepDead: ReadonlyMap<number, DeletedRecord>;
  /** Offsets of revisits that become holders, each with the content that it gets. */
  readonly promote: ReadonlyMap<number, BlockKey>;
  /** Offsets of revisits that get another referent. */
  readonly repoint: ReadonlyMap<number, Referent>;
  /** Offsets of full records that become revisits, each with the parts of its revisit. */
  readonly share: ReadonlyMap<number, readonly Uint8Array[]>;
};

/** The changes that one step of compaction requests for a segment. The plan contains those that are still possible. */
export type RewriteWish = {
  readonly drop?: Iterable<number>;
  readonly promote?: ReadonlyMap<number, BlockKey>;
  readonly repoint?: ReadonlyMap<number, Referent>;
  readonly share?: ReadonlyMap<number, readonly Uint8Array[]>;
  /** Contents whose deleted records stay for now, since revisits in other segments may still point at these records. */
  readonly mayBePointedAt?: ReadonlyMap<string, BlockKey>;
};

/** The deleted records of a segment at the moment of planning. */
export type DeadRecords = {
  /** The deleted records by their offsets. */
  readonly deleted: ReadonlyMap<number, DeletedRecord>;
  /** Offsets of the deleted records that the catalog still names as holders. */
  readonly holding: ReadonlySet<number>;
};

/** The plan for a segment. Undefined when nothing of the wish is left to do. */
export function planRewrite({ deleted, holding }: DeadRecords, wish: RewriteWish): RewritePlan | undefined {
  const drop = new Set<number>();
  for (const offset of wish.drop ?? []) {
    const record = deleted.get(offset);
    const isPointedAt = record?.block && wish.mayBePointedAt?.has(blockId(record.block));
    if (record && !holding.has(offset) && !isPointedAt) drop.add(offset);
  }
  // A record that was deleted since the wish was made stays as it is.
  const isLive = ([offset]: [number, unknown]) => !deleted.has(offset);
  const promote = new Map([...(wish.promote ?? [])].filter(isLive));
  const repoint = new Map([...(wish.repoint ?? [])].filter(isLive));
  const share = new Map([...(wish.share ?? [])].filter(isLive));
  if (drop.size + promote.size + repoint.size + share.size === 0) return undefined;
  const keepDead = new Map([...deleted].filter(([offset]) => !drop.has(offset)));
  return { drop, keepDead, promote, repoint, share };
}

/** Chooses new holders for contents whose holders are deleted. */
export class HolderChoice {
  readonly #chosen = new Map<string, Capture>();

  /**
   * `isRewritable`: whether the segment of the capture can be written anew. Otherwise a revisit in it cannot be
   * promoted.
   */
  consider(content: string, capture: Capture, isRewritable: boolean): void {
    if (capture.kind === 'revisit' && !isRewritable) return;
    const other = this.#chosen.get(content);
    if (!other || isBetterHolder(capture, other)) this.#chosen.set(content, capture);
  }

  /** The chosen full records, each with its content. They have the payload, so only the catalog changes. */
  appointments(): [content: string, capture: Capture][] {
    return [...this.#chosen].filter(([, { kind }]) => kind !== 'revisit');
  }

  /** Revisits that are written anew with the payload: by segment number, the content for each offset. */
  promotions(): Map<number, Map<number, BlockKey>> {
    const bySegment = new Map<number, Map<number, BlockKey>>();
    for (const { kind, place, block } of this.#chosen.values()) {
      if (kind !== 'revisit') continue;
      const promotions = bySegment.get(place.segment) ?? new Map<number, BlockKey>();
      promotions.set(place.offset, block!);
      bySegment.set(place.segment, promotions);
    }
    return bySegment;
  }
}

/** Whether `capture` has a better rank than `other`, or the same rank and is earlier. */
function isBetterHolder(capture: Capture, other: Capture): boolean {
  return rank(capture) < rank(other) || (rank(capture) === rank(other) && capture.time < other.time);
}

/** Full records first, then revisits with a head of their own, then revisits that only say "not modified". */
function rank({ kind, status }: Capture): number {
  if (kind !== 'revisit') return 0;
  return status === 304 ? 2 : 1;
}

/** Whether a revisit names this record already, by URI and date. */
export function pointsAt(head: RecordHead, referent: Referent): boolean {
  return (
    head.get('warc-refers-to-target-uri') === referent.refersToTargetUri &&
    head.get('warc-refers-to-date') === referent.refersToDate
  );
}
