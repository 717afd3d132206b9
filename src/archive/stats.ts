/**
 * Statistics of an archive from one view of the catalog: what it contains, how much space it takes, and what
 * deduplication and compression save.
 */
import type { CatalogView } from '../catalog/index.ts';
import { type CollectionDuplication, countDuplication } from './duplication.ts';
import type { OpenedArchive } from './opened-archive.ts';
import { countUnresolved } from './revisit/resolve-later.ts';
import { oddSegments } from './segment/odd-records.ts';

export type CollectionStats = Omit<CollectionDuplication, 'collection'> & { readonly collection: string };

export type ArchiveStats = {
  readonly captures: number;
  readonly blocks: number;
  readonly revisits: number;
  /** Revisits whose content is not in the archive. */
  readonly unresolvedRevisits: number;
  /**
   * Records at which other readers stop, and among these the records without a valid date, which are not in the index.
   */
  readonly oddRecords: number;
  readonly undatedRecords: number;
  /** Payloads as captured: every capture counts. */
  readonly payloadBytes: number;
  /** Payloads of distinct contents. */
  readonly uniquePayloadBytes: number;
  /** Payloads in segments: distinct ones, and repeated ones too small for a revisit. */
  readonly storedPayloadBytes: number;
  /** Bytes of the segments in the volumes. */
  readonly storedBytes: number;
  /** Bytes of deleted records that wait for compaction. Part of `storedBytes`. */
  readonly deadBytes: number;
  /** Payload bytes that need not be stored, because another record holds them. */
  readonly savedByDeduplicationBytes: number;
  /** How much smaller the segments are than their payloads. Negative when heads take more than compression saves. */
  readonly savedByCompressionBytes: number;
  readonly segments: number;
  readonly catalogBytes: number;
  readonly collections: readonly CollectionStats[];
};

export type StatsOptions = {
  readonly signal?: AbortSignal | undefined;
  /** The share that is done, from 0 to 1. */
  readonly onProgress?: ((share: number) => void) | undefined;
};

/** How many walks over the captures there are: one here, and two to count duplicates. */
const WALKS = 3;

export async function archiveStats(archive: OpenedArchive, options: StatsOptions = {}): Promise<ArchiveStats> {
  const { catalog, collections, scratch } = archive;
  await using view = await catalog.longView();
  const totals = await view.totals();
  // A segment is listed before its first record is committed.
  const segments = (await view.segments()).filter(({ bytes }) => bytes > 0);
  const numbers = new Set(segments.map(({ number }) => number));
  const odd = [...(await oddSegments(view))].flatMap(([number, counts]) => (numbers.has(number) ? [counts] : []));
  const storedBytes = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  const deadBytes = segments.reduce((sum, segment) => sum + segment.deadBytes, 0);
  let passed = 0;
  /** Called for every page of captures in a walk. */
  const onPage = (captures: number) => {
    options.signal?.throwIfAborted();
    passed += captures;
    options.onProgress?.(passed / (WALKS * totals.captures));
  };
  const revisitedBytes = await payloadBytesOfRevisits(view, onPage);
  const storedPayloadBytes = totals.payloadBytes - revisitedBytes;
  const duplication = await countDuplication(view, scratch, onPage);
  const named: ArchiveStats['collections'][number][] = [];
  for (const one of duplication) named.push({ ...one, collection: await collections.name(one.collection) });
  return {
    captures: totals.captures,
    blocks: totals.blocks,
    revisits: totals.revisits,
    unresolvedRevisits: await countUnresolved(archive),
    oddRecords: odd.reduce((sum, counts) => sum + counts.odd, 0),
    undatedRecords: odd.reduce((sum, counts) => sum + counts.undated, 0),
    payloadBytes: totals.payloadBytes,
    uniquePayloadBytes: totals.uniquePayloadBytes,
    storedPayloadBytes,
    storedBytes,
    deadBytes,
    savedByDeduplicationBytes: revisitedBytes,
    savedByCompressionBytes: storedPayloadBytes - (storedBytes - deadBytes),
    segments: segments.length,
    catalogBytes: await catalog.bytes(),
    collections: named,
  };
}

async function payloadBytesOfRevisits(view: CatalogView, onPage: (captures: number) => void): Promise<number> {
  let bytes = 0;
  for await (const page of view.captures({})) {
    onPage(page.length);
    const revisits = page.filter(({ kind, block }) => kind === 'revisit' && block !== undefined);
    for (const block of await view.getBlocks(revisits.map(({ block }) => block!))) bytes += block?.size ?? 0;
  }
  return bytes;
}
