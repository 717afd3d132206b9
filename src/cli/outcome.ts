/**
 * How a command ends: the only exit codes, and the only way failures reach the person.
 *
 * 0 fine; 1 findings or differences; 2 could not do what was asked; 3 a bug; 130 interrupted.
 */
import { PinakesError } from '../base/index.ts';
import { OutputFailed, printable, printableJson, type Terminal } from './terminal.ts';

export const EXIT_FINE = 0;
export const EXIT_FOUND = 1;
export const EXIT_REFUSED = 2;
export const EXIT_BUG = 3;
export const EXIT_INTERRUPTED = 130;

/** Whether a command was typed with --json: its failures are JSON too then, each on a line of standard error. */
export function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end < 0 ? argv : argv.slice(0, end)).includes('--json');
}

/** Prints what the parser of the command line says of an argument. */
export function tellUsage(terminal: Terminal, text: string): void {
  if (terminal.hasJsonFailures) sayJson(terminal, 'BAD_ARGUMENT', text.trim().replace(/^error: /, ''));
  else terminal.writeError(Buffer.from(text));
}

/** The line that the parser adds to what it says of an argument; none where a program reads it. */
export function helpHint(terminal: Terminal, hint: string): string | false {
  return terminal.hasJsonFailures ? false : hint;
}

function sayJson(terminal: Terminal, code: string, message: string, more: object = {}): void {
  terminal.clearStatus();
  // Not `say`, which would put the named archive into the commands of the advice once more, and unescaped.
  terminal.writeError(Buffer.from(`${printableJson({ error: { code, message, ...more } })}\n`));
}

/** Prints a failure, and returns the code that the program should end with. */
export function tellFailure(terminal: Terminal, error: unknown): number {
  terminal.clearStatus();
  if (error instanceof PinakesError) {
    const { code, message, where, advice, retryable } = error;
    if (terminal.hasJsonFailures)
      sayJson(terminal, code, message, {
        ...(where !== undefined && { where }),
        advice: terminal.typable(advice),
        retryable,
      });
    else terminal.say(`pinakes: ${printable(message)} [${code}]\n  ${advice}`);
    return EXIT_REFUSED;
  }
  if (error instanceof OutputFailed) return error.isReaderGone ? EXIT_FINE : tellFailure(terminal, error.cause);
  if (error instanceof Error && error.name === 'AbortError') {
    if (terminal.hasJsonFailures) sayJson(terminal, 'INTERRUPTED', 'interrupted');
    else terminal.say('pinakes: interrupted');
    return EXIT_INTERRUPTED;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const message = 'something went wrong that should not have: this is a bug in Pinakes.';
  if (terminal.hasJsonFailures) sayJson(terminal, 'BUG', message, { trace: text });
  else terminal.say(`pinakes: ${message}\n${text}`);
  return EXIT_BUG;
}

/** Tells of several failures and combines them with what the command found otherwise. */
export function tellFailures(terminal: Terminal, failures: readonly unknown[], otherwise: number): number {
  let code = otherwise;
  for (const failure of failures) code = Math.max(code, tellFailure(terminal, failure));
  return code;
}
