/** `pinakes serve`: its options. What it does is loaded when it is asked for. */
import type { Command } from 'commander';
import { archiveCommand } from '../archive-command.ts';
import { type CommandContext, choiceOption } from '../command.ts';

export function registerServe(program: Command, context: CommandContext, ends: (code: number) => void): void {
  archiveCommand(program, 'serve', 'answer over HTTP: the web page, replay, CDX, Memento and the API')
    .option('--port <number>', 'port of the web page and the API', '8080')
    .option('--replay-port <number>', 'port of archived pages, an origin of its own', '8081')
    .option('--host <address>', 'address of this machine to listen at; 0.0.0.0 for all', '127.0.0.1')
    .option('--ui-origin <origin>', 'where browsers find the web page, when a proxy stands before it')
    .option('--replay-origin <origin>', 'where browsers find archived pages, likewise')
    .option('--access-log <file>', 'write a line about each request; - for standard error')
    .addOption(
      choiceOption('--access-log-format <format>', 'common: as other servers write it', ['json', 'common'], 'json'),
    )
    .option('--token <token>', 'what writing takes, or @FILE that holds it (default: made anew at each start)')
    .option('--add-root <directory>', 'let jobs add files from below this directory only; may be given again', gathered)
    .option('--upload-max <bytes>', 'the largest upload that is taken (default: as much as the disk has room for)')
    .option(
      '--proxy <address>',
      'a proxy before the server, whose connections are not bounded; may be given again',
      gathered,
    )
    .option('--init', 'make an empty archive when there is none')
    .option('--no-index', 'leave the search index as it is; `pinakes index` brings it up to date')
    .action(async (options) => ends(await (await import('./run.ts')).serve(context, options)));
}

function gathered(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
