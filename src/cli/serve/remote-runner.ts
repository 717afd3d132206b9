/**
 * Runs commands in the server for command lines elsewhere: the same commands, with the archive that is open already and
 * a terminal that is far away.
 */
import { Command, CommanderError } from 'commander';
import type { Archive } from '../../archive/index.ts';
import { PinakesError } from '../../base/index.ts';
import type { CommandRunner, RemoteCommand } from '../../server/index.ts';
import { registerArchive } from '../archive/archive.ts';
import type { CommandContext } from '../command.ts';
import { registerCrawl } from '../crawl/crawl.ts';
import { asksForJson, EXIT_FINE, EXIT_REFUSED, helpHint, tellFailure, tellUsage } from '../outcome.ts';
import { registerSearch } from '../search/search.ts';
import { printable, Terminal } from '../terminal.ts';

/** These make or open archives, and the server has its own. */
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
    const { report, begins } = command;
    const context: CommandContext = {
      ...{ terminal, signal, clock, newId, software, argv, directory, archive },
      ...{ report, begins },
    };
    let code = EXIT_FINE;
    const program = newProgram(terminal);
    const ends = (ended: number) => {
      code = ended;
    };
    registerArchive(program, context, ends);
    registerCrawl(program, context, ends);
    registerSearch(program, context, ends);
    try {
      const verb = argv.find((argument) => !argument.startsWith('-')) ?? '';
      if (REFUSED_VERBS.has(verb))
        throw new PinakesError('BAD_ARGUMENT', { where: verb, detail: 'a server does not do this for others' });
      await program.parseAsync([...argv], { from: 'user' });
      await terminal.flush();
    } catch (error) {
      if (error instanceof CommanderError) code = error.exitCode === 0 ? EXIT_FINE : EXIT_REFUSED;
      else code = tellFailure(terminal, error);
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
      outputError: (text) => tellUsage(terminal, text),
    });
}

/** A terminal at the other end of a connection. What goes to either output arrives in the order it was written. */
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

  override watch(): void {}

  override write(bytes: Uint8Array | string): Promise<void> {
    this.clearStatus();
    return this.#inTurn(() => this.#command.stdout(Buffer.from(bytes as Uint8Array)));
  }

  override async flush(): Promise<void> {
    await this.#last;
  }

  override say(text: string): void {
    this.clearStatus();
    this.writeError(Buffer.from(`${this.typable(text)}\n`));
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
    // Who said something does not wait for it; that the client is gone shows in the next write that is waited for, and
    // in the signal.
    this.#inTurn(() => this.#command.stderr(bytes)).catch(() => {});
  }

  override get columns(): number {
    return this.#command.columns;
  }

  #inTurn(send: () => Promise<void>): Promise<void> {
    const next = this.#last.then(send);
    this.#last = next.catch(() => {});
    return next;
  }
}
