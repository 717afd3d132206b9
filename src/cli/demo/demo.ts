/** `pinakes demo`: its options. What it does is loaded when it is asked for. */
import type { Command } from 'commander';
import type { CommandContext } from '../command.ts';

export function registerDemo(program: Command, context: CommandContext, ends: (code: number) => void): void {
  program
    .command('demo')
    .description('make an archive of a sample site, without any network, and serve it')
    .option('--keep <directory>', 'make the archive here and leave it (default: a temporary one)')
    .option('--port <number>', 'port of the web page and the API', '8080')
    .option('--replay-port <number>', 'port of archived pages', '8081')
    .option('--no-open', 'do not open a browser')
    .option('--json', 'answer in JSON, one value a line')
    .action(async (options) => ends(await (await import('./run.ts')).demo(context, options)));
}
