/**
 * Standard output and standard error; no other file uses them. Results go to standard output, messages to standard
 * error. Writing waits while the reader is slow, so that a long listing never fills the memory (I9).
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { addAbortSignal } from 'node:stream';
import { type Finding, fileError } from '../base/index.ts';

/** Standard output cannot be written: its reader is gone, as in `pinakes ... | head`, or its disk is full. */
export class OutputFailed extends Error {
  override readonly name = 'OutputFailed';
  /** True when the reader closed the pipe, which is not a failure. */
  readonly isReaderGone: boolean;

  constructor(cause: NodeJS.ErrnoException) {
    super('standard output cannot be written', { cause: fileError(cause, 'standard output', 'writing') });
    this.isReaderGone = cause.code === 'EPIPE';
  }
}

export class Terminal {
  readonly isInteractive: boolean = process.stderr.isTTY === true;
  /** The name of the program in commands that are shown. */
  readonly program: string;
  /** The archive that the command line names; undefined when it names none. */
  namedArchive: string | undefined;
  /** Whether failures are printed as JSON. */
  hasJsonFailures = false;
  #hasStatus = false;
  #failure: OutputFailed | undefined;

  constructor(program = 'pinakes') {
    this.program = program;
  }

  /** From now on a broken output makes `write` and `flush` throw `OutputFailed` instead of crashing the process. */
  catchOutputErrors(): void {
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      this.#failure ??= new OutputFailed(error);
    });
    process.stderr.on('error', () => {});
  }

  async write(bytes: Uint8Array | string): Promise<void> {
    this.#throwFailure();
    this.clearStatus();
    if (process.stdout.write(bytes)) return;
    await once(process.stdout, 'drain').catch(() => this.#throwFailure());
  }

  /** Waits until everything that was written has left the process. */
  async flush(): Promise<void> {
    await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
    this.#throwFailure();
  }

  line(text: string): Promise<void> {
    return this.write(`${text}\n`);
  }

  json(value: unknown): Promise<void> {
    return this.line(printableJson(value));
  }

  /** Prints a message on standard error. */
  say(text: string): void {
    this.clearStatus();
    process.stderr.write(`${this.expandCommands(text)}\n`);
  }

  /**
   * Completes the commands in a message, such as `pinakes index`, so that they can be copied: with the real name of the
   * program, and with --archive when the command line named an archive.
   */
  expandCommands(text: string): string {
    const where = this.namedArchive === undefined ? '' : printable(` --archive ${shellQuoted(this.namedArchive)}`);
    return text.replace(/`pinakes( (?:warc |slim )?)([^`]*)`/g, (_, group: string, rest: string) => {
      return `\`${this.program}${group}${rest}${group === ' ' ? where : ''}\``;
    });
  }

  /** Shows a status line, which the next output replaces; only on a terminal. */
  status(text: string): void {
    if (!this.isInteractive) return;
    const width = Math.max(20, this.columns - 1);
    process.stderr.write(`\r\x1b[K${printable(text).slice(0, width)}`);
    this.#hasStatus = true;
  }

  clearStatus(): void {
    if (this.#hasStatus) process.stderr.write('\r\x1b[K');
    this.#hasStatus = false;
  }

  /** Asks a question and waits for a line; undefined when there is no terminal. */
  async ask(question: string): Promise<string | undefined> {
    if (!this.isInteractive || !process.stdin.isTTY) return undefined;
    this.clearStatus();
    using asking = createInterface({ input: process.stdin, output: process.stderr });
    return await asking.question(question);
  }

  /** The bytes of standard input. When the signal aborts, a waiting read throws an `AbortError`. */
  stdin(signal?: AbortSignal): AsyncIterable<Uint8Array> {
    return signal ? addAbortSignal(signal, process.stdin) : process.stdin;
  }

  /** Closes standard input, which also ends a read that waits for it. */
  closeStdin(): void {
    process.stdin.destroy();
  }

  /** Writes bytes to standard error unchanged. */
  writeError(bytes: Uint8Array): void {
    process.stderr.write(bytes);
  }

  get columns(): number {
    // A terminal that does not know its width reports 0.
    return process.stderr.columns || 80;
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure;
  }
}

/** A finding as one line: place, level, code, message. */
export function formatFinding(finding: Finding): string {
  return printable(`${finding.file}:${finding.offset}: ${finding.level} ${finding.code}: ${finding.message}`);
}

/**
 * Replaces control characters in a text from an archive, which a terminal would obey. Also replaces the characters that
 * change the direction of writing: with them, a terminal could show a URL and the text after it as a different URL.
 */
export function printable(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, '0')}`;
  });
}

/** JSON escapes the characters 0 to 1f. Terminals also obey the characters 7f to 9f, so these are escaped here. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\x7f-\x9f]/g, (character) => {
    return `\\u00${character.charCodeAt(0).toString(16)}`;
  });
}

/** A word of a command for display, quoted for a shell if necessary. */
export function shellQuoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** `1 file`, `2 files`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The rows of a table as lines, with each column aligned to its side. */
export function alignedRows(rows: readonly (readonly string[])[], sides: readonly ('left' | 'right')[]): string[] {
  const widths = sides.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (sides[column] === 'left' ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd(),
  );
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // A value that would be rounded to 1000 is shown in the next unit.
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}
