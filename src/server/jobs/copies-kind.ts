/** Jobs that make the copies of contents that the policy asks for, and the clock that submits them. */
import type { Archive } from '../../archive/index.ts';
import { type EpochMs, parseW3cDate } from '../../base/index.ts';
import { isInterrupted, isOver, type Job, type JobRunner } from '../../jobs/index.ts';
import { closed } from '../schema.ts';
import { defineJobKind, type JobKind } from './job-kind.ts';

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
  // Copies that are made are not made again.
  isResumable: () => true,
  input: closed({}),
  run: ({ archive, signal, progress }) =>
    archive.makeCopies({
      signal,
      onProgress: ({ contents, bytes }) => progress({ done: bytes, unit: 'bytes', message: `${contents} contents` }),
    }),
});

/** Submits a job when others have stored something since the last one, as long as the archive has the policy. */
export function watchCopies(archive: Archive, jobs: JobRunner, stopping: AbortSignal): void {
  const { queue } = jobs;
  let isChecking = false;
  let isCheckDue = false;
  const checkDue = async () => {
    const known = await queue.list();
    const once = { key: copiesKind.name, knownChange: queue.lastChange };
    if (!areCopiesDue(known, archive.clock())) return;
    await jobs.submitOnce(copiesKind.name, { input: {}, origin: 'api', lane: copiesKind.lane, once });
  };
  const check = async () => {
    isCheckDue = true;
    if (isChecking) return;
    isChecking = true;
    while (isCheckDue && !stopping.aborted && archive.connector.policies.copies) {
      isCheckDue = false;
      // When the queue is full, stopping or away, the copies stay due and are made after a later check.
      await checkDue().catch(() => {});
    }
    isChecking = false;
  };
  const begin = () => void check();
  const timer = setInterval(begin, CHECK_MS);
  timer.unref();
  const unsubscribe = queue.subscribe(begin);
  const end = () => {
    clearInterval(timer);
    unsubscribe();
  };
  stopping.addEventListener('abort', end, { once: true });
  begin();
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
