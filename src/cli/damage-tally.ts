/** Damaged records for a person: where, what, and what to do; of many the first, and how many more there were. */
import type { Damage, OutputDamage } from '../archive/index.ts';
import { counted, printable, type Terminal } from './terminal.ts';

const SHOWN_MAX = 20;
/** What the JSON of a run names; it counts all. */
const LISTED_MAX = 1000;

const ADVICE = '`pinakes verify` names all that is damaged; put the segment back from a backup.';

export function sayDamage(terminal: Terminal, damage: Damage): void {
  terminal.say(`${formatDamage(damage)}\n  This is what can be read of it. ${ADVICE}`);
}

function formatDamage({ volume, segment, offset, code, message, url }: Damage): string {
  const what = url === undefined ? '' : ` (${url})`;
  return printable(`damaged: volume ${volume}, ${segment}:${offset}${what}: ${code}, ${message}`);
}

/** What becomes of damaged records where they go. */
type DamageWords = {
  readonly place: string;
  readonly comes: Readonly<Record<OutputDamage['comes'], string>>;
  readonly advice: string;
};

const OUTPUT: DamageWords = {
  place: 'in the output',
  comes: {
    all: 'it is in the output as it is stored',
    part: 'what can be read of it is in the output, and says that it is cut short',
    nothing: 'it is not in the output',
  },
  advice: ADVICE,
};

export const INDEX: DamageWords = {
  place: 'in the index, as far as they can be read',
  comes: {
    all: 'it is in the index as it is stored',
    part: 'what can be read of it is in the index',
    nothing: 'it is not in the index',
  },
  advice: `${ADVICE} Then \`pinakes index --rebuild\` reads it again.`,
};

export class DamageTally {
  readonly listed: OutputDamage[] = [];
  #damaged = 0;
  #leftOut = 0;
  readonly #terminal: Terminal;
  readonly #words: DamageWords;

  constructor(terminal: Terminal, words: DamageWords = OUTPUT) {
    this.#terminal = terminal;
    this.#words = words;
  }

  readonly add = (damage: OutputDamage): void => {
    if (damage.comes === 'nothing') this.#leftOut++;
    else this.#damaged++;
    if (this.listed.length < LISTED_MAX) this.listed.push(damage);
    if (this.count <= SHOWN_MAX) this.#terminal.say(`${formatDamage(damage)}; ${this.#words.comes[damage.comes]}`);
  };

  get count(): number {
    return this.#damaged + this.#leftOut;
  }

  /** Sums up what was damaged; says nothing when nothing was. */
  end(): void {
    if (this.count > SHOWN_MAX) this.#terminal.say(`... and ${this.count - SHOWN_MAX} more`);
    if (this.count === 0) return;
    const damaged = `${counted(this.#damaged, 'damaged record')} ${this.#words.place}`;
    const leftOut = `${counted(this.#leftOut, 'damaged record')} left out, because nothing of them can be used`;
    const parts = [this.#damaged > 0 ? damaged : '', this.#leftOut > 0 ? leftOut : ''].filter((part) => part !== '');
    this.#terminal.say(`${parts.join('; ')}. ${this.#words.advice}`);
  }
}
