/** Shows on a terminal how much of a long task is done, when the total is not known. Starts after QUIET_MS. */
import type { Terminal } from './terminal.ts';

const QUIET_MS = 2000;
const REDRAW_MS = 200;

export class RunningCount {
  readonly #terminal: Terminal;
  readonly #label: string;
  readonly #startMs = performance.now();
  #drawnMs = 0;

  constructor(terminal: Terminal, label: string) {
    this.#terminal = terminal;
    this.#label = label;
  }

  /** Called very often. A text that takes time to make is passed as a function. */
  update(done: string | (() => string)): void {
    const now = performance.now();
    if (now - this.#startMs < QUIET_MS || now - this.#drawnMs < REDRAW_MS) return;
    this.#drawnMs = now;
    this.#terminal.status(`${this.#label}  ${typeof done === 'string' ? done : done()}`);
  }

  end(): void {
    this.#terminal.clearStatus();
  }
}
