/** `pinakes volume rebalance`: moves records to the volumes that the policy of the archive chooses for them. */
import type { Archive } from '../../archive/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';
import { counted, formatBytes, printable } from '../terminal.ts';

export async function volumeRebalance(
  { terminal, signal }: CommandContext,
  archive: Archive,
  options: ArchiveCommandOptions & { readonly dryRun?: boolean },
): Promise<number> {
  const dryRun = options.dryRun === true;
  const { distribution, moves, staying } = await archive.rebalance({
    dryRun,
    signal,
    onProgress: ({ segment, records, bytes }) =>
      terminal.status(`rebalance: ${counted(records, 'record')} of ${formatBytes(bytes)} moved, ${segment}`),
  });
  terminal.clearStatus();
  if (options.json) await terminal.json({ isDone: !dryRun, distribution, moves, staying });
  else {
    const verb = dryRun ? 'would move' : 'moved';
    for (const { from, to, records, bytes } of moves)
      await terminal.line(`${verb} ${counted(records, 'record')} of ${formatBytes(bytes)} from ${from} to ${to}`);
    if (moves.length === 0) await terminal.line(`nothing to move: everything is where \`${distribution}\` puts it`);
  }
  for (const { segment, why } of staying) terminal.say(printable(`${segment} stays as it is: ${why}`));
  return staying.length > 0 ? EXIT_FOUND : EXIT_FINE;
}
