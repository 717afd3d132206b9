/**
 * What the commands on an archive share: which archive is meant, opening it, telling what was found while it was
 * opened, closing it.
 */
import { type Command, Option } from 'commander';
import type { Archive, ArchiveOptions } from '../archive/index.ts';
import { type EpochMs, type Finding, PinakesError, parseAskedTime } from '../base/index.ts';
import type { CommandContext } from './command.ts';
import { RunningCount } from './running-count.ts';
import { counted, formatBytes, formatFinding, type Terminal } from './terminal.ts';

export type ArchiveCommandOptions = { readonly archive: string; readonly json?: boolean };

/** A command on an archive, with the options that all of them have. */
export function archiveCommand(parent: Command, name: string, description: string): Command {
  return bytesCommand(parent, name, description).option('--json', 'answer in JSON, one value a line');
}

/** A command on an archive whose answer is nothing but the bytes of a content. */
export function bytesCommand(parent: Command, name: string, description: string): Command {
  const where = new Option('-a, --archive <directory>', 'the archive').env('PINAKES_ARCHIVE').default('archive');
  return parent.command(name).description(description).addOption(where);
}

/**
 * Opens the archive, does the work, and closes it, whatever happens. When a server has it open, the whole command runs
 * there.
 */
export async function withArchive(
  context: CommandContext,
  options: ArchiveCommandOptions,
  purpose: string,
  work: (archive: Archive) => Promise<number>,
): Promise<number> {
  if (context.archive) return work(context.archive);
  const [{ openArchive }, { runInServer }] = await Promise.all([import('../archive/index.ts'), import('./remote.ts')]);
  const code = await runInServer(context, options.archive);
  if (code !== undefined) return code;
  const archive = await openArchive(options.archive, openingOptions(context, purpose));
  context.terminal.clearStatus();
  try {
    return await work(archive);
  } finally {
    await archive.close();
  }
}

export function openingOptions(context: CommandContext, purpose: string): ArchiveOptions {
  const { terminal, clock, newId, software, signal } = context;
  // What is odd in a record was told when it came in; what cannot be read is told whenever it is met.
  const onFinding = (finding: Finding) => {
    if (finding.level === 'error' || finding.code.startsWith('segment-')) terminal.say(formatFinding(finding));
  };
  const onOpening = segmentCount(terminal, 'open');
  return { clock, newId, stopwatch: () => performance.now(), software, purpose, onFinding, onOpening, signal };
}

/** Shows how much was read of segments that the catalog did not know. */
export function segmentCount(terminal: Terminal, label: string): (segment: { readonly bytes: number }) => void {
  const count = new RunningCount(terminal, label);
  let segments = 0;
  let bytes = 0;
  return (segment) => {
    segments++;
    bytes += segment.bytes;
    count.update(`${counted(segments, 'segment')} of ${formatBytes(bytes)} read`);
  };
}

/**
 * A time on the command line: 4 to 17 digits, or a date as WARC files write it. A range ends with the last moment that
 * is meant.
 */
export function timeOf(text: string, side: 'start' | 'end' = 'start'): EpochMs {
  const time = parseAskedTime(text, side);
  if (time === undefined)
    throw new PinakesError('BAD_ARGUMENT', {
      where: text,
      detail: 'a time is 2024, 20240301120000 or 2024-03-01T12:00:00Z',
    });
  return time;
}

/** Bytes of all segments, as the catalog knows them. */
export function segmentBytes(archive: Archive): number {
  return archive.segments().reduce((sum, segment) => sum + segment.bytes, 0);
}
