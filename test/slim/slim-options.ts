/**
 * Shared by most tests: a temporary directory, and the options of a run: one thread, because starting a thread costs
 * more than the work, a fixed clock, and callbacks that collect findings and failures.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Finding, PinakesError } from '../../src/base/index.ts';
import type { Difference, SlimRunOptions, SyncOptions } from '../../src/slim/index.ts';

export type Gathered = { readonly findings: Finding[]; readonly failures: PinakesError[] };

const ARCHIVE = /\.(warc|arc)(\.gz|\.zst)?$/;

export async function inDirectory(body: (directory: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-slim-'));
  try {
    await body(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** The WARC and ARC files below a directory, in order. */
export function filesBelow(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return entries
    .filter((name) => ARCHIVE.test(name) && !name.includes('.pinakes-slim'))
    .sort()
    .map((name) => join(directory, name));
}

export function runOptions(
  directory: string,
  more: Partial<SlimRunOptions> = {},
): { options: SlimRunOptions } & Gathered {
  const findings: Finding[] = [];
  const failures: PinakesError[] = [];
  const options: SlimRunOptions = {
    inputs: filesBelow(directory).map((path) => ({ path, root: directory })),
    workDirectory: join(more.target ?? directory, '.pinakes-slim'),
    algorithm: 'sha256',
    verify: 'digest',
    minSavingBytes: 1,
    workers: 1,
    clock: () => Date.UTC(2026, 0, 1),
    software: 'pinakes/test',
    onFinding: (finding) => findings.push(finding),
    onFailure: (error) => failures.push(error),
    ...more,
  };
  return { options, findings, failures };
}

export function syncOptions(
  slimmed: string,
  second: string,
  more: Partial<SyncOptions> = {},
): { options: SyncOptions } & Gathered & { differences: Difference[] } {
  const findings: Finding[] = [];
  const failures: PinakesError[] = [];
  const differences: Difference[] = [];
  const inputsOf = (root: string) => filesBelow(root).map((path) => ({ path, root }));
  const options: SyncOptions = {
    slimmed,
    second,
    slimmedInputs: inputsOf(slimmed),
    secondInputs: inputsOf(second),
    workDirectory: join(second, '.pinakes-slim'),
    workers: 1,
    onFinding: (finding) => findings.push(finding),
    onFailure: (error) => failures.push(error),
    onDifference: async (difference) => {
      differences.push(difference);
    },
    ...more,
  };
  return { options, findings, failures, differences };
}
