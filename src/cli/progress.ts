/** Progress of long work on a terminal, shown after two seconds: percentage, speed and remaining time. */
import { formatBytes, type Terminal } from './terminal.ts';

const QUIET_MS = 2000;
const REDRAW_MS = 200;

export class Progress {
  readonly #terminal: Terminal;
  readonly #label: string;
  readonly #totalBytes: number;
  readonly #startMs = performance.now();
  #drawnMs = 0;

  constructor(terminal: Terminal, label: string, totalBytes: number) {
    this.#terminal = terminal;
    this.#label = label;
    this.#totalBytes = totalBytes;
  }

  update(bytes: number, note = ''): void {
    const now = performance.now();
    if (now - this.#startMs < QUIET_MS || now - this.#drawnMs < REDRAW_MS) return;
    this.#drawnMs = now;
    const seconds = (now - this.#startMs) / 1000;
    const speed = bytes / seconds;
    const share = this.#totalBytes > 0 ? Math.min(1, bytes / this.#totalBytes) : 0;
    const left = speed > 0 ? Math.max(0, (this.#totalBytes - bytes) / speed) : 0;
    const percent = `${Math.floor(share * 100)}%`.padStart(4);
    this.#terminal.status(`${this.#label} ${percent}  ${formatBytes(speed)}/s  ${formatDuration(left)} left  ${note}`);
  }

  end(): void {
    this.#terminal.clearStatus();
  }
}

export function formatDuration(exactSeconds: number): string {
  const seconds = Math.ceil(exactSeconds);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
