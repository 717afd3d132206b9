/**
 * Code that all commands on an archive share: the option that names the archive, opening the archive, reporting what
 * opening found, and closing the archive.
 */
import { type Command, Option } from 'commander';
import type { Archive, ArchiveOptions } from '../archive/index.ts';
import { badArgument, type EpochMs, type Finding, parseAskedTime } from '../base/index.ts';
import type { ContentsClient } from '../client/index.ts';
import { audited } from './audited-command.ts';
import type { ActionArguments, CommandContext, CommandLoader } from './command.ts';
import type { HttpArchiveOptions } from './http-archive.ts';
import { RunningCount } from './running-count.ts';
import { counted, formatBytes, formatFinding, printable, type Terminal } from './terminal.ts';

export type ArchiveCommandOptions = { readonly archive: string; readonly json?: boolean };

/** Whether an archive is named by the address of its server. */
function isAddress(archive: string): boolean {
  return /^https?:\/\//i.test(archive);
}

/** A command on an archive, with the options that all these commands have. */
export function archiveCommand(parent: Command, name: string, description: string): Command {
  return bytesCommand(parent, name, description).option('--json', 'print JSON, one value per line');
}

/** A command on an archive that prints only the bytes of a content, and so has no --json. */
export function bytesCommand(parent: Command, name: string, description: string): Command {
  const where = new Option('-a, --archive <directory>', 'the directory of the archive')
    .env('PINAKES_ARCHIVE')
    .default('archive');
  return parent.command(name).description(description).addOption(where);
}

/** An action of a command that opens the archive first, and closes it even when the command fails. */
export function archiveAction(context: CommandContext, setExitCode: (code: number) => void) {
  return (
    purpose: string,
    load: CommandLoader<[CommandContext, Archive]>,
    loadForHttp?: CommandLoader<[CommandContext, ContentsClient]>,
  ) =>
    async (...args: ActionArguments): Promise<void> => {
      const given = args.slice(0, -1);
      const options = given.at(-1) as HttpArchiveOptions;
      if (isAddress(options.archive)) {
        setExitCode(await atAddress(context, options, given, loadForHttp));
        return;
      }
      const run = async (archive: Archive) => {
        const command = await load();
        const work = (audited: CommandContext) => command(audited, archive, ...(given as ActionArguments));
        return audited(context, archive, { purpose, given }, work);
      };
      setExitCode(await withArchive(context, given.at(-1), purpose, run));
    };
}

/** Runs a command on an archive that another machine serves. */
async function atAddress(
  context: CommandContext,
  options: HttpArchiveOptions,
  given: unknown[],
  load: CommandLoader<[CommandContext, ContentsClient]> | undefined,
): Promise<number> {
  const { archive } = options;
  if (!load)
    throw badArgument(
      `--archive ${archive}`,
      'only put, cat and add take the address of a server instead of a directory',
    );
  const { httpArchive, httpError } = await import('./http-archive.ts');
  try {
    return await (await load())(context, await httpArchive(context, options), ...(given as ActionArguments));
  } catch (error) {
    throw httpError(error, archive);
  }
}

/** The option of commands that also work on an archive that another machine serves. */
export function withTokenFile(command: Command): Command {
  return command.option('--token-file <file>', 'with an address as the archive: the token (default: PINAKES_TOKEN)');
}

/** When a server has the archive open, the whole command runs in that server. */
async function withArchive(
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
  // Oddities of a record were reported when it was added. Unreadable records and segments are reported every time.
  const onFinding = (finding: Finding) => {
    if (finding.level === 'error' || finding.code.startsWith('segment-')) terminal.say(formatFinding(finding));
  };
  const onOpening = segmentProgress(terminal, 'open');
  const logged = (line: string) => terminal.say(printable(`ledger: ${line}`));
  const onLedgerEvent = isDebugged('ledger') ? logged : undefined;
  const stopwatch = () => performance.now();
  const awaitsVolumes = purpose === 'volume take';
  return { clock, newId, stopwatch, software, purpose, onFinding, onOpening, onLedgerEvent, awaitsVolumes, signal };
}

/** Whether PINAKES_DEBUG, a list of topics with commas between them, asks for the debug log of this topic. */
function isDebugged(topic: string): boolean {
  return (process.env.PINAKES_DEBUG ?? '').split(',').some((asked) => asked.trim() === topic);
}

/** Shows how many bytes have been read of segments that the catalog did not know. */
export function segmentProgress(terminal: Terminal, label: string): (segment: { readonly bytes: number }) => void {
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
 * A time on the command line: 4 to 17 digits, or a date as WARC files write it. `end` gives the last moment that an
 * incomplete time covers: 2024 as the end of a range is the end of that year.
 */
export function parseTimeOption(text: string, side: 'start' | 'end' = 'start'): EpochMs {
  const time = parseAskedTime(text, side);
  if (time === undefined) throw badArgument(text, 'a time is 2024, 20240301120000 or 2024-03-01T12:00:00Z');
  return time;
}

/** The bytes of all segments together, according to the catalog. */
export async function segmentBytes(archive: Archive): Promise<number> {
  return (await archive.segments()).reduce((sum, segment) => sum + segment.bytes, 0);
}
