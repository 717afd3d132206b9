/**
 * `npm run faults -- --rounds 200 --seed 7`: lets every change of a volume under an archive fail once, and then kills
 * processes that work on an archive for the given number of rounds. `--rounds 0` does only the first part,
 * `--kill-only` only the second.
 */
import { parseArgs } from 'node:util';
import { EFFECTS, failChanges, WORK_NAMES } from './archive-io.ts';
import { killRounds } from './archive-kill.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string' }, seed: { type: 'string' }, 'kill-only': { type: 'boolean' } },
});
const rounds = Number(values.rounds ?? 100);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const tell = (text: string) => process.stdout.write(`${text}\n`);
tell(`seed ${seed}`);
if (!values['kill-only']) {
  for (const effect of EFFECTS)
    for (const name of WORK_NAMES) tell(`${effect}, ${name}: ${await failChanges(effect, name, 'large')} faults`);
}
tell(JSON.stringify(await killRounds(rounds, seed, tell)));
