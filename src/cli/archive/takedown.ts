/**
 * `pinakes takedown`, and `pinakes delete --takedown`: bars contents and URLs for good, and deletes their captures
 * after a preview.
 */
import { userInfo } from 'node:os';
import type { Archive, BarredBytes, TakedownPreview, Takedowns } from '../../archive/index.ts';
import { badArgument, PinakesError } from '../../base/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';
import { counted, printable, type Terminal } from '../terminal.ts';

export type TakedownCommandOptions = ArchiveCommandOptions & {
  readonly key?: readonly string[];
  readonly url?: readonly string[];
  readonly withContents?: boolean;
  readonly reason?: string;
  readonly by?: string;
  readonly list?: boolean;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
};

export async function archiveTakedown(
  { terminal, startJob, reportToJob }: CommandContext,
  archive: Archive,
  options: TakedownCommandOptions,
): Promise<number> {
  const { key: keys = [], url: urls = [], withContents, list, dryRun, yes, json } = options;
  const input = { keys, urls, withContents };
  if (list) return printList(terminal, await archive.takedowns(), json === true);
  if (keys.length + urls.length === 0)
    throw badArgument('takedown', 'name what to take down with --key or --url, or list what is barred with --list');
  const preview = await archive.previewTakedown(input);
  const ground = dryRun ? undefined : { reason: reasonOf(options), by: options.by ?? userName() };
  if (!ground) {
    if (json) await terminal.json({ isDone: false, ...preview });
    else await terminal.line(formatPreview(preview, 'would be'));
    return EXIT_FINE;
  }
  if (!yes) {
    terminal.say(formatPreview(preview, 'will be'));
    if (!(await isConfirmed(terminal))) {
      terminal.say('nothing was taken down');
      if (json) await terminal.json({ isDone: false, ...preview });
      return EXIT_FINE;
    }
  }
  await startJob?.();
  const report = await archive.takeDown(input, ground);
  reportToJob?.(report);
  if (json) await terminal.json({ isDone: true, ...report });
  else {
    const { captures, contents, urls: barredUrls } = report;
    await terminal.line(`deleted ${counted(captures, 'capture')}, and barred ${barred(contents, barredUrls)}`);
    await terminal.line(formatLeft(report));
    terminal.say(`It is takedown ${report.takedown} in the log, which \`pinakes takedowns\` shows.`);
  }
  return EXIT_FINE;
}

function reasonOf({ reason = '' }: TakedownCommandOptions): string {
  if (reason.trim() !== '') return reason;
  throw badArgument('takedown', 'give the reason with --reason TEXT: the log and the receipt state it');
}

/** The name of the user, for the log. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // The user of a container may have no name.
    return 'unnamed user';
  }
}

async function printList(terminal: Terminal, takedowns: Takedowns, json: boolean): Promise<number> {
  const { contents, urls, captures, isGone } = takedowns;
  if (json) await terminal.json({ ...takedowns });
  else {
    for (const content of contents) await terminal.line(`content  sha256:${content}`);
    for (const url of urls) await terminal.line(printable(`URL      ${url}`));
    if (captures > 0) await terminal.line('A takedown was interrupted: captures of it are still there. Run it again.');
    await terminal.line(contents.length + urls.length === 0 ? 'nothing is barred' : formatLeft(takedowns));
  }
  return isGone ? EXIT_FINE : EXIT_FOUND;
}

function formatPreview({ captures, contents, urls, examples }: TakedownPreview, verb: string): string {
  const lines = [`${barred(contents, urls)} ${verb} barred for good, and ${counted(captures, 'capture')} deleted`];
  for (const url of examples) lines.push(`  ${printable(url)}`);
  if (captures > examples.length) lines.push(`  ... and ${captures - examples.length} more`);
  return lines.join('\n');
}

function barred(contents: number, urls: number): string {
  const parts = [contents > 0 && counted(contents, 'content'), urls > 0 && counted(urls, 'URL')];
  return parts.filter((part) => part !== false).join(' and ');
}

function formatLeft({ isGone, unsealed, uncompacted }: BarredBytes): string {
  if (isGone) return 'No segment has bytes of it.';
  const segments = new Set([...unsealed, ...uncompacted]);
  return `Bytes of it may still be in ${counted(segments.size, 'segment')}. Run \`pinakes compact\`, then \`pinakes takedown --list\`.`;
}

async function isConfirmed(terminal: Terminal): Promise<boolean> {
  const answer = await terminal.ask('Take down? [y/N] ');
  if (answer !== undefined) return /^y(es)?$/i.test(answer.trim());
  throw new PinakesError('CONFIRMATION_NEEDED', { where: 'takedown' });
}
