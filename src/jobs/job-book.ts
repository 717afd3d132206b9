/**
 * The jobs of a queue that this process knows, with the numbers of their changes. Its listeners are called after
 * changes. It drops the oldest jobs that are over and not kept.
 */
import { isOver, type Job, type JobState } from './job.ts';
import { type JobChange, OVER_MAX } from './job-queue.ts';

export type BookEntry = {
  job: Job;
  /** The number of the last change of the job. */
  change: number;
  /** Whether the history must keep the job although it is over. */
  isKept: boolean;
};

export class JobBook<Entry extends BookEntry> {
  /** In order of creation. */
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<() => void>();

  get(id: string): Entry | undefined {
    return this.#entries.get(id);
  }

  set(entry: Entry): void {
    this.#entries.set(entry.job.id, entry);
  }

  delete(id: string): void {
    this.#entries.delete(id);
  }

  clear(): void {
    this.#entries.clear();
  }

  /** In order of creation. */
  entries(): Entry[] {
    return [...this.#entries.values()];
  }

  /** The entries of jobs that wait or run. */
  open(): Entry[] {
    return this.entries().filter(({ job }) => !isOver(job));
  }

  /** All jobs, newest first. */
  list(): Job[] {
    return this.entries()
      .map(({ job }) => job)
      .reverse();
  }

  counts(): Record<JobState, number> {
    const counts: Record<JobState, number> = { queued: 0, running: 0, done: 0, failed: 0, cancelled: 0 };
    for (const { job } of this.#entries.values()) counts[job.state]++;
    return counts;
  }

  changedSince(change: number): JobChange[] {
    return this.entries()
      .filter((entry) => entry.change > change)
      .sort((a, b) => a.change - b.change);
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Drops the oldest jobs that are over and not kept, and returns their ids. */
  forget(): string[] {
    const over = this.entries().filter(({ job }) => isOver(job));
    const dropped = over
      .slice(0, Math.max(0, over.length - OVER_MAX))
      .filter(({ isKept }) => !isKept)
      .map(({ job }) => job.id);
    for (const id of dropped) this.#entries.delete(id);
    return dropped;
  }
}
