/**
 * `pinakes crawl`: its arguments and options. What it does is loaded when it is asked for, so that other commands start
 * faster.
 */
import type { Command } from 'commander';
import { archiveCommand, withArchive } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { addCrawlOptions, type CrawlCommandOptions } from './options.ts';

export function registerCrawl(program: Command, context: CommandContext, ends: (code: number) => void): void {
  addCrawlOptions(
    archiveCommand(program, 'crawl', 'fetch sites into the archive, politely; what is known is stored once'),
  )
    .argument('[seeds...]', 'URLs to begin with')
    .action(async (seeds: string[], options: CrawlCommandOptions) =>
      ends(
        await withArchive(context, options, 'crawl', async (archive) =>
          (await import('./run.ts')).crawlCommand(context, archive, seeds, options),
        ),
      ),
    );
}
