/** Looks from time to time whether scheduled crawls are due, and makes jobs of them. */
import type { Archive } from '../../archive/index.ts';
import { type EpochMs, PinakesError, parseW3cDate } from '../../base/index.ts';
import { dueCrawls } from '../../crawl/index.ts';
import { isInterrupted, isOver, type Job } from './job.ts';
import { crawlKind } from './job-crawl.ts';
import type { JobQueue } from './job-queue.ts';

const LOOK_MS = 30_000;
/** What failed or was cancelled stays due, and is left alone for so long: somebody has to see to it first. */
const REST_MS = 60 * 60 * 1000;

export function watchSchedules(archive: Archive, jobs: JobQueue, stopping: AbortSignal): void {
  const look = () => {
    if (stopping.aborted) return;
    for (const { collection } of dueOf(archive)) {
      if (jobs.list().some((job) => isFor(job, collection) && (!isOver(job) || isResting(job, archive.clock()))))
        continue;
      const input = { collection, mode: 'scheduled' };
      // A queue that is full or stopping takes it another time: the crawl stays due.
      jobs
        .submit({ kind: crawlKind.name, input, origin: 'api', lane: crawlKind.lane, run: crawlKind.run })
        .catch(() => {});
    }
  };
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  stopping.addEventListener('abort', () => clearInterval(timer), { once: true });
  look();
}

/** A state that cannot be read is told by whoever crawls; it must not end the server. */
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
