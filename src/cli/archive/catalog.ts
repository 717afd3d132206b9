/**
 * `pinakes catalog adopt`: brings the catalog of a cluster in line with the volumes after its database went back.
 * `pinakes catalog copy`: moves an archive with a catalog in its directory into a cluster.
 */
import { type Archive, openArchive } from '../../archive/index.ts';
import { PinakesError } from '../../base/index.ts';
import { type ArchiveCommandOptions, openingOptions, segmentProgress } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';
import { RunningCount } from '../running-count.ts';
import { counted, formatBytes, printable } from '../terminal.ts';

export type AdoptCommandOptions = ArchiveCommandOptions & { readonly nothingLost?: boolean };

export async function catalogAdopt(
  { terminal, signal }: CommandContext,
  archive: Archive,
  options: AdoptCommandOptions,
): Promise<number> {
  const { cluster } = archive;
  if (!cluster) {
    const detail = 'the catalog of this archive is in its directory, and every opening brings it in line by itself';
    throw new PinakesError('BAD_ARGUMENT', { where: 'catalog adopt', detail });
  }
  if (options.nothingLost) {
    await cluster.trust();
    if (options.json) await terminal.json({ adopted: 0 });
    else terminal.say('the server of the database is trusted; nothing was read');
    return EXIT_FINE;
  }
  const report = await cluster.adopt({ signal, onProgress: segmentProgress(terminal, 'adopt') });
  terminal.clearStatus();
  const damaged = report.segments.filter(({ kind }) => kind === 'damaged').length;
  const incarnation = await archive.incarnation();
  if (options.json) await terminal.json({ adopted: report.segments.length, damaged, incarnation });
  else {
    terminal.say(`${counted(report.segments.length, 'segment')} adopted; incarnation ${incarnation} begins`);
    if (damaged > 0) terminal.say(`${counted(damaged, 'segment')} cannot be read: run \`pinakes verify\``);
  }
  return EXIT_FINE;
}

export type CopyCommandOptions = ArchiveCommandOptions & { readonly to: string; readonly dryRun?: boolean };

export async function catalogCopy(
  context: CommandContext,
  archive: Archive,
  options: CopyCommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const { dryRun = false } = options;
  if (context.archive) {
    const detail = 'a server has the archive open; stop it first';
    throw new PinakesError('ARCHIVE_BUSY', { where: options.archive, detail });
  }
  const count = new RunningCount(terminal, 'copy');
  const onProgress = (what: string, rows: number) => count.update(`${what}: ${counted(rows, 'row')}`);
  const report = await archive.copyToCluster(options.to, { dryRun, signal, onProgress });
  terminal.clearStatus();
  const { shown, captures, contents, segments, bytes, obstacles } = report;
  if (!dryRun) {
    // The first opening takes the buckets over, and removes the former catalog.
    await archive.close();
    await (await openArchive(options.archive, openingOptions(context, 'catalog copy'))).close();
  }
  if (options.json) await terminal.json({ dryRun, to: shown, captures, contents, segments, bytes, obstacles });
  else {
    const what = `${counted(captures, 'capture')}, ${counted(contents, 'content')}, ${counted(segments, 'segment')}`;
    const verb = dryRun ? 'would be copied' : 'copied and compared';
    terminal.say(printable(`${what} of ${formatBytes(bytes)} ${verb}; the segments stay where they are`));
    for (const obstacle of obstacles) terminal.say(printable(`in the way: ${obstacle}`));
    if (!dryRun) terminal.say(printable(`the catalog is at ${shown}; tokens and jobs stay in the directory, unused`));
  }
  return obstacles.length > 0 ? EXIT_FOUND : EXIT_FINE;
}
