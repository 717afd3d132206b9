/**
 * Merges small segments of a cluster, where every writer leaves segments of its own and no other process goes on with
 * them (P1). Segments of about the same size become one, so that a record is copied a few times at most while segments
 * grow from a page to MERGED_BYTES.
 *
 * Only sealed segments are merged that have nothing to compact away. Members are copied as they are (I4), and root
 * places stay, so cursors and snapshots do too (R4).
 */
import { basename } from 'node:path';
import type { Segment } from '../../catalog/index.ts';
import { isRunsRecord } from '../../ledger/index.ts';
import { readRecords } from '../../warc/index.ts';
import { damageError, damageOf, isBadSector, isDamage } from '../damage.ts';
import type { CompactOptions } from '../maintain/compact.ts';
import { beginMerge, discardReplacement, swapIn } from '../maintain/segment-swap.ts';
import { isRewritable } from '../maintain/staying-segments.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { isOwnBeginning } from '../segment/replacement.ts';
import { kindOfSegment } from '../segment/segment-kind.ts';

/** Larger segments are not merged, and merged ones do not become much larger. */
const MERGED_BYTES = 64 * 1024 * 1024;
/** So many segments of one size are merged. Sizes within a factor of FACTOR are the same size. */
const FEWEST = 4;
const MOST = 64;
const FACTOR = 4;

/** Merges until nothing is left to merge. Returns how many segments became parts of others. */
export async function mergeSegments(
  archive: OpenedArchive,
  { signal, onProgress }: Pick<CompactOptions, 'signal' | 'onProgress'>,
): Promise<number> {
  const spared = new Set<string>();
  for (let merged = 0; ; ) {
    signal?.throwIfAborted();
    const group = (await groupsOf(archive, spared))[0];
    if (!group) return merged;
    const into = await archive.exclusive(() => merge(archive, group));
    // What is damaged stays as it is.
    if (!into) for (const { name } of group) spared.add(name);
    else {
      merged += group.length;
      onProgress?.({ segment: into.name, bytesBefore: into.bytes, bytesAfter: into.bytes });
    }
  }
}

async function groupsOf(archive: OpenedArchive, spared: ReadonlySet<string>): Promise<Segment[][]> {
  const small: Segment[] = [];
  for (const segment of await archive.segmentRegistry.all()) {
    const { name, state, bytes, deadBytes } = segment;
    const isPlain = state === 'sealed' && deadBytes === 0 && name.endsWith('.warc.gz') && !spared.has(name);
    if (!isPlain || bytes >= MERGED_BYTES || !isRewritable(archive, segment)) continue;
    if ((await archive.catalog.surplusRecords(segment.number)).length === 0) small.push(segment);
  }
  const alike = Map.groupBy(small, ({ volume, collection, name, bytes }) => {
    const size = Math.floor(Math.log(Math.max(bytes, 1)) / Math.log(FACTOR));
    return `${volume} ${collection} ${basename(name).startsWith('odd-')} ${size}`;
  });
  return [...alike.values()].flatMap((segments) => {
    const group: Segment[] = [];
    let bytes = 0;
    for (const segment of segments) {
      if (group.length >= FEWEST && (group.length === MOST || bytes + segment.bytes > MERGED_BYTES)) break;
      group.push(segment);
      bytes += segment.bytes;
    }
    return group.length >= FEWEST ? [group] : [];
  });
}

/** Undefined: one of the segments is damaged. */
async function merge(archive: OpenedArchive, segments: readonly Segment[]): Promise<Segment | undefined> {
  const [first] = segments as readonly [Segment];
  const kind = kindOfSegment(first, await archive.collections.name(first.collection), undefined);
  const writer = await beginMerge(archive, segments, kind);
  try {
    for (const segment of segments)
      for await (const { offset, length } of membersOf(archive, segment)) await writer.copy(segment, offset, length);
    return await swapIn(archive, await writer.finish());
  } catch (error) {
    writer.abandon();
    await discardReplacement(archive, writer.row).catch(() => {});
    if (isDamage(error) || isBadSector(error)) return undefined;
    throw error;
  }
}

/** The members of a segment without those that are about the segment itself. Fails when it is damaged. */
async function* membersOf(
  { stores, access }: OpenedArchive,
  segment: Segment,
): AsyncGenerator<{ offset: number; length: number }> {
  const { name, volume, bytes, records: expected } = segment;
  const records = readRecords(stores.get(volume).stream(segment, 0, bytes), {
    name,
    inputBytes: bytes,
    onUnreadable: (finding) => {
      const damage = damageOf(segment, [finding], undefined);
      if (damage) throw damageError(damage);
    },
    checkDigests: access.checkOf(segment),
  });
  let found = 0;
  for await (const record of records) {
    const isAbout = (found === 0 && (await isOwnBeginning(record, name))) || isRunsRecord(record.head);
    found++;
    for await (const _ of record.body());
    const damage = damageOf(segment, record.damage, undefined);
    if (damage) throw damageError(damage);
    const length = record.tail?.length;
    if (length === undefined) throw missing(segment, 'it shares a compressed member');
    if (!isAbout) yield { offset: record.head.offset, length };
  }
  if (found < expected) throw missing(segment, `${expected - found} of its ${expected} records cannot be found`);
}

function missing({ volume, name }: Segment, message: string) {
  return damageError({ volume, segment: name, offset: 0, code: 'capture-without-record', message, url: undefined });
}
