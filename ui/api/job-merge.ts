/**
 * Jobs as they are known so far, brought together with news of them. News may overtake one another on the way; what is
 * behind is passed over. Knows nothing of the browser.
 */
import type { Job, JobState } from './replies.ts';

/** No more than the server tells of at once. */
const KEPT = 200;

const RANK: Readonly<Record<JobState, number>> = { queued: 0, running: 1, done: 2, failed: 2, cancelled: 2 };

/** Newest first. */
export function mergedJobs(known: readonly Job[], news: readonly Job[]): Job[] {
  const all = new Map(known.map((job) => [job.id, job]));
  for (const job of news) {
    const before = all.get(job.id);
    if (!before || !isBehind(job, before)) all.set(job.id, job);
  }
  return [...all.values()].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)).slice(0, KEPT);
}

function isBehind(job: Job, other: Job): boolean {
  const ranks = RANK[job.state] - RANK[other.state];
  return ranks < 0 || (ranks === 0 && (job.progress?.done ?? 0) < (other.progress?.done ?? 0));
}

export function isUnderWay(job: Job): boolean {
  return RANK[job.state] < 2;
}
