/** Reports damaged records: where, what, and what to do. Shows the first damaged records, and counts the rest. */
import { type Damage, type DamageGoal, formatDamage, formatOutputDamage, type OutputDamage } from '../archive/index.ts';
import { counted, printable, type Terminal } from './terminal.ts';

const SHOWN_MAX = 20;
/** How many damaged records the JSON of a run lists; it counts all of them. */
const LISTED_MAX = 1000;

const ADVICE = '`pinakes verify` lists all damage; restore the segment from a backup.';

export function sayDamage(terminal: Terminal, damage: Damage): void {
  terminal.say(`${printable(formatDamage(damage))}\n  The readable part of it was printed. ${ADVICE}`);
}

export class DamageTally {
  readonly listed: OutputDamage[] = [];
  #damaged = 0;
  #leftOut = 0;
  readonly #terminal: Terminal;
  readonly #goal: DamageGoal;

  constructor(terminal: Terminal, goal: DamageGoal = 'output') {
    this.#terminal = terminal;
    this.#goal = goal;
  }

  readonly add = (damage: OutputDamage): void => {
    if (damage.comes === 'nothing') this.#leftOut++;
    else this.#damaged++;
    if (this.listed.length < LISTED_MAX) this.listed.push(damage);
    if (this.count <= SHOWN_MAX) this.#terminal.say(printable(formatOutputDamage(damage, this.#goal)));
  };

  get count(): number {
    return this.#damaged + this.#leftOut;
  }

  /** Prints a summary; nothing when no record was damaged. */
  end(): void {
    if (this.count > SHOWN_MAX) this.#terminal.say(`... and ${this.count - SHOWN_MAX} more`);
    if (this.count === 0) return;
    const damaged = `${counted(this.#damaged, 'damaged record')} in the ${this.#goal}`;
    const leftOut = `${counted(this.#leftOut, 'damaged record')} left out, because nothing usable can be read from ${this.#leftOut === 1 ? 'it' : 'them'}`;
    const parts = [this.#damaged > 0 ? damaged : '', this.#leftOut > 0 ? leftOut : ''].filter((part) => part !== '');
    const again = this.#goal === 'index' ? ' Then run `pinakes index --rebuild`.' : '';
    this.#terminal.say(`${parts.join('; ')}. ${ADVICE}${again}`);
  }
}
