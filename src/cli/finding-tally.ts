/**
 * Reports the findings of a long run: the first few of each kind, and how many more there were. Notes are left out,
 * because a note does not mean that something is wrong.
 */
import type { Finding } from '../base/index.ts';
import { formatFinding, type Terminal } from './terminal.ts';

const SHOWN_MAX = 5;

export class FindingTally {
  readonly #terminal: Terminal;
  readonly #counts = new Map<string, number>();
  errors = 0;
  warnings = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  add(finding: Finding): void {
    if (finding.level === 'note') return;
    if (finding.level === 'error') this.errors++;
    else this.warnings++;
    const count = (this.#counts.get(finding.code) ?? 0) + 1;
    this.#counts.set(finding.code, count);
    if (count <= SHOWN_MAX) this.#terminal.say(formatFinding(finding));
  }

  /** Prints how many findings were not shown. */
  end(): void {
    for (const [code, count] of this.#counts)
      if (count > SHOWN_MAX)
        this.#terminal.say(`... and ${count - SHOWN_MAX} more of ${code}; \`pinakes warc check\` lists them all`);
  }
}
