/**
 * Restores records that are damaged or gone, from copies of their contents (I15): for `verify --heal`.
 *
 * The record that holds each content with a copy is read and checked. One that is not sound is written to a new segment
 * of the same volume from its copy, which is the same member, byte for byte. Its capture and content move there, as in
 * a rebalance (ledger/replacement/relocation.ts), with the root place that it had, and its old place is a dead record.
 * Then the old segment is written anew without the damaged bytes, if the rest of it is sound.
 *
 * The copy may be of another record than the one that holds the content now, such as one that compaction replaced. Then
 * it is not restored, but reading falls back to the copy. A volume that is missing is left alone: it may come back.
 */
import { equal, PinakesError, RunningDigest } from '../../base/index.ts';
import type { Block, Segment } from '../../catalog/index.ts';
import { urlKey } from '../../url/index.ts';
import { isBadSector, isDamage } from '../damage.ts';
import { beginRelocation, discardReplacement, relocateIn } from '../maintain/segment-swap.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { copyNotesOf, parseCopyNote, type ReadCopy } from '../read/content-copies.ts';
import { parseBlockId } from '../revisit/catalog-draft.ts';
import { kindOfSegment } from '../segment/segment-kind.ts';
import { rewriteWithout } from './rewrite-without.ts';

/** More damaged records of one segment are restored in further segments. */
const RECORDS_MAX = 1000;

export type RecordRestoreOptions = {
  readonly onProgress?: ((progress: { contents: number; restored: number }) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type RecordRestoreReport = {
  /** Contents with copies that were checked. */
  checked: number;
  /** Records that were restored from copies. */
  restored: number;
  /** Records that are damaged or gone, and whose copies cannot stand in for them. */
  readonly left: { readonly segment: string; readonly offset: number }[];
};

/** Where restored records are found. Another source of members is a mirror. */
export type RestoreSource = (block: Block) => Promise<Pick<ReadCopy, 'member' | 'record'> | undefined>;

type Damaged = { readonly block: Block; readonly copy: Pick<ReadCopy, 'member' | 'record'> };

export async function restoreRecords(
  archive: OpenedArchive,
  options: RecordRestoreOptions = {},
  sources: readonly RestoreSource[] = [(block) => archive.access.copies.read(block)],
): Promise<RecordRestoreReport> {
  const report: RecordRestoreReport = { checked: 0, restored: 0, left: [] };
  const waiting = new Map<number, Damaged[]>();
  let last = '';
  for await (const page of archive.catalog.notePages(copyNotesOf())) {
    options.signal?.throwIfAborted();
    const ids = [...new Set(page.map(([note, text]) => parseCopyNote(note, text).id))].filter((id) => id !== last);
    last = ids.at(-1) ?? last;
    for (const block of await archive.catalog.getBlocks(ids.map((id) => parseBlockId(id)!))) {
      if (!block) continue;
      report.checked++;
      const segment = await archive.segmentRegistry.find(block.holder.segment);
      if (!segment || !archive.volumes.find(segment.volume) || (await isSound(archive, block))) continue;
      const copy = await firstOf(sources, block);
      if (!copy) {
        report.left.push({ segment: segment.name, offset: block.holder.offset });
        continue;
      }
      const own = waiting.get(segment.number) ?? [];
      own.push({ block, copy });
      waiting.set(segment.number, own);
      if (own.length < RECORDS_MAX) continue;
      waiting.delete(segment.number);
      await restoreIn(archive, segment.number, own, report);
    }
    options.onProgress?.({ contents: report.checked, restored: report.restored });
  }
  for (const [number, own] of waiting) await restoreIn(archive, number, own, report);
  archive.retrieval.forget();
  return report;
}

async function firstOf(sources: readonly RestoreSource[], block: Block): Promise<Damaged['copy'] | undefined> {
  for (const source of sources) {
    const copy = await source(block);
    if (copy) return copy;
  }
  return undefined;
}

/** Whether the record that holds a content can be read, down to the digest of its payload. */
async function isSound({ access, fingerprint }: OpenedArchive, { key, size, holder }: Block): Promise<boolean> {
  try {
    const record = await access.openSound(holder, undefined);
    if (!('payload' in record)) return false;
    const digest = new RunningDigest('sha256');
    let bytes = 0;
    for await (const piece of record.payload) {
      digest.update(piece);
      bytes += piece.length;
    }
    return bytes === size && equal(fingerprint(digest.finish().bytes), key.digest);
  } catch (error) {
    if (isUnreadable(error)) return false;
    throw error;
  }
}

function isUnreadable(error: unknown): boolean {
  return isDamage(error) || isBadSector(error) || (error instanceof PinakesError && error.code === 'OBJECT_MISSING');
}

async function restoreIn(
  archive: OpenedArchive,
  number: number,
  damaged: readonly Damaged[],
  report: RecordRestoreReport,
): Promise<void> {
  await archive.growing(async () => {
    const old = await archive.segmentRegistry.find(number);
    if (!old) return;
    const restored = old.state === 'sealed' ? await relocateFrom(archive, old, damaged) : new Set<number>();
    report.restored += restored.size;
    for (const { block } of damaged)
      if (!restored.has(block.holder.offset)) report.left.push({ segment: old.name, offset: block.holder.offset });
    await rewriteWithout(archive, number, restored).catch((error: unknown) => {
      // What else is damaged in it stays, and so does the segment.
      if (!isUnreadable(error)) throw error;
    });
  });
}

/** The offsets of the records that were restored. */
async function relocateFrom(
  archive: OpenedArchive,
  old: Segment,
  damaged: readonly Damaged[],
): Promise<ReadonlySet<number>> {
  const { access, catalog, collections } = archive;
  const inOrder = [...damaged].sort((a, b) => a.block.holder.offset - b.block.holder.offset);
  const own: Damaged[] = [];
  for (const one of inOrder) if (await isOwnMember(catalog, one)) own.push(one);
  if (own.length === 0) return new Set();
  const dictionary = old.name.endsWith('.zst') ? await access.dictionaryOf(old.number) : undefined;
  const kind = kindOfSegment(old, await collections.name(old.collection), dictionary);
  const writer = await beginRelocation(archive, old, kind);
  let written: Awaited<ReturnType<typeof writer.finish>>;
  try {
    for (const { block, copy } of own) await writer.put(old, block.holder.offset, copy.member);
    written = await writer.finish();
  } catch (error) {
    writer.abandon();
    await discardReplacement(archive, writer.row).catch(() => {});
    throw error;
  }
  const moved = await relocateIn(archive, written);
  return new Set(moved ? own.map(({ block }) => block.holder.offset) : []);
}

/** Whether the copy is the member that the catalog has at the place of the holder, by its length and its capture. */
async function isOwnMember(
  catalog: OpenedArchive['catalog'],
  { block: { holder }, copy: { member, record } }: Damaged,
): Promise<boolean> {
  if (member.length !== holder.length) return false;
  const { targetUri, time } = record.head;
  if (targetUri === undefined || time === undefined) return false;
  const [found = []] = await catalog.findCaptures([{ urlKey: urlKey(targetUri), time, at: holder }]);
  return found.length > 0;
}
