/**
 * `pinakes compact`: takes the bytes of what was deleted out of the segments, and packs cold ones anew when that is
 * asked for.
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
  context.report?.(report);
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
  const dead = archive.segments().filter((segment) => segment.deadBytes > 0);
  const deadBytes = dead.reduce((sum, segment) => sum + segment.deadBytes, 0);
  const say = async (line: string) => (options.json ? undefined : terminal.line(line));
  if (options.dryRun || dead.length === 0) {
    const staying = archive.previewCompact();
    const left = staying.readOnly.length + staying.waiting.length + staying.kept.length;
    const written = left === 0 ? 'these' : `${dead.length - left} of them`;
    await say(
      dead.length === 0
        ? 'nothing to compact: no segment holds deleted records'
        : `deleted records of ${formatBytes(deadBytes)} in ${counted(dead.length, 'segment')}; ${written} would be written anew, ` +
            'and with them those whose revisits lean on what leaves',
    );
    sayStaying(terminal, staying, options);
    return { isDone: false, segments: dead.length, deadBytes, ...staying };
  }
  const progress = new Progress(
    terminal,
    'compact',
    dead.reduce((sum, segment) => sum + segment.bytes, 0),
  );
  let doneBytes = 0;
  const report = await archive.compact({
    signal,
    onProgress: ({ segment, bytesBefore }) => {
      doneBytes += bytesBefore;
      progress.update(doneBytes, segment);
    },
  });
  progress.end();
  await say(
    `${counted(report.segments, 'segment')} written anew: ${formatBytes(report.bytesBefore)} before, ${formatBytes(report.bytesAfter)} after; ` +
      `${counted(report.promoted, 'revisit')} became ${report.promoted === 1 ? 'a holder' : 'holders'}, ${report.repointed} ${report.repointed === 1 ? 'was' : 'were'} pointed anew`,
  );
  sayStaying(terminal, report, options);
  for (const { segment, why } of report.damaged)
    terminal.say(
      printable(`${segment} stays as it is, and with it what was deleted from it: ${why}. Put it back from a backup.`),
    );
  for (const { segment, volume } of report.doubled)
    terminal.say(
      `${segment} stays as it is, and with it what was deleted from it: another file of its name lies in the volume ${volume}. Move one of the two away.`,
    );
  return { isDone: true, ...report };
}

function sayStaying(
  terminal: Terminal,
  { readOnly, waiting, kept }: StayingSegments,
  { json }: CompactCommandOptions,
): void {
  if (!json)
    for (const name of readOnly)
      terminal.say(`${name} holds deleted records and lies in a volume that may only be read; they stay in it`);
  for (const name of waiting)
    terminal.say(
      `${name} holds deleted records; they stay in it while a volume is missing (\`pinakes volume ls\`), a segment cannot be read or snapshots.json is damaged`,
    );
  for (const { segment, snapshot } of kept)
    terminal.say(
      `${segment} holds deleted records and belongs to the snapshot ${snapshot}; they stay until that is removed`,
    );
}

async function recompress(
  { terminal, signal }: CommandContext,
  archive: Archive,
  options: CompactCommandOptions,
): Promise<RecompressReport> {
  const progress = new Progress(terminal, options.dryRun ? 'sample' : 'recompress', segmentBytes(archive));
  let doneBytes = 0;
  const report = await archive.recompress({
    dryRun: options.dryRun === true,
    signal,
    onProgress: ({ segment, bytesBefore }) => {
      doneBytes += bytesBefore;
      progress.update(doneBytes, segment);
    },
  });
  progress.end();
  if (options.json) return report;
  await terminal.line(described(report, options.dryRun === true));
  if (report.sealed > 0) {
    const [open, were] = report.sealed === 1 ? ['1 segment was', 'was'] : [`${report.sealed} segments were`, 'were'];
    const sealed = options.dryRun ? 'would be sealed' : `${were} sealed`;
    terminal.say(`${open} still being written to and ${sealed} for it; what is stored next begins another`);
  }
  for (const { segment, why } of report.left) terminal.say(`${segment} stays as it is: ${why}`);
  return report;
}

function described({ segments, bytesBefore, bytesAfter }: RecompressReport, isDry: boolean): string {
  if (segments === 0) return 'nothing to recompress: no segment would become smaller';
  const sizes = `${formatBytes(bytesBefore)} before, ${formatBytes(bytesAfter)} after`;
  if (isDry) return `${counted(segments, 'segment')} would be packed as zstd: ${sizes}, by samples of them`;
  return `${counted(segments, 'segment')} packed as zstd: ${sizes}`;
}
