/** `pinakes compact`: takes the bytes of what was deleted out of the segments. */
import type { Archive } from '../archive/index.ts';
import type { ArchiveCommandOptions } from './archive-command.ts';
import type { CommandContext } from './command.ts';
import { EXIT_FINE } from './outcome.ts';
import { Progress } from './progress.ts';
import { counted, formatBytes } from './terminal.ts';

export type CompactCommandOptions = ArchiveCommandOptions & { readonly dryRun?: boolean };

export async function archiveCompact(
  { terminal, signal }: CommandContext,
  archive: Archive,
  options: CompactCommandOptions,
): Promise<number> {
  const dead = archive.segments().filter((segment) => segment.deadBytes > 0);
  const deadBytes = dead.reduce((sum, segment) => sum + segment.deadBytes, 0);
  if (options.dryRun || dead.length === 0) {
    if (options.json) await terminal.json({ isDone: false, segments: dead.length, deadBytes });
    else if (dead.length === 0) await terminal.line('nothing to compact: no segment holds deleted records');
    else {
      await terminal.line(
        `deleted records of ${formatBytes(deadBytes)} in ${counted(dead.length, 'segment')}; these would be written anew, ` +
          'and with them those whose revisits lean on what leaves',
      );
    }
    return EXIT_FINE;
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
  if (options.json) await terminal.json({ isDone: true, ...report });
  else {
    await terminal.line(
      `${counted(report.segments, 'segment')} written anew: ${formatBytes(report.bytesBefore)} before, ${formatBytes(report.bytesAfter)} after; ` +
        `${counted(report.promoted, 'revisit')} became holders, ${report.repointed} were pointed anew`,
    );
    for (const name of report.readOnly)
      terminal.say(`${name} holds deleted records and lies in a volume that may only be read; they stay in it`);
  }
  return EXIT_FINE;
}
