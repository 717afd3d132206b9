/** Checks at intervals whether scheduled crawls are due, and submits a job for each. */
import type { Archive } from '../../archive/index.ts';
import { type EpochMs, PinakesError, parseW3cDate } from '../../base/index.ts';
import { dueCrawls } from '../../crawl/index.ts';
import { crawlKind } from './crawl-kind.ts';
import { isInterrupted, isOver, type Job } from './job.ts';
import type { JobQueue } from './job-queue.ts';

const CHECK_MS = 30_000;
/** A crawl that failed or was cancelled stays due. It is not retried for this long, so that a person can look at it. */
const REST_MS = 60 * 60 * 1000;

export function watchSchedules(archive: Archive, jobs: JobQueue, stopping: AbortSignal): void {
  const check = () => {
    if (stopping.aborted) return;
    for (const { collection } of dueOf(archive)) {
      if (jobs.list().some((job) => isFor(job, collection) && (!isOver(job) || isResting(job, archive.clock()))))
        continue;
      const input = { collection, mode: 'scheduled' };
      // When the queue is full or stopping, the crawl stays due and is submitted at a later check.
      jobs
        .submit({ kind: crawlKind.name, input, origin: 'api', lane: crawlKind.lane, run: crawlKind.run })
        .catch(() => {});
    }
  };
  const timer = setInterval(check, CHECK_MS);
  timer.unref();
  stopping.addEventListener('abort', () => clearInterval(timer), { once: true });
  check();
}

/** A crawl state that cannot be read must not end the server. The next crawl reports it. */
function dueOf(archive: Archive): readonly { readonly collection: string }[] {
  try {
    return dueCrawls(archive);
  } catch (error) {
    if (error instanceof PinakesError) return [];
    throw error;
  }
}

function isResting(job: Job, now: EpochMs): boolean {
  if (job.state === 'done' || isInterrupted(job)) return false;
  return (parseW3cDate(job.endedAt ?? '') ?? 0) + REST_MS > now;
}

function isFor({ kind, input }: Job, collection: string): boolean {
  return kind === crawlKind.name && ((input ?? {}) as { collection?: unknown }).collection === collection;
}
