/** `pinakes serve` and `pinakes volume serve`: their options. Their code is loaded when they run. */
import type { Command } from 'commander';
import { archiveCommand } from '../archive-command.ts';
import { appendValue, type CommandContext, choiceOption, commandAction } from '../command.ts';
import { withSignInFlags } from './sign-in-options.ts';

export function registerServe(program: Command, context: CommandContext, setExitCode: (code: number) => void): void {
  const run = commandAction(context, setExitCode);
  const serve = archiveCommand(program, 'serve', 'serve the archive over HTTP: web page, replay, CDX, Memento and API')
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
    .option(
      '--rate-limit <rate>',
      'how many requests one client may send, such as 50/s, 600/m or 10000/h (default: any)',
    )
    .option('--connections <number>', 'how many connections each of the two ports may have', '4096')
    .option('--connections-per-address <number>', 'how many of them may come from one address', '512')
    .option('--leave-seconds <number>', 'how long requests and jobs under way may take after a signal to stop', '30')
    .option('--socket-directory <directory>', 'listen on web.sock and replay.sock there instead of ports, for a proxy')
    .option('--private', 'require a token or a sign-in for reading too')
    .option('--insecure', 'allow plain HTTP on an address that other machines reach; without it only this machine is')
    .option('--init', 'create an empty archive when there is none')
    .option('--no-index', 'do not update the search index; `pinakes index` does it');
  withSignInFlags(serve).action(run(async () => (await import('./run.ts')).serve));
  registerTokens(program, run);
}

function registerTokens(program: Command, run: ReturnType<typeof commandAction>): void {
  const token = program.command('token').description('make, list and revoke named tokens for the server of an archive');
  archiveCommand(token, 'add', 'make a token and print it; it is shown only once')
    .argument('<name>', 'who or what the token is for')
    .requiredOption('--rights <rights>', 'what it may do, with commas between: read, add, crawl, delete, admin')
    .option('--collections <names>', 'only for these collections, with commas between (default: all)')
    .option('--expires <time>', 'how long it is valid: 12h, 90d, 8w, 1y (default: until it is revoked)')
    .option('--quota <size>', 'how much may be stored with it: 500MB, 100GB (default: any amount)')
    .action(run(async () => (await import('./token.ts')).tokenAdd));

  archiveCommand(token, 'ls', 'list the tokens, with what was stored with each').action(
    run(async () => (await import('./token.ts')).tokenLs),
  );

  archiveCommand(token, 'revoke', 'refuse a token from now on')
    .argument('<name>')
    .option('--dry-run', 'only check that there is such a token')
    .action(run(async () => (await import('./token.ts')).tokenRevoke));
}

/** The commands of the volume server, among those of volumes. They need no archive. */
export function registerVolumeServer(
  program: Command,
  context: CommandContext,
  setExitCode: (code: number) => void,
): void {
  const run = commandAction(context, setExitCode);
  const volume = program.commands.find((command) => command.name() === 'volume')!;
  volume
    .command('serve')
    .description('serve a directory as a volume for archives on other machines, over S3')
    .argument('<directory>', 'the directory of the objects')
    .option('--listen <address>', 'the address and port to listen on, like 192.0.2.7:9000', '127.0.0.1:9000')
    .option('--tls-cert <file>', 'the certificate, with its chain, as PEM')
    .option('--tls-key <file>', 'the key of the certificate, as PEM')
    .option('--insecure', 'allow plain HTTP also for other machines')
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
      '--proxy <address>',
      'a proxy in front of the server, which may open any number of connections; may be repeated',
      appendValue,
    )
    .option('--json', 'print JSON, one value per line')
    .action(run(async () => (await import('./volume-server.ts')).volumeServe));

  const key = volume.command('key').description('the keys with which archives use a volume server');
  key
    .command('add')
    .description('add a key, and print its secret, which is shown only here')
    .argument('<name>', 'lower-case letters, digits and dashes')
    .requiredOption('--dir <directory>', 'the directory of the volume server')
    .requiredOption(
      '--prefix <bucket/prefix>',
      'what the key can see: a bucket, a folder in a bucket, or / for all buckets',
    )
    .addOption(choiceOption('--rights <rights>', 'what the key may do', ['read', 'write'], 'write'))
    .option('--json', 'print JSON, one value per line')
    .action(run(async () => (await import('./volume-keys.ts')).volumeKeyAdd));
  key
    .command('ls')
    .description('list the keys, without their secrets')
    .requiredOption('--dir <directory>', 'the directory of the volume server')
    .option('--json', 'print JSON, one value per line')
    .action(run(async () => (await import('./volume-keys.ts')).volumeKeyLs));
  key
    .command('rm')
    .description('remove a key; a running server refuses it at once')
    .argument('<name>')
    .requiredOption('--dir <directory>', 'the directory of the volume server')
    .option('--json', 'print JSON, one value per line')
    .action(run(async () => (await import('./volume-keys.ts')).volumeKeyRm));
}
