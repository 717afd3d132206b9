/**
 * Runs of the fuzzer. Every run has its own seed, so that it can be repeated alone: run i of seed S is the only run of
 * seed S + i.
 */
import { setImmediate } from 'node:timers/promises';
import { seededRandom } from '../../src/base/index.ts';
import { type BaseInput, baseInputs } from './base-input.ts';
import { differenceFault, judge } from './judge.ts';
import { type Damage, damage } from './mutation.ts';
import { onePiece, randomPieces, walk } from './walk.ts';

export type Failure = {
  readonly seed: number;
  readonly input: string;
  readonly damages: readonly string[];
  readonly fault: string;
  readonly bytes: Buffer;
};

export type Campaign = {
  readonly runs: number;
  readonly failures: readonly Failure[];
  readonly steps: number;
  readonly bytes: number;
  /** The number of reports of each finding. It shows whether the damage reaches all cases. */
  readonly findings: ReadonlyMap<string, number>;
};

const BASE_SEEDS = 16;
const TURN_RUNS = 100;
/** One of this many runs is read twice: in pieces, and in one piece. */
const COMPARED_RUNS = 8;
const FAILURES_MAX = 5;
/** Bytes that may follow the input in memory. A reader that reads them would misread the last bytes of the input. */
const LEFTOVERS = [
  '\x08',
  '\x8b\x08\0\0\0\0\0',
  'WARC/1.1',
  'ARC/1.1\r',
  '\n\r\n\r\n',
  '\xb5\x2f\xfd\x24',
  '0 0 0 0\n',
];

export async function runCampaign(seed: number, runs: number): Promise<Campaign> {
  const bases = new Map<number, BaseInput[]>();
  const failures: Failure[] = [];
  const findings = new Map<string, number>();
  let steps = 0;
  let bytes = 0;
  let run = 0;
  for (; run < runs && failures.length < FAILURES_MAX; run++) {
    // Closed decompressors are freed at a turn of the event loop, which happens between the reads of a file.
    if (run % TURN_RUNS === 0) await setImmediate();
    const baseSeed = (seed + run) % BASE_SEEDS;
    const inputs = bases.get(baseSeed) ?? baseInputs(baseSeed * 100);
    bases.set(baseSeed, inputs);
    const random = seededRandom(seed + run);
    const base = inputs[Math.floor(random() * inputs.length)]!;
    const damages = damage(base, random, inputs);
    const outcome = attempt(base, damages, seed + run);
    steps += outcome.steps;
    bytes += base.bytes.length;
    for (const code of outcome.codes) findings.set(code, (findings.get(code) ?? 0) + 1);
    if (outcome.fault !== undefined) failures.push(shrink(base, damages, seed + run, outcome.fault));
  }
  return { runs: run, failures, steps, bytes, findings };
}

type Outcome = { readonly fault: string | undefined; readonly steps: number; readonly codes: readonly string[] };

function attempt(base: BaseInput, damages: readonly Damage[], seed: number): Outcome {
  const bytes = damages.at(-1)?.bytes ?? base.bytes;
  try {
    const leftover = Buffer.from(LEFTOVERS[seed % LEFTOVERS.length]!, 'latin1');
    const walked = walk(bytes, randomPieces(seededRandom(seed ^ 0x5eed)), leftover);
    const codes = walked.findings.map(({ code }) => code);
    const fault = judge(base, damages, bytes, walked);
    const isCompared = fault === undefined && seed % COMPARED_RUNS === 0;
    return {
      fault: isCompared ? differenceFault(walk(bytes, onePiece), walked) : fault,
      steps: walked.steps,
      codes,
    };
  } catch (error) {
    return { fault: String((error as Error).stack ?? error), steps: 0, codes: [] };
  }
}

/** The shortest prefix of the sequence of damages that still fails. */
function shrink(base: BaseInput, damages: readonly Damage[], seed: number, fault: string): Failure {
  for (let count = 1; count <= damages.length; count++) {
    const fewer = damages.slice(0, count);
    const again = attempt(base, fewer, seed).fault;
    if (again !== undefined || count === damages.length) {
      const described = fewer.map(({ kind, from, to, put }) => `${kind}: [${from}, ${to}) became ${put} bytes`);
      return { seed, input: base.name, damages: described, fault: again ?? fault, bytes: fewer.at(-1)!.bytes };
    }
  }
  return { seed, input: base.name, damages: [], fault, bytes: base.bytes };
}

/** The command that repeats the failure. */
export function reproducer(failure: Failure): string {
  return `npm run fuzz -- --kind records --runs 1 --processes 0 --seed ${failure.seed}`;
}
