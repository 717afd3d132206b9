/**
 * The verbs around the search index, with their arguments and options. What each does stands in a file of its own,
 * which is loaded when it is asked for, so that other commands start faster.
 */
import { type Command, Option } from 'commander';
import { archiveCommand, withArchive } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';

export function registerSearch(program: Command, context: CommandContext, ends: (code: number) => void): void {
  archiveCommand(program, 'index', 'bring the search index up to what the archive holds')
    .option('--rebuild', 'make the index anew; the old one serves meanwhile')
    .option('--no-rank', 'leave ranks and citation counts as they are')
    .action(async (options) =>
      ends(
        await withArchive(context, options, 'index', async (archive) =>
          (await import('./indexing.ts')).searchIndex(context, archive, options),
        ),
      ),
    );

  archiveCommand(program, 'search', 'search the pages of the archive')
    .showHelpAfterError(
      "(what begins with a dash is taken for an option: quote the whole query, as in 'flood -river', or put -- before it;\n conditions are words of the query, as in 'flood collection:spring from:2010'; --help for more)",
    )
    .argument('<query...>', 'words, "phrases", -not, OR, and fields; docs/search.md has the language')
    .option('--limit <number>', 'how many results', '20')
    .option('--after <token>', 'the next page; the token is printed behind the last result')
    .addOption(
      new Option('--sort <order>', 'order of the results')
        .choices(['relevance', 'date', 'oldest', 'inlinks', 'rank'])
        .default('relevance'),
    )
    .addOption(
      new Option('--group <what>', 'one result a URL, or a capture').choices(['url', 'capture']).default('url'),
    )
    .option('--as-of <time>', 'only captures up to this time')
    .option('--snapshot <name>', 'only captures up to the time of this snapshot')
    .option('--facets', 'also how the results divide by site, type, language, year and collection')
    .action(async (query, options) => ends(await (await import('./query.ts')).searchQuery(context, query, options)));

  archiveCommand(program, 'links', 'list the links to or from a page, or all of them as a table')
    .argument('[url]', 'the page; without it, --out takes all links')
    .addOption(
      new Option('--direction <direction>', 'links to the page, or from it').choices(['in', 'out']).default('in'),
    )
    .option('--at <time>', 'as it was at this time')
    .option('--limit <number>', 'how many', '100')
    .option('--out <file>', 'write the edges of the whole link graph: .csv or .parquet')
    .option('--force', 'replace a file that exists')
    .action(async (url, options) => ends(await (await import('./links.ts')).searchLinks(context, url, options)));

  archiveCommand(program, 'rank', 'compute PageRank and citation counts from the links of the index')
    .option('--as-of <time>', 'the links as they were at this time')
    .option('--snapshot <name>', 'the links as they were at the time of this snapshot')
    .action(async (options) =>
      ends(
        await withArchive(context, options, 'rank', async (archive) =>
          (await import('./rank.ts')).searchRank(context, archive, options),
        ),
      ),
    );

  const snapshot = program.command('snapshot').description('named states of the archive, kept from compaction');
  archiveCommand(snapshot, 'create', 'name the state that the archive has now')
    .argument('<name>', 'letters, digits, dots, dashes and underscores')
    .action(async (name, options) =>
      ends(
        await withArchive(context, options, 'snapshot create', async (archive) =>
          (await import('./snapshot.ts')).snapshotCreate(context, archive, name, options),
        ),
      ),
    );
  archiveCommand(snapshot, 'ls', 'list the snapshots').action(async (options) =>
    ends(
      await withArchive(context, options, 'snapshot ls', async (archive) =>
        (await import('./snapshot.ts')).snapshotLs(context, archive, options),
      ),
    ),
  );
  archiveCommand(snapshot, 'rm', 'give a snapshot up; compaction may then take out what it kept')
    .argument('<name>')
    .action(async (name, options) =>
      ends(
        await withArchive(context, options, 'snapshot rm', async (archive) =>
          (await import('./snapshot.ts')).snapshotRm(context, archive, name, options),
        ),
      ),
    );
}
