/** `pinakes index`: brings the search index up to date with the archive. */
import type { Archive } from '../../archive/index.ts';
import { Indexer } from '../../search/index.ts';
import type { ArchiveCommandOptions } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { DamageTally } from '../damage-tally.ts';
import { EXIT_FINE, EXIT_FOUND } from '../outcome.ts';
import { RunningCount } from '../running-count.ts';
import { counted, formatBytes, formatFinding } from '../terminal.ts';
import { watchedRank } from './rank.ts';

export type IndexCommandOptions = ArchiveCommandOptions & { readonly rebuild?: boolean; readonly rank?: boolean };

const FINDINGS_SHOWN_MAX = 20;

export async function searchIndex(
  context: CommandContext,
  archive: Archive,
  options: IndexCommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  const indexer = await Indexer.open(archive, { isRebuild: options.rebuild === true });
  const count = new RunningCount(terminal, 'index');
  const damage = new DamageTally(terminal, 'index');
  let findings = 0;
  try {
    const report = await indexer.catchUp({
      signal,
      onProgress: ({ tally, records }) =>
        count.update(`${counted(records, 'record')}, ${counted(tally.documents, 'content')} read`),
      onDamage: damage.add,
      onFinding: (finding) => {
        if (++findings <= FINDINGS_SHOWN_MAX) terminal.say(formatFinding(finding));
      },
    });
    count.end();
    damage.end();
    const rank = options.rank !== false && indexer.isRankDue ? await watchedRank(context, indexer) : undefined;
    const { wordsMs: _, busyMs: __, ...figures } = report;
    if (options.json) await terminal.json({ ...figures, ...(rank && { rank }) });
    else {
      const what = `${counted(report.captures, 'capture')}, ${counted(report.redirects, 'redirect')} and ${counted(report.documents, 'content')} of ${formatBytes(report.bytes)} indexed`;
      await terminal.line(`${what}, ${counted(report.removed, 'capture')} removed`);
      if (rank)
        await terminal.line(`ranked ${counted(rank.urls, 'page')} by ${counted(rank.links, 'link')} between them`);
      if (report.partlyRead > 0)
        terminal.say(
          `Only a part of ${counted(report.partlyRead, 'content')} was indexed; docs/search.md has the limits.`,
        );
      if (findings > FINDINGS_SHOWN_MAX)
        terminal.say(`... and ${findings - FINDINGS_SHOWN_MAX} more of text-too-costly`);
      if (report.isAnew)
        terminal.say('It is not known where the last run stopped, so everything was gone through again.');
    }
    return damage.count > 0 ? EXIT_FOUND : EXIT_FINE;
  } finally {
    count.end();
    await indexer.close();
  }
}
