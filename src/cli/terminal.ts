/**
 * Standard output and standard error, and the only place that knows about them. Results go to standard output, everything said to the person to
 * standard error. Writing waits when the reader is slow, so that a long listing never piles up in memory.
 */
import { once } from 'node:events';
import type { Finding } from '../base/index.ts';

export class Terminal {
  readonly isInteractive: boolean = process.stderr.isTTY === true;

  /** `pinakes ... | head` closes the pipe early; that is no failure. */
  endWithReader(): void {
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(0);
      throw error;
    });
  }

  async write(bytes: Uint8Array | string): Promise<void> {
    if (!process.stdout.write(bytes)) await once(process.stdout, 'drain');
  }

  line(text: string): Promise<void> {
    return this.write(`${text}\n`);
  }

  json(value: unknown): Promise<void> {
    return this.line(JSON.stringify(value));
  }

  /** Says something to the person. */
  say(text: string): void {
    process.stderr.write(`${text}\n`);
  }

  /** Shows a line that the next one replaces; only where a person is looking. */
  status(text: string): void {
    if (!this.isInteractive) return;
    const width = Math.max(20, (process.stderr.columns ?? 80) - 1);
    process.stderr.write(`\r\x1b[K${text.slice(0, width)}`);
  }

  clearStatus(): void {
    if (this.isInteractive) process.stderr.write('\r\x1b[K');
  }
}

/** A finding as one line: where, how bad, which, what. */
export function formatFinding(finding: Finding): string {
  return `${finding.file}:${finding.offset}: ${finding.level} ${finding.code}: ${finding.message}`;
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}
