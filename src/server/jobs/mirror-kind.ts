/** Jobs that bring mirrors up to date, and the clock that submits them when they are due. */
import { existsSync } from 'node:fs';
import { Type } from 'typebox';
import type { Archive, MirrorStatus } from '../../archive/index.ts';
import { PinakesError, parseW3cDate } from '../../base/index.ts';
import { isOver, type Job, type JobRunner } from '../../jobs/index.ts';
import { closed } from '../schema.ts';
import { defineJobKind, type JobKind } from './job-kind.ts';

const CHECK_MS = 30_000;
/** A sync that failed is tried again after this time, so that a missing disk does not fill the list of jobs. */
const REST_MS = 60 * 60 * 1000;

export const mirrorSyncKind: JobKind = defineJobKind({
  name: 'mirror-sync',
  lane: 'mirror',
  // A sync goes on where the last one was.
  isResumable: () => true,
  isLocal: (input, archive) => isDirectory(archive, (input as { mirror?: string }).mirror),
  input: closed({
    mirror: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Its name. Default: all.' })),
  }),
  run: async ({ archive, signal, progress, say }, { mirror }) => {
    const names = mirror === undefined ? (await archive.mirrors.list()).map(({ name }) => name) : [mirror];
    const mirrors = [];
    for (const name of names) {
      const report = await archive.mirrors.sync(name, {
        signal,
        onProgress: ({ object, bytes, totalBytes }) =>
          progress({ done: bytes, total: totalBytes, unit: 'bytes', message: `${name}: ${object}` }),
      });
      if (report.barred.length > 0) say(`${name} has bytes of what was taken down until the archive is compacted`);
      mirrors.push({ name, ...report });
    }
    return { mirrors };
  },
});

/** Submits a sync for each mirror that is due: by its interval, or because a job has changed the archive since. */
export function watchMirrors(archive: Archive, jobs: JobRunner, stopping: AbortSignal): void {
  const { queue } = jobs;
  const { name: kind, lane } = mirrorSyncKind;
  const check = async () => {
    if (stopping.aborted || !archive.connector.mirrors?.some(({ everyMs, afterJobs }) => everyMs || afterJobs)) return;
    const known = await queue.list();
    const knownChange = queue.lastChange;
    for (const mirror of await archive.mirrors.list()) {
      if (!isDue(mirror, known, archive.clock())) continue;
      // In a cluster, a server that has the directory syncs it.
      if (queue.server !== undefined && isDirectory(archive, mirror.name) && !existsSync(mirror.target)) continue;
      const once = { key: `${kind} ${mirror.name}`, knownChange };
      // When the queue is full or stopping, the mirror stays due and is submitted at a later check.
      await jobs.submitOnce(kind, { input: { mirror: mirror.name }, origin: 'api', lane, once }).catch(() => {});
    }
  };
  const begin = () => void check().catch(ignoreFailure);
  const timer = setInterval(begin, CHECK_MS);
  timer.unref();
  stopping.addEventListener('abort', () => clearInterval(timer), { once: true });
  begin();
}

/** Whether a mirror, or one of all mirrors, is a directory, which other machines may not have. */
function isDirectory({ connector }: Archive, mirror: string | undefined): boolean {
  return (connector.mirrors ?? []).some(
    ({ name, target }) => (mirror === undefined || name === mirror) && !/^[a-z][a-z0-9]+:\/\//.test(target),
  );
}

/** A connector that cannot be read must not end the server. The next command reports it. */
function ignoreFailure(error: unknown): void {
  if (!(error instanceof PinakesError)) throw error;
}

export function isDue({ name, last, everyMs, afterJobs }: MirrorStatus, jobs: readonly Job[], now: number): boolean {
  const own = jobs.filter((job) => isFor(job, name));
  if (own.some((job) => !isOver(job) || (job.state !== 'done' && timeOf(job.endedAt) + REST_MS > now))) return false;
  // In a cluster, another server may have synced it.
  const doneAt = own.filter(({ state }) => state === 'done').map(({ startedAt }) => timeOf(startedAt));
  const syncedAt = Math.max(last ? timeOf(last.time) : 0, ...doneAt);
  if (everyMs !== undefined && syncedAt + everyMs <= now) return true;
  const others = jobs.filter(({ kind }) => kind !== mirrorSyncKind.name && !READING.has(kind));
  return (afterJobs ?? false) && others.some((job) => isOver(job) && timeOf(job.endedAt) > syncedAt);
}

/** Kinds of jobs that change nothing in a mirror. */
const READING: ReadonlySet<string> = new Set(['export', 'verify']);

function isFor({ kind, input }: Job, mirror: string): boolean {
  if (kind !== mirrorSyncKind.name) return false;
  const { mirror: named = mirror } = (input ?? {}) as { mirror?: unknown };
  return named === mirror;
}

function timeOf(date: string | undefined): number {
  return parseW3cDate(date ?? '') ?? 0;
}
