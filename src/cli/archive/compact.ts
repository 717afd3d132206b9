/**
 * `pinakes compact`: removes the bytes of deleted captures from the segments and, with `--recompress`, compresses
 * segments again.
 */
import type { Archive, RecompressReport, StayingSegments } from '../../archive/index.ts';
import { type ArchiveCommandOptions, segmentBytes } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';
import { Progress } from '../progress.ts';
import { counted, formatBytes, printable, type Terminal } from '../terminal.ts';

export type CompactCommandOptions = ArchiveCommandOptions & {
  readonly dryRun?: boolean;
  readonly recompress?: 'zstd';
};

export async function archiveCompact(
  context: CommandContext,
  archive: Archive,
  options: CompactCommandOptions,
): Promise<number> {
  const compaction = await compact(context, archive, options);
  const recompression = options.recompress ? await recompress(context, archive, options) : undefined;
  const report = { ...compaction, ...(recompression && { recompression }) };
  context.reportToJob?.(report);
  if (options.json) await context.terminal.json(report);
  const isLeftDamaged = recompression?.left.some(({ isDamaged }) => isDamaged) ?? false;
  const staying = (compaction.damaged?.length ?? 0) + (compaction.doubled?.length ?? 0);
  return staying > 0 || isLeftDamaged ? EXIT_FOUND : EXIT_FINE;
}

async function compact(
  { terminal, signal }: CommandContext,
  archive: Archive,
  options: CompactCommandOptions,
): Promise<Record<string, unknown> & { readonly damaged?: readonly unknown[]; readonly doubled?: readonly unknown[] }> {
  const dead = (await archive.segments()).filter((segment) => segment.deadBytes > 0);
  const deadBytes = dead.reduce((sum, segment) => sum + segment.deadBytes, 0);
  const print = async (line: string) => (options.json ? undefined : terminal.line(line));
  // In a cluster there are also records to share and segments to merge.
  if (options.dryRun || (dead.length === 0 && !archive.cluster)) {
    const staying = await archive.previewCompact();
    const left = staying.readOnly.length + staying.waiting.length + staying.kept.length;
    const written = left === 0 ? 'these' : `${dead.length - left} of them`;
    await print(
      dead.length === 0
        ? 'nothing to compact: no segment holds deleted records'
        : `deleted records of ${formatBytes(deadBytes)} in ${counted(dead.length, 'segment')}; ${written} would be rewritten, ` +
            'together with the segments whose revisits refer to deleted records',
    );
    sayStaying(terminal, staying, options);
    return { isDone: false, segments: dead.length, deadBytes, ...staying };
  }
  const progress = new Progress(
    terminal,
    'compact',
    dead.reduce((sum, segment) => sum + segment.bytes, 0),
  );
  const report = await archive.compact({
    signal,
    onProgress: ({ segment, bytesBefore }) => progress.advance(bytesBefore, segment),
  });
  progress.end();
  await print(
    `${counted(report.segments, 'segment')} rewritten: ${formatBytes(report.bytesBefore)} before, ${formatBytes(report.bytesAfter)} after; ` +
      `${counted(report.promoted, 'revisit')} became ${report.promoted === 1 ? 'a full record' : 'full records'}, ${report.repointed} ${report.repointed === 1 ? 'now refers' : 'now refer'} to another record`,
  );
  if (report.merged > 0) await print(`${counted(report.merged, 'small segment')} merged into larger ones`);
  sayStaying(terminal, report, options);
  for (const { segment, why } of report.damaged)
    terminal.say(
      printable(
        `${segment} was not rewritten, so its deleted records are still in it: ${why}. Restore it from a backup.`,
      ),
    );
  for (const { segment, volume } of report.doubled)
    terminal.say(
      `${segment} was not rewritten, so its deleted records are still in it: the volume ${volume} has another file of the same name. Move one of the two away.`,
    );
  return { isDone: true, ...report };
}

function sayStaying(
  terminal: Terminal,
  { readOnly, waiting, kept }: StayingSegments,
  { json }: CompactCommandOptions,
): void {
  if (!json)
    for (const name of readOnly) terminal.say(`${name} keeps its deleted records, because its volume is read-only`);
  for (const name of waiting)
    terminal.say(
      `${name} keeps its deleted records while a volume is missing (\`pinakes volume ls\`), a segment cannot be read or snapshots.json is damaged`,
    );
  for (const { segment, snapshot } of kept)
    terminal.say(`${segment} keeps its deleted records until the snapshot ${snapshot} is removed`);
}

async function recompress(
  { terminal, signal }: CommandContext,
  archive: Archive,
  options: CompactCommandOptions,
): Promise<RecompressReport> {
  const progress = new Progress(terminal, options.dryRun ? 'sample' : 'recompress', await segmentBytes(archive));
  const report = await archive.recompress({
    dryRun: options.dryRun === true,
    signal,
    onProgress: ({ segment, bytesBefore }) => progress.advance(bytesBefore, segment),
  });
  progress.end();
  if (options.json) return report;
  await terminal.line(recompressionLine(report, options.dryRun === true));
  if (report.sealed > 0) {
    const [open, were] = report.sealed === 1 ? ['1 segment was', 'was'] : [`${report.sealed} segments were`, 'were'];
    const sealed = options.dryRun ? 'would be sealed' : `${were} sealed`;
    terminal.say(`${open} still open and ${sealed} first; the next store begins a new segment`);
  }
  for (const { segment, why } of report.left) terminal.say(`${segment} was not recompressed: ${why}`);
  return report;
}

function recompressionLine({ segments, bytesBefore, bytesAfter }: RecompressReport, isDry: boolean): string {
  if (segments === 0) return 'nothing to recompress: no segment would become smaller';
  const sizes = `${formatBytes(bytesBefore)} before, ${formatBytes(bytesAfter)} after`;
  if (isDry) return `${counted(segments, 'segment')} would be compressed as zstd: ${sizes}, estimated from samples`;
  return `${counted(segments, 'segment')} compressed as zstd: ${sizes}`;
}
