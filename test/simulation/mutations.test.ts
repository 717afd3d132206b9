/** Rules that are taken away from the sources. Each search runs in a process of its own. See docs/simulation.md. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { MUTATIONS } from './mutations.ts';

const HERE = import.meta.dirname;
const ROOT = resolve(HERE, '../..');

/** Rules whose loss few schedules find, and the beginning of the scenario that finds it. */
const CHEAP: readonly (readonly [names: string, scenario: string, costMax: number])[] = [
  ['owner', 'Eb2', 2],
  ['listing', 'K ', 1],
  ['seal-parts,read-object', 'T2', 1],
  ['heal-checks', 'G ', 1],
  ['heal-records', 'Ba', 1],
  ['open-parts', 'K ', 1],
  ['record-later', 'H ', 1],
  ['marks-of-places', 'J ', 1],
  ['swap-moves', 'J ', 1],
  ['belief', 'J2', 1],
  ['same-name', 'P2', 1],
  ['same-name,names,open-first', 'P2', 1],
  ['place-of-now', 'R ', 0],
];

test('Each mutation replaces texts that are in their files exactly once', async () => {
  for (const [name, { edits }] of Object.entries(MUTATIONS))
    for (const { file, from } of edits) {
      const source = await readFile(join(ROOT, file), 'utf8');
      assert.equal(source.split(from).length, 2, `${name}: ${file}`);
    }
});

suite('A schedule breaks a promise of the ledger without', () => {
  for (const [names, scenario, costMax] of CHEAP)
    test(names, async () => {
      const begun = ['--import', join(HERE, 'mutate.ts'), join(HERE, 'run.ts'), 'ledger', '--bite'];
      const search = ['--rule', names, '--scenario', scenario, '--cost', String(costMax)];
      const { stdout } = await promisify(execFile)(process.execPath, [...begun, ...search]);
      assert.match(stdout, /: cost [\d.]+ in "/);
    });
});
