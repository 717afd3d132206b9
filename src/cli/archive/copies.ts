/** `pinakes volume copies`: makes the copies of contents that the policy of the archive asks for. */
import type { Archive } from '../../archive/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { counted, formatBytes } from '../terminal.ts';

export async function volumeCopies(
  { terminal, signal }: CommandContext,
  archive: Archive,
  options: ArchiveCommandOptions & { readonly dryRun?: boolean },
): Promise<number> {
  const dryRun = options.dryRun === true;
  const report = await archive.makeCopies({
    dryRun,
    signal,
    onProgress: ({ contents, bytes }) => terminal.status(`copies: ${contents} made, ${formatBytes(bytes)}`),
  });
  terminal.clearStatus();
  if (options.json) await terminal.json({ isDone: !dryRun, ...report });
  else {
    const noun = report.copies === 1 ? 'copy' : 'copies';
    const what = `${report.copies} ${noun} of ${formatBytes(report.bytes)}`;
    const lacking =
      report.lacking > 0 ? `; ${counted(report.lacking, 'content')} cannot have as many as asked for` : '';
    const none = archive.connector.policies.copies ? '' : ' (archive.yaml has no policy `copies`)';
    await terminal.line(`${dryRun ? 'would make' : 'made'} ${what}${lacking}${none}`);
  }
  return EXIT_FINE;
}
