/**
 * `pinakes crawl`: its arguments and options. The code of the command is loaded when the command runs, so that other
 * commands start faster.
 */
import type { Command } from 'commander';
import { archiveAction, archiveCommand } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { addCrawlOptions } from './options.ts';

export function registerCrawl(program: Command, context: CommandContext, setExitCode: (code: number) => void): void {
  const runInArchive = archiveAction(context, setExitCode);
  addCrawlOptions(
    archiveCommand(program, 'crawl', 'fetch sites into the archive, politely; every content is stored once'),
  )
    .argument('[seeds...]', 'the URLs to start from')
    .action(runInArchive('crawl', async () => (await import('./run.ts')).crawlCommand));
}
