/** `pinakes rank`: computes PageRank and citation counts from the links in the index. */

import type { Archive } from '../../archive/index.ts';
import { whenAborted } from '../../base/index.ts';
import { Indexer, type RankOptions, type RankReport } from '../../search/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { formatDuration } from '../progress.ts';
import { RunningCount } from '../running-count.ts';
import { counted } from '../terminal.ts';
import { asOfTime } from './query.ts';

export type RankCommandOptions = ArchiveCommandOptions & { readonly asOf?: string; readonly snapshot?: string };

export async function searchRank(
  context: CommandContext,
  archive: Archive,
  options: RankCommandOptions,
): Promise<number> {
  const asOf = await asOfTime(options);
  const indexer = await Indexer.open(archive);
  try {
    const report = await watchedRank(context, indexer, { asOf });
    const { terminal } = context;
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

const TICK_MS = 500;

/**
 * Computes ranks, shows the elapsed time, and abandons the computation when the signal aborts. The computation is one
 * step that neither reports progress nor takes a signal.
 */
export async function watchedRank(
  { terminal, signal }: CommandContext,
  indexer: Indexer,
  options: RankOptions = {},
): Promise<RankReport> {
  signal.throwIfAborted();
  const count = new RunningCount(terminal, 'rank');
  const startMs = performance.now();
  using _ticking = setInterval(
    () => count.update(`running for ${formatDuration((performance.now() - startMs) / 1000)}`),
    TICK_MS,
  );
  using _abandoning = whenAborted(signal, () => void indexer.abandon());
  try {
    return await indexer.rank(options);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    count.end();
  }
}
