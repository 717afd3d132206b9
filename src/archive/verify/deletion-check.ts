/**
 * Checks the records of deletions against the catalog: each can be read, and the catalog has carried it out, with all
 * of its marks and bars.
 */
import { toHex } from '../../base/index.ts';
import type { Bar, Segment } from '../../catalog/index.ts';
import { type Deletion, isDeletionSegment, segmentRecords } from '../../ledger/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { Report } from './problem-reporter.ts';
import type { SegmentWatch } from './segment-watch.ts';

const RECORD_MS_MAX = 10;

/** Does nothing for segments with other records. */
export async function checkDeletions(
  archive: Pick<OpenedArchive, 'catalog' | 'stores'>,
  segment: Segment,
  { watch, report }: { readonly watch: SegmentWatch; readonly report: Report },
): Promise<void> {
  const { volume, name, bytes } = segment;
  if (!isDeletionSegment(segment)) return;
  const bars = new Set((await archive.catalog.bars()).map(barId));
  for await (const { facts, deletion } of segmentRecords(archive.stores.get(volume), segment, 0, bytes)) {
    const at = { volume, segment: name, offset: facts.offset };
    if (deletion?.problem !== undefined) await report('deletion-unreadable', at, { detail: deletion.problem });
    if (!deletion?.deletion) continue;
    const missing = await missingOf(archive, deletion.deletion, bars);
    if (missing !== '') await report('deletion-undone', at, { detail: missing });
    await watch.rest(RECORD_MS_MAX);
  }
}

async function missingOf(
  { catalog }: Pick<OpenedArchive, 'catalog'>,
  { marks, bars, request }: Deletion,
  known: ReadonlySet<string>,
): Promise<string> {
  const undone = (await catalog.findDeleted(marks)).filter((isDeleted) => !isDeleted).length;
  const unbarred = bars.filter((bar) => !known.has(barId(bar))).length;
  if (undone + unbarred === 0) return '';
  return `${undone} of ${marks.length} captures and ${unbarred} of ${bars.length} bars of the request ${request}`;
}

function barId(bar: Bar): string {
  return bar.kind === 'url' ? bar.urlKey : toHex(bar.digest);
}
