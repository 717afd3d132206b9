/**
 * Runs a scenario on a directory volume under strace, which records system calls or makes some of them fail. Prints the
 * outcome of every step as JSON: `done` or the code of the failure. It also writes the name of each step to standard
 * error, so that the names are in the trace.
 *
 * Arguments: the directory of the volume, and the scenario.
 */
import { writeSync } from 'node:fs';
import { PinakesError, utf8 } from '../../src/base/index.ts';
import { openDirectoryVolume, type Volume } from '../../src/volume/index.ts';

type Steps = Readonly<Record<string, (volume: Volume) => Promise<void>>>;

const SCENARIOS = {
  durable: {
    create: (volume) => volume.create('c/d/a'),
    append: (volume) => volume.append('c/d/a', 0, [utf8('hello')]),
    sync: (volume) => volume.sync(['c/d/a']),
    truncate: (volume) => volume.truncate('c/d/a', 3),
    seal: (volume) => volume.seal('c/d/a'),
    rename: (volume) => volume.rename('c/d/a', 'e/f'),
    remove: (volume) => volume.remove(['e/f']),
    close: (volume) => volume.close(),
  },
  syncFails: {
    create: (volume) => volume.create('a'),
    append: (volume) => volume.append('a', 0, [utf8('synced')]),
    sync: (volume) => volume.sync(['a']),
    appendMore: (volume) => volume.append('a', 6, [utf8(' unsynced')]),
    failingSync: (volume) => volume.sync(['a']),
    syncAgain: (volume) => volume.sync(['a']),
    appendAgain: (volume) => volume.append('a', 15, [utf8('!')]),
    sealDoubted: (volume) => volume.seal('a'),
    cutTooLittle: (volume) => volume.truncate('a', 7),
    cut: (volume) => volume.truncate('a', 6),
    appendAfterCut: (volume) => volume.append('a', 6, [utf8(' again')]),
    syncAfterCut: (volume) => volume.sync(['a']),
  },
  appendCannotBeTakenBack: {
    create: (volume) => volume.create('a'),
    append: (volume) => volume.append('a', 0, [utf8('whole')]),
    failingAppend: (volume) => volume.append('a', 5, [utf8(' torn')]),
    appendAgain: (volume) => volume.append('a', 5, [utf8(' torn')]),
    sync: (volume) => volume.sync(['a']),
    cut: (volume) => volume.truncate('a', 5),
    appendAfterCut: (volume) => volume.append('a', 5, [utf8(' again')]),
    syncAfterCut: (volume) => volume.sync(['a']),
  },
  shortWrite: {
    create: (volume) => volume.create('a'),
    append: (volume) => volume.append('a', 0, [new Uint8Array(5000).fill(1), new Uint8Array(5000).fill(2)]),
    sync: (volume) => volume.sync(['a']),
  },
  folderSyncFails: {
    create: (volume) => volume.create('a'),
    failingSync: (volume) => volume.sync(['a']),
    syncAgain: (volume) => volume.sync(['a']),
    seal: (volume) => volume.seal('a'),
  },
  sealFails: {
    create: (volume) => volume.create('a'),
    append: (volume) => volume.append('a', 0, [utf8('whole')]),
    sync: (volume) => volume.sync(['a']),
    failingSeal: (volume) => volume.seal('a'),
    appendAfterwards: (volume) => volume.append('a', 5, [utf8('!')]),
    sealAgain: (volume) => volume.seal('a'),
  },
} as const satisfies Record<string, Steps>;

export type Scenario = keyof typeof SCENARIOS;

async function main(directory: string, scenario: Scenario): Promise<Record<string, string>> {
  const volume = await openDirectoryVolume('main', directory, { writable: true });
  const outcomes: Record<string, string> = {};
  for (const [name, step] of Object.entries<Steps[string]>(SCENARIOS[scenario])) {
    writeSync(2, `step ${name}\n`);
    outcomes[name] = await step(volume).then(
      () => 'done',
      (cause: unknown) => (cause instanceof PinakesError ? cause.code : String(cause)),
    );
  }
  return outcomes;
}

if (import.meta.main) writeSync(1, JSON.stringify(await main(process.argv[2]!, process.argv[3] as Scenario)));
