/** Checks at intervals whether scheduled crawls are due, and submits a job for each. */
import type { Archive } from '../../archive/index.ts';
import { type EpochMs, PinakesError, parseW3cDate } from '../../base/index.ts';
import { dueCrawls } from '../../crawl/index.ts';
import { isInterrupted, isOver, type Job, type JobRunner } from '../../jobs/index.ts';
import { crawlKind } from './crawl-kind.ts';

const CHECK_MS = 30_000;
/** A crawl that failed or was cancelled stays due. It is not retried for this long, so that a person can look at it. */
const REST_MS = 60 * 60 * 1000;

export function watchSchedules(archive: Archive, jobs: JobRunner, stopping: AbortSignal): void {
  // When the queue is full, stopping or away, the crawl stays due and is submitted at a later check.
  const check = () => void submitDueCrawls(archive, jobs).catch(() => {});
  const timer = setInterval(check, CHECK_MS);
  timer.unref();
  stopping.addEventListener('abort', () => clearInterval(timer), { once: true });
  check();
}

export async function submitDueCrawls(archive: Archive, jobs: JobRunner): Promise<void> {
  const { name: kind, lane } = crawlKind;
  // Asked before what is due: a crawl that ends in between has changed since.
  const known = await jobs.queue.list();
  const knownChange = jobs.queue.lastChange;
  for (const { collection } of await dueOf(archive)) {
    if (known.some((job) => isFor(job, collection) && (!isOver(job) || isResting(job, archive.clock())))) continue;
    const once = { key: `${kind} ${collection}`, knownChange };
    const input = { collection, mode: 'scheduled' };
    await jobs.submitOnce(kind, { input, origin: 'api', lane, once });
  }
}

/** A crawl state that cannot be read must not end the server. The next crawl reports it. */
async function dueOf(archive: Archive): Promise<readonly { readonly collection: string }[]> {
  try {
    return await dueCrawls(archive);
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
