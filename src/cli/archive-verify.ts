/** `pinakes verify`: what is wrong in the archive, and who leans on it. */
import type { Archive, Problem } from '../archive/index.ts';
import { type ArchiveCommandOptions, segmentBytes } from './archive-command.ts';
import type { CommandContext } from './command.ts';
import { EXIT_FINE, EXIT_FOUND } from './outcome.ts';
import { Progress } from './progress.ts';
import { counted, formatBytes, printable } from './terminal.ts';

export type VerifyCommandOptions = ArchiveCommandOptions & { readonly quick?: boolean; readonly full?: boolean };

export async function archiveVerify(
  { terminal, signal, report: tell }: CommandContext,
  archive: Archive,
  options: VerifyCommandOptions,
): Promise<number> {
  const progress = new Progress(terminal, 'verify', segmentBytes(archive));
  const depth = options.quick ? 'quick' : 'full';
  const report = await archive.verify({
    depth,
    signal,
    onProblem: (problem) =>
      options.json ? terminal.json({ kind: 'problem', ...problem }) : terminal.line(formatProblem(problem)),
    onProgress: ({ segment, bytes }) => progress.update(bytes, segment),
  });
  progress.end();
  tell?.({ depth, ...report });
  if (options.json) await terminal.json({ kind: 'summary', depth, ...report });
  else {
    await terminal.line(
      `${counted(report.segments, 'segment')} of ${formatBytes(report.bytes)}, ${counted(report.records, 'record')}, ` +
        `${counted(report.captures, 'capture')}, ${counted(report.blocks, 'content')}: ` +
        `${counted(report.errors, 'error')}, ${counted(report.warnings, 'warning')}`,
    );
    if (depth === 'quick') terminal.say('Payloads were not hashed; `pinakes verify --full` does that.');
  }
  return report.errors > 0 ? EXIT_FOUND : EXIT_FINE;
}

function formatProblem({ code, level, volume, segment, offset, message, leaning, examples }: Problem): string {
  const where = [volume, segment, offset].filter((part) => part !== undefined).join(':') || 'catalog';
  const lines = [`${where}: ${level} ${code}: ${message}`];
  if (leaning > 0) {
    const shown = examples.slice(0, 5).join('  ');
    lines.push(`  ${counted(leaning, 'capture')} ${leaning === 1 ? 'leans' : 'lean'} on it: ${shown}`);
  }
  return lines.map(printable).join('\n');
}
