/** The arguments and options of the slim commands, checked before a command starts its work. */
import { statSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, extname, join, resolve } from 'node:path';
import {
  badArgument,
  DIGEST_ALGORITHMS,
  type DigestAlgorithm,
  isCollisionProne,
  type PinakesError,
} from '../../base/index.ts';
import {
  type CollectionInput,
  MANIFEST_FORMATS,
  type ManifestFormat,
  realPath,
  type SlimCallbacks,
  type SlimPhase,
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
    throw badArgument(`--workers ${text}`, `a number from 1 to ${WORKERS_MAX} is expected`);
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
    throw badArgument(`${option} ${text}`, `one of ${names.join(', ')} is expected`);
  }
  return found;
}

export function verifyOf(text: string | undefined, algorithm: DigestAlgorithm): Verify {
  if (text === undefined) return isCollisionProne(algorithm) ? 'bytes' : 'digest';
  return oneOf('--verify', text, ['bytes', 'digest']);
}

export function bytesOf(option: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) {
    throw badArgument(`${option} ${text}`, 'a number of bytes is expected');
  }
  return Number(text);
}

/** `10%` or `0.1`. */
export function shareOf(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(%?)$/.exec(text);
  const share = match ? Number(match[1]) / (match[2] ? 100 : 1) : 0;
  if (share <= 0 || share > 1) {
    throw badArgument(`--sample ${text}`, 'a share like 10% is expected');
  }
  return share;
}

export type SlimInputs = {
  readonly inputs: readonly CollectionInput[];
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
};

/** The WARC and ARC files under the paths, each once. WACZ packages are left out with a finding. */
export async function slimInputs(paths: readonly string[], reporter: SlimReporter): Promise<SlimInputs> {
  const inputs: CollectionInput[] = [];
  const files: { path: string; bytes: number }[] = [];
  const seen = new Set<string>();
  for (const root of paths) {
    const found = await inputFiles([root]);
    for (const failure of found.failures) reporter.onFailure(failure);
    for (const file of found.files) {
      if (extname(file.path).toLowerCase() === '.wacz') {
        reporter.onFinding(slimFinding('slim-package-skipped', file.path, 0));
        continue;
      }
      const real = realPathOrSame(file.path);
      if (seen.has(real)) continue;
      seen.add(real);
      inputs.push({ path: file.path, root });
      files.push(file);
      reporter.totalBytes += file.bytes;
    }
  }
  return { inputs, files };
}

/** The real path of a file; `path` itself when the file is missing. A missing file is reported when it is read. */
function realPathOrSame(path: string): string {
  try {
    return realPath(path);
  } catch {
    return path;
  }
}

/**
 * The directory of the journal of a run: the directory of --work, a directory in the target, or a directory beside the
 * first file.
 */
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

/** The directory for data that does not fit into memory. */
export function spillDirectoryOf(work: string | undefined, name: string): string {
  return join(work === undefined ? tmpdir() : resolve(work), `pinakes-${name}`);
}

/** Called with the findings, failures and progress of a slim command; keeps the failures. */
export type SlimReporter = SlimCallbacks & {
  readonly failures: PinakesError[];
  readonly end: () => Promise<void>;
  /** The bytes that a phase reads, for its progress. */
  totalBytes: number;
};

/**
 * Prints findings at once, keeps failures for the end, and shows the progress of each phase. As text it prints every
 * finding of slimming itself, and the first few findings of each other code: some crawlers write all their records with
 * the same oddity.
 */
export function slimReporter(terminal: Terminal, json: boolean | undefined): SlimReporter {
  const failures: PinakesError[] = [];
  let phase: SlimPhase | undefined;
  let progress: Progress | undefined;
  let printed = Promise.resolve();
  const oddities = new FindingTally(terminal);
  const reporter: SlimReporter = {
    failures,
    totalBytes: 0,
    onFinding: (finding) => {
      terminal.clearStatus();
      // A broken output does not stop the work; printing the summary will report it.
      if (json) printed = printed.then(() => terminal.json({ kind: 'finding', ...finding })).catch(() => {});
      else if (finding.code.startsWith('slim-')) terminal.say(formatFinding(finding));
      else oddities.add(finding);
    },
    onFailure: (error) => {
      failures.push(error);
    },
    onProgress: (now, bytes, note) => {
      if (now !== phase) progress = new Progress(terminal, now, now === 'resolve' ? 0 : reporter.totalBytes);
      phase = now;
      progress?.update(bytes, note);
    },
    end: () => {
      progress?.end();
      oddities.end();
      return printed;
    },
  };
  return reporter;
}
