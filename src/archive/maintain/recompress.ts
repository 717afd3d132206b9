/**
 * Recompression: segments become `.warc.zst` files, each with a dictionary trained from its own records. Before that,
 * the new size is estimated from a sample. A segment that would hardly become smaller stays as it is.
 *
 * Only segments in writable volumes are recompressed. An open segment is sealed first, and the next store begins a new
 * segment. Each replacement is written beside the old segment, read back, and swapped in like a replacement from
 * compaction (see segment-recode.ts and segment-swap.ts). Reading, storing, streams and their cursors continue
 * meanwhile. After an interruption at any moment, either the old segment is used or the new one.
 */
import type { Segment } from '../../catalog/index.ts';
import { isDeletionSegment } from '../../ledger/index.ts';
import { type Coding, dictionaryFor, MemberEncoder, readRecords } from '../../warc/index.ts';
import { isBadSector } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { MemberBytes } from '../read/member-bytes.ts';
import { removeDoubles } from '../segment/segment-double.ts';
import { type Recoded, recodeSegment } from './segment-recode.ts';
import { discardReplacement, finishSwaps, swapIn } from './segment-swap.ts';
import { sealOpenSegments } from './volume-admin.ts';

/** Among the levels 3 to 15, this level saves most of the possible bytes in little of the time. */
const LEVEL = 9;
const WORTHWHILE_SHARE = 0.97;
const SAMPLED_PLACES = 16;
const SAMPLED_PLACE_BYTES = 512 * 1024;

export type RecompressOptions = {
  /** A segment stays as it is if more than this share of its size would remain. The default is 0.97. */
  readonly worthwhileShare?: number | undefined;
  readonly onProgress?: ((progress: { segment: string; bytesBefore: number; bytesAfter: number }) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

type Left = { readonly segment: string; readonly why: string; readonly isDamaged?: boolean | undefined };

export type RecompressReport = {
  segments: number;
  bytesBefore: number;
  bytesAfter: number;
  /** How many of these segments were open, and had to be sealed. */
  sealed: number;
  /** Segments that stay as they are, and why. Some are damaged or cannot be read by the disk. */
  readonly left: Left[];
};

/** Estimates from samples what recompression would do. Nothing is written. */
export async function estimateRecompression(
  archive: OpenedArchive,
  options: RecompressOptions = {},
): Promise<RecompressReport> {
  const report = emptyReport();
  await eachSegment(archive, report, options, async (segment) => {
    const { share } = await sampleSegment(archive, segment);
    if (share > (options.worthwhileShare ?? WORTHWHILE_SHARE)) return hardlySmaller(segment, share);
    if (segment.state === 'open') report.sealed++;
    count(report, segment, Math.round(segment.bytes * share), options);
    return undefined;
  });
  return report;
}

export async function recompressArchive(
  archive: OpenedArchive,
  options: RecompressOptions = {},
): Promise<RecompressReport> {
  const report = emptyReport();
  await archive.exclusive(() => finishSwaps(archive));
  await eachSegment(archive, report, options, async (sampled) => {
    const { dictionary, share } = await sampleSegment(archive, sampled);
    if (share > (options.worthwhileShare ?? WORTHWHILE_SHARE)) return hardlySmaller(sampled, share);
    const segment = sampled.state === 'sealed' ? sampled : await archive.exclusive(() => seal(archive, sampled));
    if (!segment) return { segment: sampled.name, why: 'it was changed meanwhile' };
    if (sampled.state === 'open') report.sealed++;
    const recoded = await recodeSegment(archive, segment, { dictionary, level: LEVEL, signal: options.signal });
    if (recoded.kind === 'refused') return { segment: segment.name, why: recoded.why, isDamaged: recoded.isDamaged };
    const why = await archive.exclusive(() => swapUnlessChanged(archive, segment, recoded, options));
    if (why !== undefined) return { segment: segment.name, why };
    count(report, segment, recoded.replacement.bytes, options);
    return undefined;
  });
  return report;
}

/**
 * Does some work for each segment that may be recompressed. `work` returns why a segment was left. A bad sector in one
 * segment does not affect the others.
 */
async function eachSegment(
  archive: OpenedArchive,
  report: RecompressReport,
  { signal }: RecompressOptions,
  work: (segment: Segment) => Promise<Left | undefined>,
): Promise<void> {
  for (const segment of await segmentsToPack(archive)) {
    signal?.throwIfAborted();
    if (await noteIfBlocked(archive, segment, report)) continue;
    const left = await work(segment).catch((error: unknown) => {
      if (!isBadSector(error)) throw error;
      return { segment: segment.name, why: error.message, isDamaged: true };
    });
    if (left) report.left.push(left);
  }
}

/** WARC segments in writable volumes that are not zstd yet. ARC files and other files are left alone. */
async function segmentsToPack({ segmentRegistry, volumes }: OpenedArchive): Promise<Segment[]> {
  const writable = new Set(volumes.writable().map(({ name }) => name));
  return (await segmentRegistry.all()).filter(
    (segment) => writable.has(segment.volume) && /\.warc(\.gz)?$/i.test(segment.name) && !isDeletionSegment(segment),
  );
}

/** Seals a segment that was open when it was sampled. Undefined when it no longer exists or cannot be sealed. */
async function seal(archive: OpenedArchive, { number }: Segment): Promise<Segment | undefined> {
  await sealOpenSegments(archive, (segment) => segment.number === number);
  const segment = await archive.segmentRegistry.find(number);
  return segment?.state === 'sealed' ? segment : undefined;
}

/**
 * Notes a segment that must not be recompressed now: one with deleted records, which compaction has to remove first, or
 * one that a snapshot keeps.
 */
async function noteIfBlocked(archive: OpenedArchive, segment: Segment, report: RecompressReport): Promise<boolean> {
  const { name } = segment;
  const snapshot = archive.snapshots.keeperOf(segment);
  if (archive.snapshots.damage !== undefined)
    report.left.push({ segment: name, why: 'a snapshot may keep it, and the list of snapshots is damaged' });
  else if (snapshot !== undefined) report.left.push({ segment: name, why: `it belongs to the snapshot ${snapshot}` });
  // Its tombstones may be in a missing volume.
  else if (segment.deadBytes > 0 || (await archive.tombstones.bytes(name)) > 0)
    report.left.push({ segment: name, why: 'it holds deleted records, which compaction has to remove first' });
  else return false;
  return true;
}

/** Swaps in the replacement, or returns why not when the old segment has changed meanwhile. */
async function swapUnlessChanged(
  archive: OpenedArchive,
  old: Segment,
  { replacement, tombstoneBytes }: Extract<Recoded, { kind: 'written' }>,
  { worthwhileShare = WORTHWHILE_SHARE }: RecompressOptions,
): Promise<string | undefined> {
  const why = await whyNot().catch(async (error: unknown) => {
    await discardReplacement(archive, replacement.row).catch(() => {});
    throw error;
  });
  if (why === undefined) await swapIn(archive, replacement);
  else await discardReplacement(archive, replacement.row);
  return why;

  async function whyNot(): Promise<string | undefined> {
    const now = await archive.segmentRegistry.find(old.number);
    const isDeletedFrom =
      now?.deadBytes !== old.deadBytes || (await archive.tombstones.bytes(old.name)) !== tombstoneBytes;
    if (now?.volume !== old.volume || isDeletedFrom || archive.snapshots.keeperOf(old) !== undefined)
      return 'it was changed, moved or named by a snapshot meanwhile';
    if (replacement.bytes > old.bytes * worthwhileShare) return 'it would hardly become smaller';
    const doubledIn = await removeDoubles(archive, now);
    return doubledIn === undefined ? undefined : `another file of its name is in the volume ${doubledIn}`;
  }
}

/**
 * A dictionary for a segment, and the share of its size that would be left. The share is measured with records that the
 * dictionary was not trained from.
 */
async function sampleSegment(
  archive: OpenedArchive,
  segment: Segment,
): Promise<{ dictionary: Uint8Array | undefined; share: number }> {
  const store = archive.stores.get(segment.volume);
  const { name, bytes } = segment;
  const coding: Coding = /\.gz$/i.test(name) ? 'gzip' : 'none';
  const open = (offset: number) => store.stream(segment, offset, bytes);
  const dictionary = await dictionaryFor([{ path: name, bytes, source: { coding, open } }], LEVEL);
  using source = new MemberBytes(store, segment, undefined);
  const encoder = new MemberEncoder({ coding: 'zstd', level: LEVEL, dictionary });
  let before = 0;
  let after = 0;
  try {
    const places = Math.max(1, Math.min(SAMPLED_PLACES, Math.floor(bytes / SAMPLED_PLACE_BYTES)));
    for (let place = 0; place < places; place++) {
      const offset = Math.floor((bytes * (place + 0.5)) / places);
      let left = Math.min(SAMPLED_PLACE_BYTES, bytes / places / 2);
      for await (const record of readRecords(open(offset), { name, offset, coding })) {
        for await (const _ of record.body());
        const length = record.tail?.length;
        const whole = length === undefined ? undefined : await source.whole({ offset: record.head.offset, length });
        if (whole) {
          before += length!;
          after += encoder.encode([whole]).length;
        }
        left -= length ?? left;
        if (left <= 0) break;
      }
    }
  } finally {
    encoder.close();
  }
  const share = before === 0 ? 1 : after / before + encoder.fileStart().length / bytes;
  return { dictionary, share };
}

function emptyReport(): RecompressReport {
  return { segments: 0, bytesBefore: 0, bytesAfter: 0, sealed: 0, left: [] };
}

function count(
  report: RecompressReport,
  { name, bytes }: Segment,
  bytesAfter: number,
  options: RecompressOptions,
): void {
  report.segments++;
  report.bytesBefore += bytes;
  report.bytesAfter += bytesAfter;
  options.onProgress?.({ segment: name, bytesBefore: bytes, bytesAfter });
}

function hardlySmaller({ name }: Segment, share: number): { segment: string; why: string } {
  return { segment: name, why: `by a sample of it, ${Math.round(share * 100)} % of its size would be left` };
}
