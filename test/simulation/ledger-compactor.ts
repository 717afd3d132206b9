/**
 * Compacts the segments of the volume as the ledger does: writes replacements under the compaction lease and swaps them
 * in. Plans simply: it looks at everything.
 *
 * A content whose holder is dead gets another one: a full record that is there, or a revisit that is written anew with
 * the content. Dead records that hold nothing are left out, and surplus records become revisits (I12).
 */
import { formatW3cDate, PinakesError, toHex } from '../../src/base/index.ts';
import type { Block, BlockKey, Capture, Lease, Place, Segment } from '../../src/catalog/index.ts';
import {
  CAPTURE_ID_FIELD,
  compactionLease,
  isMissing,
  Relocations,
  ReplacementWriter,
  type SegmentRecord,
  Swaps,
  sealedBytes,
  segmentRecords,
} from '../../src/ledger/index.ts';
import { recordParts } from '../../src/warc/index.ts';
import { payloadOf } from './book.ts';
import { HTTP_HEAD } from './harness-writer.ts';
import { CONTENTS, DELETIONS, leaseOf, storesOf, type VolumeKind, writerOf } from './ledger-machine.ts';
import { isGivenUp } from './ledger-writer.ts';
import type { Machine, Work } from './machine.ts';
import { VOLUME } from './world.ts';

export type LedgerCompactorOptions = {
  readonly volume?: VolumeKind;
  /** Replacements at most. */
  readonly rounds?: number;
  readonly graceMs?: number;
  /** Whether the deletion segments are merged. */
  readonly merges?: boolean;
  /** Whether relocations are finished that others began. */
  readonly relocates?: boolean;
};

export function ledgerCompactor(options: LedgerCompactorOptions = {}): Work {
  return async (machine) => {
    try {
      await compact(machine, options);
    } catch (error) {
      if (!isGivenUp(error) && !(error instanceof PinakesError && error.code === 'ARCHIVE_BUSY')) throw error;
    }
  };
}

export async function compact(machine: Machine, options: LedgerCompactorOptions): Promise<void> {
  const { volume = 'bucket', rounds = 1, graceMs = 0, merges = false, relocates = false } = options;
  const { catalog, clock, ids: newId, sleep } = machine;
  const held = await leaseOf(machine, compactionLease(VOLUME));
  if (!held || (await catalog.isAdopting())) return;
  const { lease } = held;
  const stores = storesOf(machine, volume);
  const swaps = new Swaps({ catalog, stores, volume: VOLUME, lease, clock, graceMs });
  await swaps.finishSwaps();
  if (relocates) await new Relocations({ catalog, stores, volume: VOLUME, lease }).finish();
  await swaps.discardUnfinished();
  const writer = writerOf(machine, { lease, volume });
  for (let round = 0; round < rounds; round++) {
    const plan = await planOne(machine, volume, merges).catch((error) => leaveToNextHolder(machine, lease, error));
    if (!plan) break;
    if (plan.kind === 'appoint') {
      await catalog.commit({ lease, holderMoves: [plan.move], removeSurplus: [plan.move.to] });
      continue;
    }
    const { replaced, records } = plan;
    const kind = replaced[0]!.collection === 0 ? DELETIONS : CONTENTS;
    const replacement = await ReplacementWriter.begin({ catalog, stores, writer, clock, newId }, replaced, kind);
    for (const { old, record, change } of records) {
      const { offset, length } = record.facts;
      if (!change) await replacement.copy(old, offset, length);
      else await replacement.put(old, offset, replacement.encode(writtenAnew(record, change, machine)), true);
    }
    await swaps.swap(await replacement.finish());
  }
  while ((await swaps.removeReplaced()) > 0) await sleep(graceMs);
  await held.end();
}

/** The next holder of the lease removes segments that a paused compactor reads. To one that holds it, all are there. */
async function leaveToNextHolder({ catalog }: Machine, lease: Lease, cause: unknown): Promise<never> {
  if (isMissing(cause) && (await catalog.commit({ lease })).kind === 'fenced')
    throw new PinakesError('LEASE_LOST', { where: lease.name, cause });
  throw cause;
}

type Change = { readonly kind: 'promote' | 'share'; readonly content: string };

type PlannedRecord = { readonly old: Segment; readonly record: SegmentRecord; readonly change?: Change | undefined };

type Plan =
  | {
      readonly kind: 'appoint';
      readonly move: { readonly key: BlockKey; readonly from: Place; readonly to: Place };
    }
  | { readonly kind: 'replace'; readonly replaced: readonly Segment[]; readonly records: readonly PlannedRecord[] };

async function planOne(machine: Machine, volume: VolumeKind, merges: boolean): Promise<Plan | undefined> {
  const { catalog } = machine;
  await using view = await catalog.view();
  const sealed = (await view.segments()).filter(({ state }) => state === 'sealed');
  const captures = new Map<string, Capture>();
  for await (const page of view.captures({})) for (const capture of page) captures.set(placeId(capture.place), capture);
  const blocks = new Map<string, Block>();
  for await (const page of view.blocks()) for (const block of page) blocks.set(toHex(block.key.digest), block);
  const promoted = new Set<string>();
  for (const [digest, { key, holder }] of blocks) {
    if (captures.has(placeId(holder))) continue;
    const candidates = [...captures.values()].filter(
      ({ block, place }) =>
        block && toHex(block.digest) === digest && sealed.some(({ number }) => number === place.segment),
    );
    const full = candidates.find(({ kind }) => kind !== 'revisit');
    if (full) return { kind: 'appoint', move: { key, from: holder, to: full.place } };
    if (candidates[0]) promoted.add(placeId(candidates[0].place));
  }
  const deletions = sealed.filter(({ collection }) => collection === 0);
  const groups = sealed.filter(({ collection }) => collection !== 0).map((segment) => [segment]);
  if (merges && deletions.length > 1) groups.push(deletions);
  // Contents are written to their new holders before anything else is left out.
  groups.sort((one, other) => promotions(other, promoted) - promotions(one, promoted));
  const stores = storesOf(machine, volume);
  for (const replaced of groups) {
    const records: PlannedRecord[] = [];
    let isSame = replaced.length === 1;
    for (const old of replaced) {
      const surplus = new Set((await view.surplusRecords(old.number)).map(({ offset }) => offset));
      const store = stores.get(old.volume);
      for await (const record of segmentRecords(store, sealedBytes(old.name, old.bytes), 0, old.bytes)) {
        const { facts } = record;
        if (facts.kind === undefined && !record.deletion) continue;
        const id = `${old.number} ${facts.offset}`;
        const capture = captures.get(id);
        const held = blocks.get(toHex(facts.payloadDigest));
        const isHolder = facts.kind !== 'revisit' && held && placeId(held.holder) === id;
        if (facts.kind !== undefined && !capture && !isHolder) {
          isSame = false;
          continue;
        }
        const content = capture?.block && machine.book.tried.get(capture.url.slice(capture.url.lastIndexOf('/') + 1));
        let change: Change | undefined;
        if (content && promoted.has(id)) change = { kind: 'promote', content };
        else if (content && surplus.has(facts.offset) && held && captures.has(placeId(held.holder)))
          change = { kind: 'share', content };
        if (change) isSame = false;
        records.push({ old, record, change });
      }
    }
    if (!isSame) return { kind: 'replace', replaced, records };
  }
  return undefined;
}

function promotions(segments: readonly Segment[], promoted: ReadonlySet<string>): number {
  return segments.some(({ number }) => [...promoted].some((id) => id.startsWith(`${number} `))) ? 1 : 0;
}

function placeId({ segment, offset }: Place): string {
  return `${segment} ${offset}`;
}

/** The record under a new id, which names the old one: a revisit with its content, or a full record as a revisit. */
function writtenAnew({ facts }: SegmentRecord, { kind, content }: Change, { ids }: Machine): Uint8Array[] {
  const isRevisit = kind === 'share';
  const block = isRevisit ? HTTP_HEAD : Buffer.concat([HTTP_HEAD, payloadOf(content)]);
  const record = {
    type: isRevisit ? 'revisit' : 'response',
    recordId: ids(),
    date: formatW3cDate(facts.time!),
    targetUri: facts.url,
    contentType: 'application/http; msgtype=response',
    payloadDigest: facts.declaredDigest,
    ...(isRevisit && { revisit: { profile: 'identical-payload-digest' } as const }),
    fields: [
      { name: 'WARC-Previous-Record-ID', value: facts.recordId },
      { name: CAPTURE_ID_FIELD, value: facts.captureId || facts.recordId },
    ],
  } as const;
  return recordParts(record, block);
}
