/** `pinakes demo`: its options. The code of the command is loaded when the command runs. */
import type { Command } from 'commander';
import { type CommandContext, commandAction } from '../command.ts';

export function registerDemo(program: Command, context: CommandContext, setExitCode: (code: number) => void): void {
  const run = commandAction(context, setExitCode);
  program
    .command('demo')
    .description('create an archive of a sample site, without any network, and serve it')
    .option('--keep <directory>', 'create the archive in this directory and keep it (default: a temporary directory)')
    .option('--port <number>', 'the port of the web page and the API', '8080')
    .option('--replay-port <number>', 'the port of archived pages', '8081')
    .option('--no-open', 'do not open a browser')
    .option('--json', 'print JSON, one value per line')
    .action(run(async () => (await import('./run.ts')).demo));
}
