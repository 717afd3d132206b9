/** What every command gets: where to print, when to stop, the time, fresh ids, the version. */
import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Archive } from '../archive/index.ts';
import { type Clock, fileError, type IdSource, PinakesError } from '../base/index.ts';
import type { Terminal } from './terminal.ts';

export type CommandContext = {
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly newId: IdSource;
  /** `pinakes/0.1.0`, as written into records. */
  readonly software: string;
  /** What was typed behind the name of the program. */
  readonly argv: readonly string[];
  /** Where the command was typed: relative paths begin here. */
  readonly directory: string;
  /** The archive, when the command runs in the server that has it open. */
  readonly archive?: Archive;
  /** What came of it, for those who watch the command as a job of that server. */
  readonly report?: (report: object) => void;
  /** Tells that server that the command has looked and asked, and now changes something. */
  readonly begins?: () => Promise<void>;
};

/**
 * An option that takes one of a few values. Help and completion tell which; the command refuses others in its own
 * words.
 */
export function choiceOption(flags: string, description: string, values: readonly string[], preset?: string): Option {
  const option = new Option(flags, description).default(preset);
  option.argChoices = [...values];
  return option;
}

/** Pieces as they come, until the person has had enough. */
export async function* interruptible(
  pieces: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    signal.throwIfAborted();
    yield piece;
  }
}

/** A path on the command line, as this process has to open it. A server stands in a directory of its own. */
export function pathFrom({ archive, directory }: CommandContext, path: string): string {
  return archive ? resolve(directory, path) : path;
}

/** The bytes of a file on the command line; `-` is standard input. */
export async function* inputBytes(context: CommandContext, file: string): AsyncGenerator<Uint8Array> {
  const { terminal, signal } = context;
  try {
    yield* interruptible(file === '-' ? terminal.stdin(signal) : createReadStream(pathFrom(context, file)), signal);
  } catch (cause) {
    throw fileError(cause, file);
  }
}

/** Refuses an option that takes the one behind it for its value, as in `--out --force`: the value was forgotten. */
export function refuseForgottenValues(program: Command, argv: readonly string[]): void {
  program.hook('preAction', (_, action) => {
    const valued = new Set(action.options.filter(({ required }) => required).map(({ long }) => long));
    for (const [at, option] of argv.entries()) {
      if (option === '--') return;
      const value = argv[at + 1] ?? '';
      if (!valued.has(option) || !/^--./.test(value)) continue;
      const detail = `it needs a value; if ${value} is the value, write ${option}=${value}`;
      throw new PinakesError('BAD_ARGUMENT', { where: option, detail });
    }
  });
}
