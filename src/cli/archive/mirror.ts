/**
 * `pinakes mirror`: second copies of an archive. Adds and lists them, brings them up to date, checks every byte, makes
 * an archive from one, and forgets one.
 */
import {
  type Archive,
  type MirrorCheck,
  type MirrorStatus,
  restoreMirror,
  type SyncReport,
} from '../../archive/index.ts';
import { badArgument, type EpochMs, parseW3cDate } from '../../base/index.ts';
import { isS3Url, parseEndpoint } from '../../volume/index.ts';
import { type ArchiveCommandOptions, parseTimeOption } from '../archive-command.ts';
import { type CommandContext, resolveTypedPath } from '../command.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';
import { Progress } from '../progress.ts';
import { formatSpan, parseSpan } from '../span.ts';
import { alignedRows, counted, formatBytes, printable, type Terminal } from '../terminal.ts';

const SHOWN_MAX = 20;

export async function mirrorAdd(
  context: CommandContext,
  archive: Archive,
  name: string,
  target: string,
  options: ArchiveCommandOptions & {
    readonly delay?: string;
    readonly withLinked?: boolean;
    readonly every?: string;
    readonly afterJobs?: boolean;
    readonly endpoint?: string;
    readonly region?: string;
  },
): Promise<number> {
  const { terminal } = context;
  await archive.mirrors.add({
    name,
    target: placeOf(context, target),
    delayMs: options.delay === undefined ? 0 : parseSpan(options.delay, '--delay'),
    withLinked: options.withLinked ?? false,
    everyMs: options.every === undefined ? undefined : parseSpan(options.every, '--every'),
    afterJobs: options.afterJobs ?? false,
    endpoint: options.endpoint === undefined ? undefined : parseEndpoint(options.endpoint),
    region: options.region,
  });
  if (options.json) await terminal.json({ name });
  else {
    await terminal.line(`added mirror ${name}`);
    terminal.say(`It is empty; \`pinakes mirror sync ${name}\` fills it.`);
  }
  return EXIT_FINE;
}

function placeOf(context: CommandContext, target: string): string {
  return isS3Url(target) ? target : resolveTypedPath(context, target);
}

export async function mirrorLs(
  { terminal, clock }: CommandContext,
  archive: Archive,
  options: ArchiveCommandOptions,
): Promise<number> {
  const mirrors = await archive.mirrors.list();
  if (options.json) for (const { last = null, ...mirror } of mirrors) await terminal.json({ ...mirror, last });
  else {
    const rows = mirrors.map((mirror) => [mirror.name, stateOf(mirror, clock()), mirror.target]);
    const table = [['name', 'state', 'target'], ...rows];
    for (const line of alignedRows(table, ['left', 'left', 'left'])) await terminal.line(printable(line));
    if (mirrors.length === 0) terminal.say('There is none; `pinakes mirror add NAME DIRECTORY` adds one.');
  }
  return EXIT_FINE;
}

/** How old a mirror is, and what it lacks. */
export function stateOf({ last }: MirrorStatus, now: EpochMs): string {
  if (!last) return 'never synced';
  const age = formatSpan(now - (parseW3cDate(last.time) ?? 0));
  const absent = last.absent > 0 ? `, without ${counted(last.absent, 'object')}` : '';
  return `synced ${age} ago, ${formatBytes(last.bytes)}${absent}`;
}

export async function mirrorSync(
  { terminal, signal }: CommandContext,
  archive: Archive,
  name: string | undefined,
  options: ArchiveCommandOptions & { readonly shrink?: boolean },
): Promise<number> {
  const names = name === undefined ? (await archive.mirrors.list()).map((mirror) => mirror.name) : [name];
  if (names.length === 0) throw badArgument('mirror sync', 'the archive has no mirror; `mirror add` adds one');
  let code = EXIT_FINE;
  for (const one of names) {
    const progress = new Progress(terminal, `sync ${one}`, 0);
    const report = await archive.mirrors.sync(one, {
      mayShrink: options.shrink === true,
      signal,
      onProgress: ({ object, bytes, totalBytes }) => progress.update(bytes, `of ${formatBytes(totalBytes)}  ${object}`),
    });
    progress.end();
    if (options.json) await terminal.json({ name: one, ...report });
    else await printSync(terminal, one, report);
    if (report.barred.length > 0) code = EXIT_FOUND;
  }
  return code;
}

async function printSync(terminal: Terminal, name: string, report: SyncReport): Promise<void> {
  const { copied, copiedBytes, removed, bytes, objects, absent, barred, earlier } = report;
  await terminal.line(
    `${name}: copied ${counted(copied, 'object')} of ${formatBytes(copiedBytes)}, removed ${removed}; ` +
      `it has ${counted(objects, 'object')} of ${formatBytes(bytes)}`,
  );
  if (earlier > 0) await terminal.line(`${counted(earlier, 'earlier state')} can be restored too`);
  if (absent > 0) await terminal.line(`it lacks ${counted(absent, 'object')}, which \`mirror check\` lists`);
  if (barred.length > 0)
    terminal.say(
      `Bytes of what was taken down are still in ${counted(barred.length, 'segment')}, here and in the archive. Run \`pinakes compact\`, then \`pinakes mirror sync\`.`,
    );
}

export async function mirrorCheck(
  { terminal, signal }: CommandContext,
  archive: Archive,
  name: string | undefined,
  options: ArchiveCommandOptions & { readonly repair?: boolean },
): Promise<number> {
  const names = name === undefined ? (await archive.mirrors.list()).map((mirror) => mirror.name) : [name];
  if (names.length === 0) throw badArgument('mirror check', 'the archive has no mirror; `mirror add` adds one');
  let code = EXIT_FINE;
  for (const one of names) {
    const progress = new Progress(terminal, `check ${one}`, 0);
    const check = await archive.mirrors.check(one, {
      repair: options.repair === true,
      signal,
      onProgress: ({ object, bytes, totalBytes }) => progress.update(bytes, `of ${formatBytes(totalBytes)}  ${object}`),
    });
    progress.end();
    if (options.json) await terminal.json({ name: one, ...check });
    else await printCheck(terminal, one, check);
    if (check.problems.length > 0 || check.number === undefined) code = EXIT_FOUND;
  }
  return code;
}

async function printCheck(terminal: Terminal, name: string, check: MirrorCheck): Promise<void> {
  const { number, states, objects, bytes, problems, absent, time } = check;
  if (number === undefined) await terminal.line(`${name}: nothing can be restored from it yet`);
  else
    await terminal.line(
      `${name}: ${counted(objects, 'object')} of ${formatBytes(bytes)} in ${counted(states, 'state')}, the newest of ${time}`,
    );
  for (const { kind, object } of problems.slice(0, SHOWN_MAX)) await terminal.line(printable(`${kind}: ${object}`));
  if (problems.length > SHOWN_MAX) await terminal.line(`... and ${problems.length - SHOWN_MAX} more`);
  for (const { absent: object, why } of absent.slice(0, SHOWN_MAX))
    await terminal.line(printable(`not in it: ${object}: ${why}`));
  if (absent.length > SHOWN_MAX) await terminal.line(`... and ${absent.length - SHOWN_MAX} more`);
  if (problems.length > 0)
    terminal.say('`pinakes mirror check --repair`, then `pinakes mirror sync`, copies it again.');
}

/** Needs no archive: it makes one. */
export async function mirrorRestore(
  context: CommandContext,
  target: string,
  directory: string,
  options: {
    readonly json?: boolean;
    readonly until?: string;
    readonly endpoint?: string;
    readonly region?: string;
  },
): Promise<number> {
  const { terminal, signal, clock } = context;
  const endpoint = options.endpoint === undefined ? undefined : parseEndpoint(options.endpoint);
  const place = {
    target: placeOf(context, target),
    ...(endpoint !== undefined && { endpoint }),
    ...(options.region !== undefined && { region: options.region }),
  };
  const progress = new Progress(terminal, 'restore', 0);
  const report = await restoreMirror(place, resolveTypedPath(context, directory), {
    clock,
    until: options.until === undefined ? undefined : parseTimeOption(options.until, 'end'),
    signal,
    onProgress: ({ object, bytes, totalBytes }) => progress.update(bytes, `of ${formatBytes(totalBytes)}  ${object}`),
  });
  progress.end();
  if (options.json) await terminal.json({ ...report });
  else {
    const { archive, time, objects, bytes, absent } = report;
    await terminal.line(
      printable(`restored ${archive} as of ${time}: ${counted(objects, 'object')} of ${formatBytes(bytes)}`),
    );
    if (absent.length > 0)
      await terminal.line(`without ${counted(absent.length, 'object')} that the mirror did not have`);
    terminal.say('The first command that opens it makes the catalog from the segments.');
  }
  return EXIT_FINE;
}

export async function mirrorRm(
  { terminal }: CommandContext,
  archive: Archive,
  name: string,
  options: ArchiveCommandOptions,
): Promise<number> {
  await archive.mirrors.remove(name);
  if (options.json) await terminal.json({ name });
  else await terminal.line(`removed mirror ${name}; what is in it is still there`);
  return EXIT_FINE;
}
