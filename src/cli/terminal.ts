/**
 * Standard output and standard error, and the only place that knows about them. Results go to standard output,
 * everything said to the person to standard error. Writing waits when the reader is slow, so that a long listing never
 * piles up in memory.
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { addAbortSignal } from 'node:stream';
import { type Finding, fileError } from '../base/index.ts';

/** Standard output takes no more: its reader is gone, as in `pinakes ... | head`, or the disk behind it is full. */
export class OutputFailed extends Error {
  override readonly name = 'OutputFailed';
  /** A reader that has seen enough is no failure. */
  readonly isReaderGone: boolean;

  constructor(cause: NodeJS.ErrnoException) {
    super('standard output takes no more', { cause: fileError(cause, 'standard output', 'writing') });
    this.isReaderGone = cause.code === 'EPIPE';
  }
}

export class Terminal {
  readonly isInteractive: boolean = process.stderr.isTTY === true;
  /** How the program is typed in the commands that are printed. */
  readonly program: string;
  /** The archive that was named on the command line. */
  namedArchive: string | undefined;
  /** Whether failures are printed as JSON. */
  hasJsonFailures = false;
  #hasStatus = false;
  #failure: OutputFailed | undefined;

  constructor(program = 'pinakes') {
    this.program = program;
  }

  /** From now on a broken output shows as `OutputFailed` from `write` and `flush`, and not as a crash. */
  watch(): void {
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

  /** Waits until everything written has left the program. */
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

  /** Says something to the person. */
  say(text: string): void {
    this.clearStatus();
    process.stderr.write(`${this.typable(text)}\n`);
  }

  /**
   * Commands that a text advises, such as `pinakes index`, as they can be typed: by the name of the program here, and
   * with the archive when the person had to name it.
   */
  typable(text: string): string {
    const where = this.namedArchive === undefined ? '' : printable(` --archive ${shellWord(this.namedArchive)}`);
    return text.replace(/`pinakes( (?:warc |slim )?)([^`]*)`/g, (_, group: string, rest: string) => {
      return `\`${this.program}${group}${rest}${group === ' ' ? where : ''}\``;
    });
  }

  /** Shows a line that the next one replaces; only where a person is looking. */
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

  /** Asks the person and waits for a line; undefined when nobody is there. */
  async ask(question: string): Promise<string | undefined> {
    if (!this.isInteractive || !process.stdin.isTTY) return undefined;
    this.clearStatus();
    const asking = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return await asking.question(question);
    } finally {
      asking.close();
    }
  }

  /** The bytes of standard input; who waits for more of them when the signal comes gets an `AbortError`. */
  stdin(signal?: AbortSignal): AsyncIterable<Uint8Array> {
    return signal ? addAbortSignal(signal, process.stdin) : process.stdin;
  }

  /** Nothing more is wanted from standard input; who still waits for it waits no longer. */
  closeStdin(): void {
    process.stdin.destroy();
  }

  /** Bytes for standard error, as they are. */
  writeError(bytes: Uint8Array): void {
    process.stderr.write(bytes);
  }

  get columns(): number {
    // A terminal that does not know says 0.
    return process.stderr.columns || 80;
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure;
  }
}

/** A finding as one line: where, how bad, which, what. */
export function formatFinding(finding: Finding): string {
  return printable(`${finding.file}:${finding.offset}: ${finding.level} ${finding.code}: ${finding.message}`);
}

/**
 * Text out of archives can hold anything; control characters in it must not reach the terminal, which would obey them.
 * Nor those that turn the direction of writing until they are ended: an address would read as another, and what stands
 * behind it too.
 */
export function printable(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, '0')}`;
  });
}

/** JSON has escapes for the controls of ASCII; terminals obey others too. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\x7f-\x9f]/g, (character) => {
    return `\\u00${character.charCodeAt(0).toString(16)}`;
  });
}

/** A word of a command that is shown to be typed, as a shell has to read it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** `1 file`, `2 files`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // What would be rounded up to 1000 is one of the next unit.
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}
