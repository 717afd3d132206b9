/** The command line: `pinakes <verb>`. Reads arguments, runs one command, ends with its exit code. */
import { randomUUID } from 'node:crypto';
import { Command, CommanderError } from 'commander';
import { registerArchive } from './archive/archive.ts';
import { type CommandContext, refuseForgottenValues } from './command.ts';
import { registerCompletion } from './completion.ts';
import { registerCrawl } from './crawl/crawl.ts';
import { registerDemo } from './demo/demo.ts';
import { asksForJson, EXIT_REFUSED, helpHint, tellFailure, tellUsage } from './outcome.ts';
import { programName } from './program-name.ts';
import { registerSearch } from './search/search.ts';
import { registerServe } from './serve/serve.ts';
import { registerSlim } from './slim/slim.ts';
import { Terminal } from './terminal.ts';
import { VERSION } from './version.ts';
import { registerWarc } from './warc/warc.ts';

const terminal = new Terminal(programName(process.env));
terminal.hasJsonFailures = asksForJson(process.argv);
terminal.watch();
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
};

function ends(code: number): void {
  process.exitCode = code;
}

const program = new Command('pinakes')
  .description('A web archive that keeps every distinct content once, on plain WARC files.')
  .version(VERSION)
  .showHelpAfterError(helpHint(terminal, '(add --help for more)'))
  // Also beside long names, as those of `slim`, what they mean is wrapped.
  .configureHelp({ minWidthToWrap: 20 })
  .configureOutput({ outputError: (text) => tellUsage(terminal, text) })
  .exitOverride();

refuseForgottenValues(program, context.argv);

registerWarc(program, context, ends);

registerSlim(program, context, ends);

registerArchive(program, context, ends);

registerCrawl(program, context, ends);

registerServe(program, context, ends);

registerSearch(program, context, ends);

registerDemo(program, context, ends);

registerCompletion(program, context, ends);

// What subcommands inherit stays: this is for who begins with an option of theirs.
program.showHelpAfterError(helpHint(terminal, '(the command comes first, its options behind it; add --help for more)'));

// `help warc ls` is the help of `warc ls`, and not only that of `warc`.
const [first, ...words] = context.argv;
const typed = first === 'help' && words.length > 1 ? [...words, '--help'] : context.argv;

try {
  await program.parseAsync(typed, { from: 'user' });
  await terminal.flush();
} catch (error) {
  if (error instanceof CommanderError) ends(error.exitCode === 0 ? 0 : EXIT_REFUSED);
  else ends(tellFailure(terminal, error));
}
