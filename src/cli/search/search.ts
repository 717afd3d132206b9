/**
 * The commands on the search index, with their arguments and options. The code of each command is in a file of its own,
 * which is loaded when the command runs, so that other commands start faster.
 */
import { type Command, Option } from 'commander';
import { archiveAction, archiveCommand } from '../archive-command.ts';
import { type CommandContext, commandAction } from '../command.ts';

export function registerSearch(program: Command, context: CommandContext, setExitCode: (code: number) => void): void {
  const run = commandAction(context, setExitCode);
  const runInArchive = archiveAction(context, setExitCode);
  archiveCommand(program, 'index', 'bring the search index up to date with the archive')
    .option('--rebuild', 'build the index again; searches use the old one until it is done')
    .option('--no-rank', 'do not update ranks and citation counts')
    .action(runInArchive('index', async () => (await import('./indexing.ts')).searchIndex));

  archiveCommand(program, 'search', 'search the pages of the archive')
    .showHelpAfterError(
      "(a word that starts with a dash is read as an option: quote the whole query, as in 'flood -river', or write -- before it;\n write conditions as words of the query, as in 'flood collection:spring from:2010'; add --help for more)",
    )
    .argument('<query...>', 'words, "phrases", -not, OR, and fields; docs/search.md describes the language')
    .option('--limit <number>', 'the number of results', '20')
    .option('--after <token>', 'show the next page; the token is printed after the last result')
    .addOption(
      new Option('--sort <order>', 'the order of the results')
        .choices(['relevance', 'date', 'oldest', 'inlinks', 'rank'])
        .default('relevance'),
    )
    .addOption(
      new Option('--group <what>', 'one result per URL, or per capture').choices(['url', 'capture']).default('url'),
    )
    .option('--as-of <time>', 'only captures up to this time')
    .option('--snapshot <name>', 'only captures up to the time of this snapshot')
    .option('--facets', 'also count the results by site, type, language, year and collection')
    .action(run(async () => (await import('./query.ts')).searchQuery));

  archiveCommand(program, 'links', 'list the links to or from a page, or all links as a table')
    .argument('[url]', 'the URL of the page; not needed with --out')
    .addOption(
      new Option('--direction <direction>', 'links to the page (in) or from it (out)')
        .choices(['in', 'out'])
        .default('in'),
    )
    .option('--at <time>', 'the links as they were at this time')
    .option('--limit <number>', 'the number of links', '100')
    .option('--out <file>', 'write all links to this file: .csv or .parquet')
    .option('--force', 'replace an existing file')
    .action(run(async () => (await import('./links.ts')).searchLinks));

  archiveCommand(program, 'rank', 'compute PageRank and citation counts from the links in the index')
    .option('--as-of <time>', 'the links as they were at this time')
    .option('--snapshot <name>', 'the links as they were at the time of this snapshot')
    .action(runInArchive('rank', async () => (await import('./rank.ts')).searchRank));

  const snapshot = program
    .command('snapshot')
    .description('create, list and remove named states of the archive, which compaction keeps');
  archiveCommand(snapshot, 'create', 'give the current state of the archive a name')
    .argument('<name>', 'letters, digits, dots, dashes and underscores')
    .action(runInArchive('snapshot create', async () => (await import('./snapshot.ts')).snapshotCreate));
  archiveCommand(snapshot, 'ls', 'list the snapshots').action(
    runInArchive('snapshot ls', async () => (await import('./snapshot.ts')).snapshotLs),
  );
  archiveCommand(snapshot, 'rm', 'remove a snapshot; compaction may then remove what only it kept')
    .argument('<name>')
    .action(runInArchive('snapshot rm', async () => (await import('./snapshot.ts')).snapshotRm));
}
