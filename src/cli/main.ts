/** The command line: `pinakes <command>`. Reads the arguments, runs one command, and exits with its code. */
import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { Command, CommanderError } from 'commander';
import { registerArchive } from './archive/archive.ts';
import { type CommandContext, refuseForgottenValues } from './command.ts';
import { registerCompletion } from './completion.ts';
import { registerCrawl } from './crawl/crawl.ts';
import { registerDemo } from './demo/demo.ts';
import { asksForJson, EXIT_REFUSED, helpHint, printFailure, printUsageError } from './outcome.ts';
import { programName } from './program-name.ts';
import { registerSearch } from './search/search.ts';
import { registerServe, registerVolumeServer } from './serve/serve.ts';
import { registerSlim } from './slim/slim.ts';
import { Terminal } from './terminal.ts';
import { VERSION } from './version.ts';
import { registerWarc } from './warc/warc.ts';

const terminal = new Terminal(programName(process.env));
terminal.hasJsonFailures = asksForJson(process.argv);
terminal.catchOutputErrors();
const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());

const context: CommandContext = {
  terminal,
  signal: interrupt.signal,
  clock: Date.now,
  newId: () => `<urn:uuid:${randomUUID()}>`,
  software: `pinakes/${VERSION}`,
  argv: process.argv.slice(2),
  directory: process.cwd(),
  user: userName(),
};

/** The name of the user, also where the system has none for the number of the user, as in some containers. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

function setExitCode(code: number): void {
  process.exitCode = code;
}

const program = new Command('pinakes')
  .description('A web archive that keeps every distinct content once, on plain WARC files.')
  .version(VERSION)
  .showHelpAfterError(helpHint(terminal, '(add --help for more)'))
  // Also wraps descriptions beside long option names, such as the options of `slim`.
  .configureHelp({ minWidthToWrap: 20 })
  .configureOutput({ outputError: (text) => printUsageError(terminal, text) })
  .exitOverride();

refuseForgottenValues(program, context.argv);

registerWarc(program, context, setExitCode);
registerSlim(program, context, setExitCode);
registerArchive(program, context, setExitCode);
registerCrawl(program, context, setExitCode);
registerServe(program, context, setExitCode);
registerVolumeServer(program, context, setExitCode);
registerSearch(program, context, setExitCode);
registerDemo(program, context, setExitCode);
registerCompletion(program, context, setExitCode);

// Subcommands keep the hint they inherited. This one is shown when an option of a command comes before the command.
program.showHelpAfterError(
  helpHint(terminal, '(write the command first and its options after it; add --help for more)'),
);

// `help warc ls` shows the help of `warc ls`; commander would show that of `warc`.
const [first, ...words] = context.argv;
const typed = first === 'help' && words.length > 1 ? [...words, '--help'] : context.argv;

try {
  await program.parseAsync(typed, { from: 'user' });
  await terminal.flush();
} catch (error) {
  if (error instanceof CommanderError) setExitCode(error.exitCode === 0 ? 0 : EXIT_REFUSED);
  else setExitCode(printFailure(terminal, error));
}
