/** `pinakes catalog adopt`: brings the catalog of a cluster in line with the volumes after its database went back. */
import type { Archive } from '../../archive/index.ts';
import { PinakesError } from '../../base/index.ts';
import { type ArchiveCommandOptions, segmentProgress } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { counted } from '../terminal.ts';

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
  if (!report) {
    const detail = 'another process is adopting what is in the volumes; `pinakes doctor` shows which';
    throw new PinakesError('ARCHIVE_BUSY', { where: options.archive, detail });
  }
  const damaged = report.segments.filter(({ kind }) => kind === 'damaged').length;
  const incarnation = await archive.incarnation();
  if (options.json) await terminal.json({ adopted: report.segments.length, damaged, incarnation });
  else {
    terminal.say(`${counted(report.segments.length, 'segment')} adopted; incarnation ${incarnation} begins`);
    if (damaged > 0) terminal.say(`${counted(damaged, 'segment')} cannot be read: run \`pinakes verify\``);
  }
  return EXIT_FINE;
}
