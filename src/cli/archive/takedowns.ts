/**
 * `pinakes takedowns`: lists the log of takedowns, searches every place for bytes of what they bar, and prints
 * receipts.
 */
import { writeFile } from 'node:fs/promises';
import type { Archive, TakedownCheck, TakedownRecord, TakedownRecords } from '../../archive/index.ts';
import { badArgument, refuseExisting, writingFile } from '../../base/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import { type CommandContext, resolveTypedPath } from '../command.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';
import { RunningCount } from '../running-count.ts';
import { counted, formatBytes, printable, type Terminal } from '../terminal.ts';
import { userName } from './takedown.ts';

export type TakedownsCommandOptions = ArchiveCommandOptions & {
  readonly check?: string | true;
  readonly also?: readonly string[];
  readonly by?: string;
  readonly receipt?: string;
  readonly out?: string;
  readonly force?: boolean;
};

const FINDINGS_SHOWN_MAX = 20;

export async function archiveTakedowns(
  context: CommandContext,
  archive: Archive,
  options: TakedownsCommandOptions,
): Promise<number> {
  if (options.receipt !== undefined) return printReceipt(context, archive, options.receipt, options);
  if (options.out !== undefined || options.force) throw badArgument('takedowns', '--out and --force go with --receipt');
  if (options.check !== undefined) return check(context, archive, options.check, options);
  if (options.also ?? options.by) throw badArgument('takedowns', '--also and --by go with --check');
  const records = await archive.takedownLog.read();
  const { terminal } = context;
  if (options.json) await terminal.json({ ...records });
  else await printLog(terminal, records);
  return records.problems.length === 0 ? EXIT_FINE : EXIT_FOUND;
}

async function printLog(terminal: Terminal, { takedowns, problems }: TakedownRecords): Promise<void> {
  for (const takedown of takedowns) {
    const { id, time, by, reason, end, problem } = takedown;
    await terminal.line(printable(`${id}  ${time}  ${by}: ${oneLine(reason)}`));
    await terminal.line(`   ${whatOf(takedown)}`);
    if (!end) await terminal.line('   interrupted: take the same down again to complete it');
    await terminal.line(`   ${searchOf(takedown)}`);
    if (problem !== undefined) await terminal.line(printable(`   ${problem}`));
  }
  if (takedowns.length === 0) await terminal.line('nothing was taken down');
  for (const problem of problems) await terminal.line(printable(`problem: ${problem}`));
}

function whatOf({ contents, urls, captures, end, segments }: TakedownRecord): string {
  const parts = [
    contents.length > 0 ? counted(contents.length, 'content') : '',
    urls.length > 0 ? counted(urls.length, 'URL') : '',
  ];
  const deleted = counted(end?.captures ?? captures, 'capture');
  return `${parts.filter((part) => part !== '').join(' and ')} barred; ${deleted} in ${counted(segments.length, 'segment')}`;
}

function searchOf({ search }: TakedownRecord): string {
  if (!search) return 'not searched for since; `takedowns --check` does that';
  const { time, isGone, found, unsearched } = search;
  if (isGone) return `searched ${time}: no bytes of it are left`;
  return `searched ${time}: ${counted(found, 'trace')} found, ${counted(unsearched.length, 'place')} not searched`;
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}

async function check(
  context: CommandContext,
  archive: Archive,
  asked: string | true,
  { also = [], by = userName(), json }: TakedownsCommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const count = new RunningCount(terminal, 'search');
  const result = await archive.takedownLog.check(asked === true ? undefined : numberOf(asked, '--check'), {
    by,
    also: also.map((path) => resolveTypedPath(context, path)),
    signal,
    onProgress: ({ place, file, bytes }) => count.update(() => `${formatBytes(bytes)} read  ${place}: ${file}`),
  });
  count.end();
  if (json) await terminal.json({ ...result });
  else await printCheck(terminal, result);
  return result.isGone ? EXIT_FINE : EXIT_FOUND;
}

async function printCheck(terminal: Terminal, result: TakedownCheck): Promise<void> {
  const { places, findings, found, unsearched, isGone, id } = result;
  for (const { place, files, bytes, records } of places) {
    const read = `${counted(files, 'file')}, ${counted(records, 'record')}, ${formatBytes(bytes)}`;
    await terminal.line(printable(`searched ${place}: ${read}`));
  }
  for (const { place, file, offset, why, what } of findings.slice(0, FINDINGS_SHOWN_MAX))
    await terminal.line(printable(`found in ${place}: ${file}:${offset}: ${why}, ${what}`));
  if (found > FINDINGS_SHOWN_MAX) await terminal.line(`... and ${found - FINDINGS_SHOWN_MAX} more`);
  for (const { what, why } of unsearched.slice(0, FINDINGS_SHOWN_MAX))
    await terminal.line(printable(`not searched: ${what}: ${why}`));
  if (isGone) await terminal.line(`No bytes are left. The signed statement is entry ${id} of the log.`);
  else {
    await terminal.line(
      `Not gone yet: ${counted(found, 'trace')} found. The signed statement is entry ${id} of the log.`,
    );
    terminal.say('`pinakes compact` removes bytes from segments, and `pinakes mirror sync` from mirrors.');
  }
}

async function printReceipt(
  context: CommandContext,
  archive: Archive,
  asked: string,
  { out, force }: TakedownsCommandOptions,
): Promise<number> {
  const path = out === undefined ? undefined : resolveTypedPath(context, out);
  if (path !== undefined) await refuseExisting(path, force);
  const page = await archive.takedownLog.receipt(numberOf(asked, '--receipt'));
  if (path === undefined) await context.terminal.write(page);
  else await writingFile(path, () => writeFile(path, page));
  return EXIT_FINE;
}

function numberOf(text: string, option: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw badArgument(`${option} ${text}`, 'name a takedown by its number, as `takedowns` lists it');
}
