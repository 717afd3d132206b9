/**
 * How a command ends: all exit codes, and the only functions that print failures.
 *
 * 0 fine; 1 findings or differences; 2 the command could not be carried out; 3 a bug; 130 interrupted.
 */
import { PinakesError } from '../base/index.ts';
import { OutputFailed, printable, printableJson, type Terminal } from './terminal.ts';

export const EXIT_FINE = 0;
export const EXIT_FOUND = 1;
export const EXIT_REFUSED = 2;
export const EXIT_BUG = 3;
export const EXIT_INTERRUPTED = 130;

/**
 * Whether a command was typed with --json. With --json, failures are also printed as JSON, one per line on standard
 * error.
 */
export function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end < 0 ? argv : argv.slice(0, end)).includes('--json');
}

/** Prints the message of the argument parser. */
export function printUsageError(terminal: Terminal, text: string): void {
  if (terminal.hasJsonFailures) sayJson(terminal, 'BAD_ARGUMENT', text.trim().replace(/^error: /, ''));
  else terminal.writeError(Buffer.from(text));
}

/** The line that the parser adds to its message; none with --json, where a program reads the message. */
export function helpHint(terminal: Terminal, hint: string): string | false {
  return terminal.hasJsonFailures ? false : hint;
}

function sayJson(terminal: Terminal, code: string, message: string, more: object = {}): void {
  terminal.clearStatus();
  // Not `say`: it would insert the named archive into the commands of the advice a second time, unescaped.
  terminal.writeError(Buffer.from(`${printableJson({ error: { code, message, ...more } })}\n`));
}

/** Prints a failure and returns the exit code for it. */
export function printFailure(terminal: Terminal, error: unknown): number {
  terminal.clearStatus();
  if (error instanceof PinakesError) {
    const { code, message, where, advice, retryable } = error;
    if (terminal.hasJsonFailures)
      sayJson(terminal, code, message, {
        ...(where !== undefined && { where }),
        advice: terminal.expandCommands(advice),
        retryable,
      });
    else terminal.say(`pinakes: ${printable(message)} [${code}]\n  ${advice}`);
    return EXIT_REFUSED;
  }
  if (error instanceof OutputFailed) return error.isReaderGone ? EXIT_FINE : printFailure(terminal, error.cause);
  if (error instanceof Error && error.name === 'AbortError') {
    if (terminal.hasJsonFailures) sayJson(terminal, 'INTERRUPTED', 'interrupted');
    else terminal.say('pinakes: interrupted');
    return EXIT_INTERRUPTED;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const message = 'an unexpected error: this is a bug in Pinakes.';
  if (terminal.hasJsonFailures) sayJson(terminal, 'BUG', message, { trace: text });
  else terminal.say(`pinakes: ${message}\n${text}`);
  return EXIT_BUG;
}

/** Prints several failures and returns the highest of their exit codes and `otherwise`. */
export function printFailures(terminal: Terminal, failures: readonly PinakesError[], otherwise: number): number {
  let code = otherwise;
  for (const failure of failures) code = Math.max(code, printFailure(terminal, failure));
  return code;
}
