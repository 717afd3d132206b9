/**
 * Merges updates of jobs into the known jobs. Updates may arrive out of order; older updates are ignored. Does not use
 * the browser.
 */
import type { Job, JobState } from './replies.ts';

/** The maximum number of jobs, the same as in a reply of the server. */
const JOBS_MAX = 200;

const RANK: Readonly<Record<JobState, number>> = { queued: 0, running: 1, done: 2, failed: 2, cancelled: 2 };

/** Newest first. */
export function mergedJobs(known: readonly Job[], news: readonly Job[]): Job[] {
  const all = new Map(known.map((job) => [job.id, job]));
  for (const job of news) {
    const before = all.get(job.id);
    if (!before || !isBehind(job, before)) all.set(job.id, job);
  }
  return [...all.values()].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)).slice(0, JOBS_MAX);
}

function isBehind(job: Job, other: Job): boolean {
  // A job of a server that died waits again.
  const attempts = (job.attempt ?? 1) - (other.attempt ?? 1);
  if (attempts !== 0) return attempts < 0;
  const ranks = RANK[job.state] - RANK[other.state];
  return ranks < 0 || (ranks === 0 && (job.progress?.done ?? 0) < (other.progress?.done ?? 0));
}

export function isUnderWay(job: Job): boolean {
  return RANK[job.state] < 2;
}
