/** Damaged records for a person: where, what, and what to do; of many the first, and how many more there were. */
import { type Damage, type DamageGoal, formatDamage, formatOutputDamage, type OutputDamage } from '../archive/index.ts';
import { counted, printable, type Terminal } from './terminal.ts';

const SHOWN_MAX = 20;
/** What the JSON of a run names; it counts all. */
const LISTED_MAX = 1000;

const ADVICE = '`pinakes verify` names all that is damaged; put the segment back from a backup.';

export function sayDamage(terminal: Terminal, damage: Damage): void {
  terminal.say(`${printable(formatDamage(damage))}\n  This is what can be read of it. ${ADVICE}`);
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

  /** Sums up what was damaged; says nothing when nothing was. */
  end(): void {
    if (this.count > SHOWN_MAX) this.#terminal.say(`... and ${this.count - SHOWN_MAX} more`);
    if (this.count === 0) return;
    const damaged = `${counted(this.#damaged, 'damaged record')} in the ${this.#goal}`;
    const leftOut = `${counted(this.#leftOut, 'damaged record')} left out, because nothing usable can be read`;
    const parts = [this.#damaged > 0 ? damaged : '', this.#leftOut > 0 ? leftOut : ''].filter((part) => part !== '');
    const again = this.#goal === 'index' ? ' Then `pinakes index --rebuild` reads it again.' : '';
    this.#terminal.say(`${parts.join('; ')}. ${ADVICE}${again}`);
  }
}
