/** Runs the real launcher as a process of its own, the way a person does. */
import { type ChildProcess, type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

export const LAUNCHER = resolve(import.meta.dirname, '../../pinakes');

/** Commands in messages are named as an installed program names them. */
const environment = () => ({ ...process.env, PINAKES_PROGRAM: 'pinakes' });

export type Outcome = { readonly code: number | null; readonly out: string; readonly err: string };

function run(cwd: string, args: readonly string[]): SpawnSyncReturns<Buffer> {
  return spawnSync(LAUNCHER, args, { cwd, env: environment(), maxBuffer: 64 * 1024 * 1024 });
}

export function pinakes(cwd: string, ...args: string[]): Outcome {
  const { status, stdout, stderr } = run(cwd, args);
  return { code: status, out: stdout.toString(), err: stderr.toString() };
}

/** What it printed, as bytes. */
export function pinakesBytes(cwd: string, ...args: string[]): Buffer {
  return run(cwd, args).stdout;
}

/** What it printed, as one JSON value a line. */
export function pinakesJson(cwd: string, ...args: string[]): Record<string, unknown>[] {
  return linesOf(pinakes(cwd, ...args).out).map((line) => JSON.parse(line) as Record<string, unknown>);
}

export function linesOf(text: string): string[] {
  return text.split('\n').slice(0, -1);
}

export function startPinakes(cwd: string, ...args: string[]): ChildProcess {
  return spawn(LAUNCHER, args, { cwd, env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
}
