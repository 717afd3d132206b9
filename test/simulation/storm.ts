/**
 * Scenarios that a seed makes up: two to five writers, a client that stores again elsewhere, deleters, takedowns,
 * compactors, healers, a collector, readers and streams, and one of: nothing more, a catalog that is lost, one that
 * goes back behind a failover, or power cuts under an embedded one. All processes may die, and all leases may end.
 */
import { assert, seededRandom } from '../../src/base/index.ts';
import type { TestCapture } from './book.ts';
import { finishEmbedded } from './embedded-scenarios.ts';
import { ledgerAdopter, ledgerRebuild } from './ledger-adopter.ts';
import { ledgerCollector } from './ledger-collector.ts';
import { ledgerCompactor } from './ledger-compactor.ts';
import { ledgerDeleter } from './ledger-deleter.ts';
import { ledgerHealer } from './ledger-healer.ts';
import type { VolumeKind, WriterOptions } from './ledger-machine.ts';
import { ledgerOwner } from './ledger-owner.ts';
import { ledgerReader } from './ledger-reader.ts';
import { ledgerStream } from './ledger-stream.ts';
import { ledgerWriter } from './ledger-writer.ts';
import type { Work } from './machine.ts';
import { COMPACTION, finishRemoval } from './removal-scenarios.ts';
import type { Scenario, ScenarioProcess } from './scenario.ts';

const CONTENTS = ['x', 'y', 'z'];
const STEPS_MAX = 20_000;

type Form = 'quiet' | 'lost' | 'failover' | 'power cut';

/** How often each form is chosen, of ten. */
const FORMS: readonly Form[] = [
  ...Array<Form>(3).fill('quiet'),
  ...Array<Form>(2).fill('lost'),
  ...Array<Form>(3).fill('failover'),
  ...Array<Form>(2).fill('power cut'),
];

export function stormOf(seed: number): Scenario {
  return new Storm(seed).make();
}

class Storm {
  readonly #seed: number;
  readonly #random: () => number;
  readonly #processes: Record<string, ScenarioProcess> = {};
  readonly #leases: string[] = [COMPACTION, 'adoption', 'collection'];
  #captures = 0;
  /** Under an embedded catalog, all die together. */
  #mayDie = true;

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
  }

  make(): Scenario {
    const form = FORMS[this.#pick(FORMS.length)]!;
    const isEmbedded = form === 'power cut';
    const volume: VolumeKind = isEmbedded && this.#chance(0.5) ? 'disk' : 'bucket';
    const options: WriterOptions = { volume, ...(isEmbedded && { owner: 1 }) };
    this.#mayDie = !isEmbedded;
    const setbacksMax = 1 + this.#pick(3);
    this.#addStores(options);
    this.#addRemovals(options);
    if (this.#chance(0.5)) this.#add('R', ledgerReader(`c${this.#pick(this.#captures)}`, 2, volume));
    if (this.#chance(0.5)) this.#add('S', ledgerStream(volume));
    if (volume === 'bucket' && this.#chance(0.7)) this.#add('G', ledgerCollector);
    if (form === 'lost') this.#add('Z', ledgerRebuild(), ({ isLost }) => isLost);
    if (form === 'failover')
      for (let index = 1; index <= setbacksMax; index++)
        this.#add(`A${index}`, ledgerAdopter(), ({ setbacks }) => setbacks > 0);
    if (isEmbedded)
      for (let cuts = 1; cuts <= setbacksMax; cuts++)
        this.#add(
          `O${cuts}`,
          ledgerOwner(this.#groups(2), { volume, number: 1 + cuts }),
          // At another power cut before its start, the owner after it takes its place: a catalog has one owner.
          ({ setbacks }) => setbacks === cuts,
        );
    return {
      name: `storm ${this.#seed} (${form}, ${Object.keys(this.#processes).join(' ')})`,
      processes: this.#processes,
      ...(form === 'failover' && { goesBack: 'failover' }),
      ...(isEmbedded && { goesBack: 'power cut' }),
      setbacksMax,
      isLossy: form === 'lost',
      hasFaults: volume === 'bucket',
      leasesEnd: isEmbedded ? [] : this.#leases,
      stepsMax: STEPS_MAX,
      finish: isEmbedded ? finishEmbedded(volume) : finishRemoval(),
    };
  }

  #addStores(options: WriterOptions): void {
    const writers = 2 + this.#pick(4);
    let first: (readonly TestCapture[])[] = [];
    for (let index = 0; index < writers; index++) {
      const groups = this.#groups(1 + this.#pick(3));
      if (index === 0) first = groups;
      this.#addWriter(`W${index}`, ledgerWriter(groups, { ...options, staysOpen: this.#chance(0.2) }), options);
    }
    if (this.#chance(0.3)) this.#addWriter('V', ledgerWriter(first.slice(0, 1), options), options);
  }

  #addRemovals(options: WriterOptions): void {
    const { volume = 'bucket' } = options;
    for (let index = this.#pick(4); index > 0; index--)
      this.#addWriter(`D${index}`, ledgerDeleter({ capture: `c${this.#pick(this.#captures)}` }, options), options);
    if (this.#chance(0.25)) this.#addWriter('T', ledgerDeleter({ takedown: this.#content() }, options), options);
    for (let index = this.#pick(3); index > 0; index--)
      this.#add(`K${index}`, ledgerCompactor({ rounds: 1 + this.#pick(3), merges: this.#chance(0.3), volume }));
  }

  /** A process with a lease of its own, and one that heals what it leaves. */
  #addWriter(name: string, work: Work, { owner }: WriterOptions): void {
    this.#add(name, work);
    if (owner !== undefined) return;
    this.#leases.push(name);
    this.#add(`H${name}`, ledgerHealer(name));
  }

  #add(name: string, work: Work, startsWhen?: ScenarioProcess['startsWhen']): void {
    assert(!this.#processes[name], 'each process has a name of its own');
    this.#processes[name] = { work, mayDie: !startsWhen && this.#mayDie, ...(startsWhen && { startsWhen }) };
  }

  #groups(count: number): TestCapture[][] {
    return Array.from({ length: count }, () =>
      Array.from({ length: 1 + this.#pick(2) }, () => ({
        id: `c${this.#captures++}`,
        content: this.#content(),
        isForced: this.#chance(0.05),
      })),
    );
  }

  #content(): string {
    return CONTENTS[this.#pick(CONTENTS.length)]!;
  }

  #pick(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #chance(of: number): boolean {
    return this.#random() < of;
  }
}
