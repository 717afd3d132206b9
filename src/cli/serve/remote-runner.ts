/**
 * Runs commands in the server for other processes: the same commands, with the archive that the server has open, and
 * with a terminal at the other end of a connection.
 */
import { Command, CommanderError } from 'commander';
import type { Archive } from '../../archive/index.ts';
import { badArgument } from '../../base/index.ts';
import type { CommandRunner, RemoteCommand } from '../../server/index.ts';
import { registerArchive } from '../archive/archive.ts';
import type { CommandContext } from '../command.ts';
import { registerCrawl } from '../crawl/crawl.ts';
import { asksForJson, EXIT_FINE, EXIT_REFUSED, helpHint, printFailure, printUsageError } from '../outcome.ts';
import { registerSearch } from '../search/search.ts';
import { printable, Terminal } from '../terminal.ts';

/** Commands that create or open an archive. A server has its own archive open. */
const REFUSED_VERBS = new Set(['init', 'serve']);

export function commandRunner(
  server: Pick<CommandContext, 'clock' | 'newId' | 'software' | 'terminal'>,
  archive: Archive,
): CommandRunner {
  return async (command) => {
    const { clock, newId, software } = server;
    const { signal, argv, directory } = command;
    const terminal = new RemoteTerminal(command, server.terminal.program);
    terminal.hasJsonFailures = asksForJson(argv);
    const job = { reportToJob: command.report, startJob: command.begins };
    const { user } = command;
    const context = { terminal, signal, clock, newId, software, argv, directory, user, archive, ...job };
    let code = EXIT_FINE;
    const program = newProgram(terminal);
    const setExitCode = (exitCode: number) => {
      code = exitCode;
    };
    registerArchive(program, context, setExitCode);
    registerCrawl(program, context, setExitCode);
    registerSearch(program, context, setExitCode);
    try {
      const verb = argv.find((argument) => !argument.startsWith('-')) ?? '';
      if (REFUSED_VERBS.has(verb)) throw badArgument(verb, 'this command cannot run in a server');
      await program.parseAsync([...argv], { from: 'user' });
      await terminal.flush();
    } catch (error) {
      if (error instanceof CommanderError) code = error.exitCode === 0 ? EXIT_FINE : EXIT_REFUSED;
      else code = printFailure(terminal, error);
      await terminal.flush().catch(() => {});
    }
    return code;
  };
}

function newProgram(terminal: RemoteTerminal): Command {
  return new Command('pinakes')
    .showHelpAfterError(helpHint(terminal, '(add --help for more)'))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void terminal.write(text).catch(() => {}),
      writeErr: (text) => terminal.writeError(Buffer.from(text)),
      outputError: (text) => printUsageError(terminal, text),
    });
}

/**
 * A terminal at the other end of a connection. Both outputs share one queue, so bytes arrive in the order of writing.
 */
class RemoteTerminal extends Terminal {
  override readonly isInteractive: boolean;
  readonly #command: RemoteCommand;
  #last: Promise<void> = Promise.resolve();
  #hasStatus = false;

  constructor(command: RemoteCommand, program: string) {
    super(program);
    this.#command = command;
    this.isInteractive = command.isTerminal;
  }

  override catchOutputErrors(): void {}

  override write(bytes: Uint8Array | string): Promise<void> {
    this.clearStatus();
    return this.#enqueue(() => this.#command.stdout(Buffer.from(bytes as Uint8Array)));
  }

  override async flush(): Promise<void> {
    await this.#last;
  }

  override say(text: string): void {
    this.clearStatus();
    this.writeError(Buffer.from(`${this.expandCommands(text)}\n`));
  }

  override status(text: string): void {
    this.#command.status(printable(text));
    if (!this.isInteractive) return;
    this.writeError(Buffer.from(`\r\x1b[K${printable(text).slice(0, Math.max(20, this.columns - 1))}`));
    this.#hasStatus = true;
  }

  override clearStatus(): void {
    if (this.#hasStatus) this.writeError(Buffer.from('\r\x1b[K'));
    this.#hasStatus = false;
  }

  override async ask(question: string): Promise<string | undefined> {
    await this.#last;
    return this.#command.ask(question);
  }

  override stdin(): AsyncIterable<Uint8Array> {
    return this.#command.stdin();
  }

  override writeError(bytes: Uint8Array): void {
    // Not awaited: when the client is gone, the signal or the next awaited write reports it.
    this.#enqueue(() => this.#command.stderr(bytes)).catch(() => {});
  }

  override get columns(): number {
    return this.#command.columns;
  }

  #enqueue(send: () => Promise<void>): Promise<void> {
    const next = this.#last.then(send);
    this.#last = next.catch(() => {});
    return next;
  }
}
