/** Jobs that make the copies of contents that the policy asks for, and the clock that submits them. */
import type { Archive } from '../../archive/index.ts';
import { type EpochMs, parseW3cDate } from '../../base/index.ts';
import { closed } from '../schema.ts';
import { isInterrupted, isOver, type Job } from './job.ts';
import { defineJobKind, type JobKind } from './job-kind.ts';
import type { JobQueue } from './job-queue.ts';

const CHECK_MS = 30_000;
/** A job that failed or was cancelled is not submitted again for this long, so that a person can look at it. */
const REST_MS = 60 * 60 * 1000;
/** Each job reads the rows of all contents. It is submitted again after so many times its duration, at the earliest. */
const REST_DURATIONS = 10;
/** Kinds of jobs that store something. */
const STORING: ReadonlySet<string> = new Set(['add', 'crawl']);

export const copiesKind: JobKind = defineJobKind({
  name: 'copies',
  lane: 'copies',
  input: closed({}),
  run: ({ archive, signal, progress }) =>
    archive.makeCopies({
      signal,
      onProgress: ({ contents, bytes }) => progress({ done: bytes, unit: 'bytes', message: `${contents} contents` }),
    }),
});

/** Submits a job when others have stored something since the last one, as long as the archive has the policy. */
export function watchCopies(archive: Archive, jobs: JobQueue, stopping: AbortSignal): void {
  const check = () => {
    if (stopping.aborted || !archive.connector.policies.copies || !areCopiesDue(jobs.list(), archive.clock())) return;
    // When the queue is full or stopping, the copies stay due and are made after a later check.
    const { name: kind, lane, run } = copiesKind;
    jobs.submit({ kind, input: {}, origin: 'api', lane, run }).catch(() => {});
  };
  const timer = setInterval(check, CHECK_MS);
  timer.unref();
  const unsubscribe = jobs.subscribe(check);
  const end = () => {
    clearInterval(timer);
    unsubscribe();
  };
  stopping.addEventListener('abort', end, { once: true });
  check();
}

export function areCopiesDue(jobs: readonly Job[], now: EpochMs): boolean {
  const own = jobs.filter(({ kind }) => kind === copiesKind.name);
  if (own.some((job) => !isOver(job) || restsUntil(job) > now)) return false;
  // What was stored while a job ran may have been passed over by it.
  const doneFrom = Math.max(0, ...own.filter(({ state }) => state === 'done').map((job) => timeOf(job.startedAt)));
  return jobs.some((job) => STORING.has(job.kind) && isOver(job) && timeOf(job.endedAt) >= doneFrom);
}

function restsUntil(job: Job): EpochMs {
  if (isInterrupted(job)) return 0;
  const [startedAt, endedAt] = [timeOf(job.startedAt ?? job.endedAt), timeOf(job.endedAt)];
  return endedAt + (job.state === 'done' ? REST_DURATIONS * (endedAt - startedAt) : REST_MS);
}

function timeOf(date: string | undefined): EpochMs {
  return parseW3cDate(date ?? '') ?? 0;
}
