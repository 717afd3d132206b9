/**
 * Redoes swaps that the catalog lost when it went back (H2): the note in the volume says that a segment was replaced,
 * and the catalog has the replaced one.
 *
 * 1. `enterReplacement`: the records of the replacement are entered. A capture that the catalog has in a replaced
 *    segment moves, and the content that it holds with it. Other records are entered under the checks of a commit, as
 *    in healing (C3, C5, D3); what is refused is a dead record.
 * 2. Deletions are carried out. Captures that the replacement left out were deleted or relocated before it was written.
 * 3. `endSwaps`: contents that were held in a replaced segment get another holder, and the rows of these
 *    segments go, unless a capture is left in one. The next holder of the compaction lease removes the objects.
 *
 * Records that were relocated before a segment was replaced are in other segments that a compactor wrote. These are
 * entered in the same way, after the replacements.
 *
 * Each step can be done again.
 */
import { equal, toHex } from '../../base/index.ts';
import type { BlockKey, Capture, CommitGroup, CommitOutcome, Lease, Place, Segment } from '../../catalog/index.ts';
import { askAgain } from '../ask-again.ts';
import { commitCounted } from '../counters.ts';
import { namedContent, ownGroup } from '../own-records.ts';
import { RELOCATING_NOTE } from '../replacement/relocation.ts';
import { REPLACED_NOTE, SWAPPING_NOTE } from '../replacement/swap.ts';
import { RUNS_NOTE } from '../runs.ts';
import { type SegmentRecord, segmentRecords } from '../segment-records.ts';
import { sealedBytes } from '../segment-store.ts';
import type { HealingOptions } from './heal.ts';

/** Records that one commit enters. */
const RECORDS_MAX = 500;
/** Each try fails only because another process changed what the group refers to. */
const TRIES_MAX = 1000;

/** A segment in a volume that a compactor wrote, with its row. */
export type LostSegment = { readonly replacement: Segment; readonly bytes: number };
/** With the rows of the segments that it replaced. */
export type LostSwap = LostSegment & { readonly replaced: readonly Segment[] };

type Options = Omit<HealingOptions, 'lease'> & { readonly lease: Lease };

type Move = NonNullable<CommitGroup['moves']>[number];
type HolderMove = NonNullable<CommitGroup['holderMoves']>[number];

/**
 * Enters the records of a segment, of which the catalog has captures in the replaced ones: of all lost swaps, since a
 * record may have been relocated before. Returns its row, sealed. Undefined: the lease was lost.
 */
export async function enterReplacement(
  options: Options,
  { replacement, bytes }: LostSegment,
  replaced: readonly Segment[],
): Promise<Segment | undefined> {
  const { name, volume } = replacement;
  const content = sealedBytes(name, bytes);
  const store = options.stores.get(volume);
  let row = replacement;
  if (row.state === 'sealed') return row;
  let records: SegmentRecord[] = [];
  const enter = async () => {
    const entered = records.length > 0 ? await enterRecords(options, row, replaced, records) : row;
    if (entered) row = entered;
    records = [];
    await options.onStep?.();
    return entered !== undefined;
  };
  for await (const record of segmentRecords(store, content, row.bytes, bytes)) {
    records.push(record);
    if (records.length === RECORDS_MAX && !(await enter())) return undefined;
  }
  if (!(await enter())) return undefined;
  const to = { state: 'sealed', bytes, ...(row.parts && { parts: [] }) } as const;
  const outcome = await ask(options, { id: `${name} sealed`, segments: [changeOf(row, to)] });
  return outcome.kind === 'committed' ? { ...row, ...to } : undefined;
}

async function enterRecords(
  options: Options,
  row: Segment,
  replaced: readonly Segment[],
  records: readonly SegmentRecord[],
): Promise<Segment | undefined> {
  const { catalog, collectionName, fingerprint, foreign } = options;
  const { number: segment, collection, name } = row;
  const last = records.at(-1)!.facts;
  const runs = records.findLast((record) => record.runs)?.runs;
  const to = {
    bytes: last.offset + last.length,
    records: row.records + records.length,
    ...(runs && { roots: runs.roots }),
  };
  const refused = new Set<SegmentRecord>();
  for (let tried = 0; tried < TRIES_MAX; tried++) {
    const moves = await movesOf(options, row, replaced, records);
    const fresh = records.filter((record) => !moves.has(record) && !refused.has(record));
    const grouping = { segment, collection, collectionName: await collectionName(collection), fingerprint, foreign };
    const group = await ownGroup(catalog, fresh, { ...grouping, unresolved: 'refuse' });
    for (const record of group.refused) refused.add(record);
    const { captures, blocks, referents, aliases } = group;
    const outcome = await ask(options, {
      id: `${name} ${to.bytes} entered`,
      segments: [changeOf(row, to)],
      moves: [...moves.values()],
      ...(await holdersOf(options, segment, replaced, records)),
      captures,
      blocks,
      referents,
      aliases,
      dead: [...refused].map((record) => ({ ...placeOf(record, segment), block: contentOf(options, record) })),
      putNotes: { ...group.putNotes, ...(runs && { [RUNS_NOTE + name]: runs.toNote() }) },
      keepsUnreferenced: true,
    });
    if (outcome.kind === 'committed') return { ...row, ...to };
    if (outcome.kind === 'fenced') return undefined;
    for (const index of refusedBy(outcome)) refused.add(group.records[index]!);
  }
  return undefined;
}

/** The captures of these records that the catalog has in a replaced segment, with their new places. */
async function movesOf(
  options: Options,
  { number, collection }: Segment,
  replaced: readonly Segment[],
  records: readonly SegmentRecord[],
): Promise<Map<SegmentRecord, Move>> {
  const moves = new Map<SegmentRecord, Move>();
  const kept = records.filter(({ facts }) => facts.kind !== undefined);
  const questions = kept.map(({ facts }) => ({ urlKey: facts.urlKey, time: facts.time!, ofHash: facts.hash }));
  const found = questions.length > 0 ? await options.catalog.findCaptures(questions) : [];
  for (const [index, record] of kept.entries()) {
    const key = contentOf(options, record);
    const isSame = ({ block, place, collection: of }: Capture) =>
      of === collection &&
      replaced.some((old) => old.number === place.segment) &&
      (!block || !key || equal(block.digest, key.digest));
    const from = found[index]!.find(isSame);
    if (!from) continue;
    const { kind, status, mime } = record.facts;
    const isPromoted = from.kind === 'revisit' && kind !== 'revisit';
    const to = { ...from, place: placeOf(record, number), kind: kind!, ...(isPromoted && { status, mime }) };
    moves.set(record, { from, to });
  }
  return moves;
}

/** Full records whose contents are held in a replaced segment hold them. Others with a holder elsewhere are surplus. */
async function holdersOf(
  options: Options,
  segment: number,
  replaced: readonly Segment[],
  records: readonly SegmentRecord[],
): Promise<Required<Pick<CommitGroup, 'holderMoves' | 'surplus'>>> {
  const full = records.filter(({ facts }) => facts.kind !== undefined && facts.kind !== 'revisit');
  const keys = full.map((record) => contentOf(options, record)!);
  const blocks = keys.length > 0 ? await options.catalog.getBlocks(keys) : [];
  const holderMoves: HolderMove[] = [];
  const surplus: NonNullable<CommitGroup['surplus']>[number][] = [];
  const seen = new Set<string>();
  for (const [index, record] of full.entries()) {
    const block = blocks[index];
    if (!block) continue;
    const place = placeOf(record, segment);
    const id = idOf(block.key);
    const isFree = replaced.some(({ number }) => number === block.holder.segment) && !seen.has(id);
    seen.add(id);
    if (isFree) holderMoves.push({ key: block.key, from: block.holder, to: place });
    else if (block.holder.segment !== segment || block.holder.offset !== place.offset)
      surplus.push({ segment, offset: place.offset, block: block.key });
  }
  return { holderMoves, surplus };
}

/** False: the lease was lost. */
export async function endSwaps(options: Options, swaps: readonly LostSwap[]): Promise<boolean> {
  if (swaps.length === 0) return true;
  const { catalog, clock } = options;
  const replaced = new Set(swaps.flatMap((swap) => swap.replaced.map(({ number }) => number)));
  const homeless = new Map<string, { readonly key: BlockKey; readonly holder: Place }>();
  for await (const page of catalog.blocks())
    for (const { key, holder } of page) if (replaced.has(holder.segment)) homeless.set(idOf(key), { key, holder });
  const occupied = new Set<number>();
  const holderMoves: HolderMove[] = [];
  for await (const page of catalog.captures({}))
    for (const { block, kind, place } of page) {
      if (replaced.has(place.segment)) occupied.add(place.segment);
      const found = block && kind !== 'revisit' && !replaced.has(place.segment) ? homeless.get(idOf(block)) : undefined;
      if (!found) continue;
      homeless.delete(idOf(found.key));
      holderMoves.push({ key: found.key, from: found.holder, to: place });
    }
  if (holderMoves.length > 0) {
    const removeSurplus = holderMoves.map(({ to }) => to);
    const outcome = await ask(options, { holderMoves, removeSurplus });
    if (outcome.kind !== 'committed') return false;
  }
  for (const { holder } of homeless.values()) occupied.add(holder.segment);
  for (const { replacement, replaced: rows } of swaps) {
    const gone = rows.filter(({ number }) => !occupied.has(number));
    if (gone.length === 0) continue;
    const removals = gone.map(({ name, volume }) => [
      REPLACED_NOTE + name,
      JSON.stringify({ by: replacement.name, volume, at: clock() }),
    ]);
    const outcome = await ask(options, {
      segments: gone.map((row) => ({ ...changeOf(row, {}), to: undefined })),
      putNotes: Object.fromEntries(removals),
      removeNotes: [
        SWAPPING_NOTE + replacement.name,
        ...gone.flatMap(({ name }) => [RUNS_NOTE, SWAPPING_NOTE, RELOCATING_NOTE].map((note) => note + name)),
      ],
      keepsUnreferenced: true,
    });
    if (outcome.kind !== 'committed') return false;
  }
  return true;
}

function changeOf({ number, state, bytes, volume }: Segment, to: Partial<Segment>) {
  return { number, from: { state, bytes, volume }, to };
}

function placeOf({ facts: { offset, length } }: SegmentRecord, segment: number): Place {
  return { segment, offset, length };
}

function contentOf({ fingerprint }: Options, { facts }: SegmentRecord): BlockKey | undefined {
  return namedContent(facts, fingerprint);
}

function idOf({ digest, overflow }: BlockKey): string {
  return `${toHex(digest)}~${overflow}`;
}

function refusedBy(outcome: CommitOutcome): readonly number[] {
  if (outcome.kind === 'known') return [...outcome.captures, ...outcome.deleted];
  return outcome.kind === 'barred' ? outcome.captures : [];
}

function ask({ catalog, lease, again }: Options, group: CommitGroup): Promise<CommitOutcome> {
  return askAgain(() => commitCounted(catalog, { ...group, lease }), again);
}
