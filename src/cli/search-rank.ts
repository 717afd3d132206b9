/** `pinakes rank`: PageRank and citation counts over the links of the index. */
import type { Archive } from '../archive/index.ts';
import { Indexer } from '../search/index.ts';
import type { ArchiveCommandOptions } from './archive-command.ts';
import type { CommandContext } from './command.ts';
import { EXIT_FINE } from './outcome.ts';
import { timeAsked } from './search-query.ts';
import { counted } from './terminal.ts';

export type RankCommandOptions = ArchiveCommandOptions & { readonly asOf?: string; readonly snapshot?: string };

export async function searchRank(
  { terminal }: CommandContext,
  archive: Archive,
  options: RankCommandOptions,
): Promise<number> {
  const asOf = await timeAsked(options);
  const indexer = await Indexer.open(archive);
  try {
    const report = await indexer.rank({ asOf });
    if (options.json) await terminal.json(report);
    else
      await terminal.line(
        `ranked ${counted(report.urls, 'page')} by ${counted(report.links, 'link')} between them, in ${counted(report.iterations, 'round')}`,
      );
    return EXIT_FINE;
  } finally {
    await indexer.close();
  }
}
