/** Progress of long work on a terminal, shown after two seconds: percentage, speed and remaining time. */
import { RunningCount } from './running-count.ts';
import { formatBytes, type Terminal } from './terminal.ts';

export class Progress {
  readonly #count: RunningCount;
  readonly #totalBytes: number;
  readonly #startMs = performance.now();
  #doneBytes = 0;

  constructor(terminal: Terminal, label: string, totalBytes: number) {
    this.#count = new RunningCount(terminal, label);
    this.#totalBytes = totalBytes;
  }

  update(bytes: number, note = ''): void {
    this.#count.update(() => {
      const speed = (1000 * bytes) / (performance.now() - this.#startMs);
      const share = this.#totalBytes > 0 ? Math.min(1, bytes / this.#totalBytes) : 0;
      const left = speed > 0 ? Math.max(0, (this.#totalBytes - bytes) / speed) : 0;
      const percent = `${Math.floor(share * 100)}%`.padStart(4);
      return `${percent}  ${formatBytes(speed)}/s  ${formatDuration(left)} left  ${note}`;
    });
  }

  /** Adds to the number of bytes that are done. */
  advance(bytes: number, note: string): void {
    this.#doneBytes += bytes;
    this.update(this.#doneBytes, note);
  }

  end(): void {
    this.#count.end();
  }
}

export function formatDuration(exactSeconds: number): string {
  const seconds = Math.ceil(exactSeconds);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
