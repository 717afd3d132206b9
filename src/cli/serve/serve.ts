/** `pinakes serve`: its options. The code of the command is loaded when the command runs. */
import type { Command } from 'commander';
import { archiveCommand } from '../archive-command.ts';
import { appendValue, type CommandContext, choiceOption, commandAction } from '../command.ts';

export function registerServe(program: Command, context: CommandContext, setExitCode: (code: number) => void): void {
  const run = commandAction(context, setExitCode);
  archiveCommand(program, 'serve', 'serve the archive over HTTP: web page, replay, CDX, Memento and API')
    .option('--port <number>', 'the port of the web page and the API', '8080')
    .option('--replay-port <number>', 'the port of archived pages, which have an origin of their own', '8081')
    .option('--host <address>', 'the address of this machine to listen on; 0.0.0.0 for all', '127.0.0.1')
    .option('--ui-origin <origin>', 'the origin of the web page in browsers, when a proxy is in front of the server')
    .option(
      '--replay-origin <origin>',
      'the origin of archived pages in browsers, when a proxy is in front of the server',
    )
    .option('--access-log <file>', 'write one line per request to this file; - for standard error')
    .addOption(
      choiceOption(
        '--access-log-format <format>',
        'the format of the access log; common: the combined log format of other servers',
        ['json', 'common'],
        'json',
      ),
    )
    .option(
      '--token <token>',
      'the token that changes need, or @FILE to read it from a file (default: a new one at each start)',
    )
    .option('--add-root <directory>', 'let jobs add files only from below this directory; may be repeated', appendValue)
    .option('--upload-max <bytes>', 'the size of the largest upload (default: the free space of the disk)')
    .option(
      '--proxy <address>',
      'a proxy in front of the server, which may open any number of connections; may be repeated',
      appendValue,
    )
    .option('--init', 'create an empty archive when there is none')
    .option('--no-index', 'do not update the search index; `pinakes index` does it')
    .action(run(async () => (await import('./run.ts')).serve));
}
