/**
 * What a swap moves: the captures, the holders, the dead and the surplus records of segments that were replaced (K1).
 *
 * Where a record was follows from the runs of the old and of the new segment. Only what is there at that moment moves:
 * a capture that was deleted since makes its record a dead one, and a holder that is elsewhere by now stays there. A
 * step that was done before changes nothing.
 */
import { assert, toHex } from '../../base/index.ts';
import type {
  Block,
  BlockKey,
  Capture,
  CaptureQuestion,
  CatalogView,
  CommitGroup,
  DeadRecord,
  Place,
  Segment,
} from '../../catalog/index.ts';
import { namedContent } from '../own-records.ts';
import type { RecordFacts } from '../record-facts.ts';
import type { Runs } from '../runs.ts';
import { runsOf } from './replacement-writer.ts';

/** A record with a member of its own. */
export type PlacedFacts = RecordFacts & { readonly length: number };

export type MovesCatalog = Pick<CatalogView, 'notes' | 'findCaptures' | 'getBlocks' | 'deadRecords' | 'surplusRecords'>;

/** What else moves with a capture, such as notes about its place. */
export type Followers = (
  moves: readonly { readonly from: Capture; readonly to: Capture; readonly facts: RecordFacts }[],
) => Promise<Pick<CommitGroup, 'putNotes' | 'removeNotes'>>;

export type SwapMovesOptions = {
  readonly catalog: MovesCatalog;
  readonly replacement: Segment;
  readonly runs: Runs;
  readonly replaced: readonly Segment[];
  readonly followers?: Followers | undefined;
  /** The replaced segments stay (relocation.ts), so the records that move are dead in them. */
  readonly oldStays?: boolean;
};

type MovedGroup = Required<
  Pick<CommitGroup, 'moves' | 'holderMoves' | 'dead' | 'surplus' | 'referents' | 'putNotes' | 'removeNotes'>
>;

/** A record of the replacement, with the place where it was. */
type Moving = {
  readonly facts: PlacedFacts;
  readonly from: { readonly segment: number; readonly offset: number };
  readonly place: Place;
};

/** A replaced segment with its runs. */
type Before = { readonly segment: Segment; readonly runs: Runs };

export class SwapMoves {
  readonly #options: SwapMovesOptions;
  readonly #before: readonly Before[];
  readonly #dead = new Map<number, Map<number, DeadRecord>>();
  readonly #surplus = new Map<number, Set<number>>();

  static async load(options: SwapMovesOptions): Promise<SwapMoves> {
    const before: Before[] = [];
    for (const segment of options.replaced) before.push({ segment, runs: await runsOf(options.catalog, segment) });
    return new SwapMoves(options, before);
  }

  private constructor(options: SwapMovesOptions, before: readonly Before[]) {
    this.#options = options;
    this.#before = before;
  }

  /**
   * The part of a commit group that moves these records of the replacement. Undefined: a full record that became a
   * revisit holds its content by now, so the replacement must not be used.
   */
  async of(records: readonly PlacedFacts[]): Promise<MovedGroup | undefined> {
    const { followers, oldStays } = this.#options;
    const moving = this.#movingOf(records);
    const captures = await this.#capturesAt(moving);
    const gone = moving.filter((one) => !captures.has(one));
    const moved = await this.#movedBefore(gone);
    const dead = gone.filter((one) => !moved.has(one));
    const deadKeys = await this.#deadKeys(dead);
    const keys = moving.map((one) => captures.get(one)?.block ?? deadKeys.get(one));
    const blocks = await this.#blocks(keys);
    const group: Mutable<MovedGroup> = {
      moves: [],
      holderMoves: [],
      dead: [],
      surplus: [],
      referents: [],
      putNotes: {},
      removeNotes: [],
    };
    const following: { from: Capture; to: Capture; facts: RecordFacts }[] = [];
    const holders: HolderMove[] = [];
    const deadNow = new Map<number, ReadonlyMap<number, DeadRecord>>();
    for (const [index, one] of moving.entries()) {
      const capture = captures.get(one);
      const block = blocks[index];
      const isHolder = block !== undefined && isAt(block.holder, one.from);
      if (capture) {
        const to = movedCapture(capture, one);
        group.moves.push({ from: capture, to });
        // The commit removes the record from the surplus ones too.
        if (oldStays) group.dead.push({ ...capture.place, block: capture.block });
        following.push({ from: capture, to, facts: one.facts });
        if (capture.kind === 'revisit' ? to.kind !== 'revisit' : to.kind === 'revisit') {
          if (to.kind === 'revisit' && (isHolder || !block)) return undefined;
          await this.#change(one, to, block, group, deadNow);
          continue;
        }
      } else if (moved.has(one)) continue;
      else group.dead.push({ ...one.place, block: deadKeys.get(one) });
      if (isHolder) holders.push({ key: block.key, from: block.holder, to: one.place });
      else if (capture && (await this.#isSurplus(one.from)))
        group.surplus.push({ ...one.place, block: capture.block! });
    }
    group.holderMoves = lastOfEach([...holders, ...group.holderMoves]);
    if (followers && following.length > 0) Object.assign(group, await followers(following));
    return group;
  }

  /** The captures of these records that have not moved yet. */
  async found(records: readonly PlacedFacts[]): Promise<{ readonly facts: PlacedFacts; readonly capture: Capture }[]> {
    const captures = await this.#capturesAt(this.#movingOf(records));
    return [...captures].map(([{ facts }, capture]) => ({ facts, capture }));
  }

  #movingOf(records: readonly PlacedFacts[]): Moving[] {
    const { replacement } = this.#options;
    return records.flatMap((facts): Moving[] => {
      const from = facts.kind && this.#oldPlace(facts.offset);
      const { offset, length } = facts;
      return from ? [{ facts, from, place: { segment: replacement.number, offset, length } }] : [];
    });
  }

  /** A revisit that has a content of its own becomes its holder. A full record that became a revisit needs a holder. */
  async #change(
    { place }: Moving,
    to: Capture,
    block: Block | undefined,
    group: Mutable<MovedGroup>,
    deadNow: Map<number, ReadonlyMap<number, DeadRecord>>,
  ): Promise<void> {
    if (!block) return;
    const { key, holder } = block;
    group.referents.push({ key, holder });
    if (to.kind === 'revisit') return;
    group.holderMoves.push({ key, from: holder, to: place });
    // The former holder is a dead record, unless another one was found meanwhile.
    const dead = deadNow.get(holder.segment) ?? (await this.#deadOf(holder.segment, true));
    deadNow.set(holder.segment, dead);
    if (!dead.has(holder.offset)) group.surplus.push({ segment: holder.segment, offset: holder.offset, block: key });
  }

  #oldPlace(offset: number): Moving['from'] | undefined {
    const root = this.#options.runs.rootOf(offset);
    if (!root) return undefined;
    for (const { segment, runs } of this.#before) {
      const found = runs.currentOf(root.root, root.offset);
      if (found?.isSame) return { segment: segment.number, offset: found.offset };
    }
    return undefined;
  }

  async #capturesAt(moving: readonly Moving[]): Promise<Map<Moving, Capture>> {
    const found = new Map<Moving, Capture>();
    const captures = await this.#find(moving.map(({ facts, from }) => questionAt(facts, from)));
    for (const [index, one] of moving.entries()) {
      const capture = captures[index]![0];
      if (capture) found.set(one, capture);
    }
    return found;
  }

  /** Records whose captures an earlier step moved. */
  async #movedBefore(moving: readonly Moving[]): Promise<Set<Moving>> {
    const captures = await this.#find(moving.map(({ facts, place }) => questionAt(facts, place)));
    return new Set(moving.filter((_, index) => captures[index]!.length > 0));
  }

  #find(questions: readonly CaptureQuestion[]): Promise<(readonly Capture[])[]> {
    return questions.length === 0 ? Promise.resolve([]) : this.#options.catalog.findCaptures(questions);
  }

  /** The contents of dead records, as they were when the records died. */
  async #deadKeys(dead: readonly Moving[]): Promise<Map<Moving, BlockKey | undefined>> {
    const keys = new Map<Moving, BlockKey | undefined>();
    for (const [segment, some] of Map.groupBy(dead, ({ from }) => from.segment)) {
      const known = await this.#deadOf(segment);
      const isKnown = some.every(({ from }) => known.has(from.offset));
      const rows = isKnown ? known : await this.#deadOf(segment, true);
      for (const one of some) {
        const row = rows.get(one.from.offset);
        const ownKey = one.facts.kind === 'revisit' ? undefined : namedContent(one.facts);
        keys.set(one, row?.block ?? ownKey);
      }
    }
    return keys;
  }

  /** The dead records of a segment; `isNow`: as they are now. */
  async #deadOf(segment: number, isNow = false): Promise<Map<number, DeadRecord>> {
    let rows = isNow ? undefined : this.#dead.get(segment);
    if (!rows) {
      const found = await this.#options.catalog.deadRecords(segment);
      rows = new Map(found.map((record) => [record.offset, record]));
      this.#dead.set(segment, rows);
    }
    return rows;
  }

  async #isSurplus({ segment, offset }: Moving['from']): Promise<boolean> {
    let offsets = this.#surplus.get(segment);
    if (!offsets) {
      offsets = new Set((await this.#options.catalog.surplusRecords(segment)).map((record) => record.offset));
      this.#surplus.set(segment, offsets);
    }
    return offsets.has(offset);
  }

  async #blocks(keys: readonly (BlockKey | undefined)[]): Promise<(Block | undefined)[]> {
    const found = await this.#options.catalog.getBlocks(keys.filter((key) => key !== undefined));
    const blocks = found.values();
    return keys.map((key) => key && blocks.next().value);
  }
}

type Mutable<Group> = {
  -readonly [Name in keyof Group]: Group[Name] extends readonly (infer Item)[] ? Item[] : Group[Name];
};

type HolderMove = MovedGroup['holderMoves'][number];

/** The last move of the holder of each content: another record of the group may hold the content by now. */
function lastOfEach(moves: readonly HolderMove[]): HolderMove[] {
  return [...new Map(moves.map((move) => [`${toHex(move.key.digest)}~${move.key.overflow}`, move])).values()];
}

/** The capture at its new place. What the record says of itself counts only when the record is of another kind now. */
function movedCapture(capture: Capture, { facts, place }: Moving): Capture {
  assert(facts.kind !== undefined, 'the record of a capture is one of a capture again');
  const isPromoted = capture.kind === 'revisit' && facts.kind !== 'revisit';
  return {
    ...capture,
    place,
    kind: facts.kind,
    ...(isPromoted && { status: facts.status, mime: facts.mime }),
  };
}

function questionAt({ urlKey, time }: RecordFacts, { segment, offset }: Moving['from']): CaptureQuestion {
  return { urlKey, time: time!, at: { segment, offset } };
}

function isAt(place: Place, from: Moving['from']): boolean {
  return place.segment === from.segment && place.offset === from.offset;
}
