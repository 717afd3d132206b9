/** What the slim commands take: paths, numbers, names of algorithms and formats, checked before anything begins. */

import { statSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, extname, join, resolve } from 'node:path';
import {
  DIGEST_ALGORITHMS,
  type DigestAlgorithm,
  type Finding,
  isCollisionProne,
  PinakesError,
} from '../../base/index.ts';
import {
  type CollectionInput,
  MANIFEST_FORMATS,
  type ManifestFormat,
  realPath,
  type SlimPhase,
  type SlimWatch,
  slimFinding,
  type Verify,
  WORK_DIRECTORY,
} from '../../slim/index.ts';
import { inputFiles } from '../../warc/index.ts';
import { FindingTally } from '../finding-tally.ts';
import { Progress } from '../progress.ts';
import { formatFinding, type Terminal } from '../terminal.ts';

const WORKERS_MAX = 64;

export function workersOf(text: string | undefined): number {
  if (text === undefined) return availableParallelism();
  const workers = Number(text);
  if (!Number.isInteger(workers) || workers < 1 || workers > WORKERS_MAX) {
    throw new PinakesError('BAD_ARGUMENT', { where: `--workers ${text}`, detail: `1 to ${WORKERS_MAX}` });
  }
  return workers;
}

export function algorithmOf(text: string): DigestAlgorithm {
  return oneOf('--algorithm', text, DIGEST_ALGORITHMS);
}

export function formatOf(text: string): ManifestFormat {
  return oneOf('--format', text, MANIFEST_FORMATS);
}

export function oneOf<Name extends string>(option: string, text: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === text);
  if (found === undefined) {
    throw new PinakesError('BAD_ARGUMENT', { where: `${option} ${text}`, detail: names.join(', ') });
  }
  return found;
}

export function verifyOf(text: string | undefined, algorithm: DigestAlgorithm): Verify {
  if (text === undefined) return isCollisionProne(algorithm) ? 'bytes' : 'digest';
  return oneOf('--verify', text, ['bytes', 'digest']);
}

export function bytesOf(option: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) {
    throw new PinakesError('BAD_ARGUMENT', { where: `${option} ${text}`, detail: 'a number of bytes' });
  }
  return Number(text);
}

/** `10%` or `0.1`. */
export function shareOf(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(%?)$/.exec(text);
  const share = match ? Number(match[1]) / (match[2] ? 100 : 1) : 0;
  if (share <= 0 || share > 1) {
    throw new PinakesError('BAD_ARGUMENT', { where: `--sample ${text}`, detail: 'a share like 10%' });
  }
  return share;
}

export type SlimInputs = {
  readonly inputs: readonly CollectionInput[];
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
  readonly failures: readonly PinakesError[];
  readonly bytes: number;
};

/** The WARC and ARC files that the paths stand for, each once. Packages are told of and left out. */
export async function slimInputs(paths: readonly string[], onFinding: (finding: Finding) => void): Promise<SlimInputs> {
  const inputs: CollectionInput[] = [];
  const files: { path: string; bytes: number }[] = [];
  const failures: PinakesError[] = [];
  const seen = new Set<string>();
  for (const root of paths) {
    const found = await inputFiles([root]);
    failures.push(...found.failures);
    for (const file of found.files) {
      if (extname(file.path).toLowerCase() === '.wacz') {
        onFinding(slimFinding('slim-package-skipped', file.path, 0));
        continue;
      }
      const real = realPathIfThere(file.path);
      if (seen.has(real)) continue;
      seen.add(real);
      inputs.push({ path: file.path, root });
      files.push(file);
    }
  }
  return { inputs, files, failures, bytes: files.reduce((sum, file) => sum + file.bytes, 0) };
}

/** Who reads a file that went away says so, and the others go on. */
function realPathIfThere(path: string): string {
  try {
    return realPath(path);
  } catch {
    return path;
  }
}

/** Where a run keeps its journal: where it was told to, in its target, or beside the first of its files. */
export function workDirectoryOf(
  paths: readonly string[],
  work: string | undefined,
  target: string | undefined,
): string {
  if (work !== undefined) return resolve(work);
  if (target !== undefined) return join(resolve(target), WORK_DIRECTORY);
  const first = resolve(paths[0] ?? '.');
  const isDirectory = statSync(first, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return join(isDirectory ? first : dirname(first), WORK_DIRECTORY);
}

/** Beside what to make a directory for what does not fit into memory. */
export function spillDirectoryOf(work: string | undefined, name: string): string {
  return join(work === undefined ? tmpdir() : resolve(work), `pinakes-${name}`);
}

export type CollectedFailures = SlimWatch & { readonly failures: PinakesError[]; readonly end: () => Promise<void> };

const LABELS: Record<SlimPhase, string> = { scan: 'scan', resolve: 'resolve', rewrite: 'rewrite' };

/**
 * Tells findings as they come, keeps failures for the end, and shows how far each phase is. A person sees what slimming
 * does or leaves whole, and the first few of each kind of what is odd in records: some crawlers write all of theirs so.
 */
export function watchOf(terminal: Terminal, json: boolean | undefined, totalBytes: number): CollectedFailures {
  const failures: PinakesError[] = [];
  let phase: SlimPhase | undefined;
  let progress: Progress | undefined;
  let told = Promise.resolve();
  const odd = new FindingTally(terminal);
  return {
    failures,
    onFinding: (finding) => {
      terminal.clearStatus();
      // Who writes the summary hears that nothing can be written any more; the work is not broken off for it.
      if (json) told = told.then(() => terminal.json({ kind: 'finding', ...finding })).catch(() => {});
      else if (finding.code.startsWith('slim-')) terminal.say(formatFinding(finding));
      else odd.add(finding);
    },
    onFailure: (error) => {
      failures.push(error);
    },
    onProgress: (now, bytes, note) => {
      if (now !== phase) progress = new Progress(terminal, LABELS[now], now === 'resolve' ? 0 : totalBytes);
      phase = now;
      progress?.update(bytes, note);
    },
    end: () => {
      progress?.end();
      odd.end();
      return told;
    },
  };
}
