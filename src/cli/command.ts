/** The context that every command gets: where to print, when to stop, the clock, new ids, the version. */
import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Archive } from '../archive/index.ts';
import { badArgument, type Clock, fileError, type IdSource } from '../base/index.ts';
import type { Terminal } from './terminal.ts';

export type CommandContext = {
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly newId: IdSource;
  /** `pinakes/0.1.0`, as written into records. */
  readonly software: string;
  /** The arguments that were typed after the name of the program. */
  readonly argv: readonly string[];
  /** The directory in which the command was typed. Relative paths start here. */
  readonly directory: string;
  /** The user of the machine who typed the command. */
  readonly user: string;
  /** The archive, when the command runs in the server that has it open. */
  readonly archive?: Archive;
  /** Passes the report of the command to its job in that server, where the web interface shows it. */
  readonly reportToJob?: (report: object) => void;
  /**
   * Makes the command a job of that server, just before its first change. Only commands that ask the user first call
   * this, because other jobs should not wait for a person.
   */
  readonly startJob?: () => Promise<void>;
};

/** The values that commander passes to an action: the arguments, the options, and the command. */
export type ActionArguments = Parameters<Parameters<Command['action']>[0]>;

/** Loads the code of a command, which takes the arguments and the options, and returns the exit code. */
export type CommandLoader<Given extends readonly unknown[]> = () => Promise<
  (...args: [...Given, ...ActionArguments]) => Promise<number>
>;

/** An action of a command, which loads the code of the command and runs it. */
export function commandAction(context: CommandContext, setExitCode: (code: number) => void) {
  return (load: CommandLoader<[CommandContext]>) =>
    async (...args: ActionArguments): Promise<void> => {
      const command = await load();
      setExitCode(await command(context, ...args.slice(0, -1)));
    };
}

/**
 * An option that takes one of a few values. Help and completion show the values; the command itself refuses others,
 * with a message of its own.
 */
export function choiceOption(flags: string, description: string, values: readonly string[], preset?: string): Option {
  const option = new Option(flags, description).default(preset);
  option.argChoices = [...values];
  return option;
}

/** Collects the values of an option that may be given several times. */
export function appendValue(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Yields the pieces. Throws when the signal aborts. */
export async function* interruptible(
  pieces: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    signal.throwIfAborted();
    yield piece;
  }
}

/** Resolves a path of the command line for this process: a server runs in another directory than the command. */
export function resolveTypedPath({ archive, directory }: CommandContext, path: string): string {
  return archive ? resolve(directory, path) : path;
}

/** The bytes of a file that the command line names; `-` is standard input. */
export async function* inputBytes(context: CommandContext, file: string): AsyncGenerator<Uint8Array> {
  const { terminal, signal } = context;
  try {
    yield* interruptible(
      file === '-' ? terminal.stdin(signal) : createReadStream(resolveTypedPath(context, file)),
      signal,
    );
  } catch (cause) {
    throw fileError(cause, file);
  }
}

/** Refuses an option that takes the next option as its value, as in `--out --force`: the value was forgotten. */
export function refuseForgottenValues(program: Command, argv: readonly string[]): void {
  program.hook('preAction', (_, action) => {
    const valued = new Set(action.options.filter(({ required }) => required).map(({ long }) => long));
    for (const [at, option] of argv.entries()) {
      if (option === '--') return;
      const value = argv[at + 1] ?? '';
      if (!valued.has(option) || !/^--./.test(value)) continue;
      const detail = `the option needs a value; if ${value} is the value, write ${option}=${value}`;
      throw badArgument(option, detail);
    }
  });
}
