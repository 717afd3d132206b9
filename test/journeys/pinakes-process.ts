/** Runs the launcher as a separate process, as a user does. */
import { type ChildProcess, type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

export const LAUNCHER = resolve(import.meta.dirname, '../../pinakes');

/** Makes messages name the program as an installed program is named. */
const environment = () => ({ ...process.env, PINAKES_PROGRAM: 'pinakes' });

export type Outcome = { readonly code: number | null; readonly out: string; readonly err: string };

function run(cwd: string, args: readonly string[]): SpawnSyncReturns<Buffer> {
  return spawnSync(LAUNCHER, args, { cwd, env: environment(), maxBuffer: 64 * 1024 * 1024 });
}

export function pinakes(cwd: string, ...args: string[]): Outcome {
  const { status, stdout, stderr } = run(cwd, args);
  return { code: status, out: stdout.toString(), err: stderr.toString() };
}

/** The output as bytes. */
export function pinakesBytes(cwd: string, ...args: string[]): Buffer {
  return run(cwd, args).stdout;
}

/** The output as JSON values, one per line. */
export function pinakesJson(cwd: string, ...args: string[]): Record<string, unknown>[] {
  return linesOf(pinakes(cwd, ...args).out).map((line) => JSON.parse(line) as Record<string, unknown>);
}

export function linesOf(text: string): string[] {
  return text.split('\n').slice(0, -1);
}

export function startPinakes(cwd: string, ...args: string[]): ChildProcess {
  return spawn(LAUNCHER, args, { cwd, env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
}
