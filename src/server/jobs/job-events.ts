/**
 * Server-sent events of jobs. An event carries a job whole, so a client that missed some misses nothing that still
 * matters: it gets the latest of each. A client that does not read is given nothing more until it does, and is dropped
 * when it has not by the second heartbeat; nothing is kept for it.
 *
 * The id of an event is `<server>-<change>`; a client that comes back with one gets what changed since, or everything
 * when the server is another.
 */
import type { ServerResponse } from 'node:http';
import { UNBUFFERED } from '../http/unbuffered.ts';
import type { Job, ToldJob } from './job.ts';
import type { JobQueue } from './job-queue.ts';

const HEARTBEAT_MS = 15_000;

export type EventsOptions = {
  /** Only this job. */
  readonly jobId?: string | undefined;
  readonly lastEventId: string | undefined;
  /** What is told of a job. */
  readonly told: (job: Job) => ToldJob;
  readonly stopping: AbortSignal;
};

export class JobEvents {
  readonly #jobs: JobQueue;
  readonly #serverId: string;

  /** `serverId` is without dashes, and another for each run of the server. */
  constructor(jobs: JobQueue, serverId: string) {
    this.#jobs = jobs;
    this.#serverId = serverId;
  }

  /** Answers with events until the client leaves or the server stops. */
  send(response: ServerResponse, { jobId, lastEventId, told, stopping }: EventsOptions): void {
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...UNBUFFERED,
    });
    if (response.req.method === 'HEAD') {
      response.end();
      return;
    }
    let seen = this.#changeOf(lastEventId);
    let isBlocked = false;
    let missedBeats = 0;
    const write = (text: string) => {
      isBlocked = !response.write(text);
    };
    const pump = () => {
      for (const { job, change } of isBlocked ? [] : this.#jobs.changedSince(seen)) {
        if (isBlocked) return;
        seen = change;
        if (jobId === undefined || job.id === jobId) write(this.#event(told(job), change));
      }
    };
    const beat = setInterval(() => {
      if (!isBlocked) write(': still here\n\n');
      else if (++missedBeats > 1) response.destroy();
    }, HEARTBEAT_MS);
    const end = () => response.end();
    const deafen = this.#jobs.listen(pump);
    stopping.addEventListener('abort', end, { once: true });
    response.on('drain', () => {
      isBlocked = false;
      missedBeats = 0;
      pump();
    });
    response.on('close', () => {
      clearInterval(beat);
      deafen();
      stopping.removeEventListener('abort', end);
    });
    write('retry: 2000\n\n');
    pump();
    if (stopping.aborted) end();
  }

  #event(job: ToldJob, change: number): string {
    return `event: job\nid: ${this.#serverId}-${change}\ndata: ${JSON.stringify(job)}\n\n`;
  }

  #changeOf(eventId: string | undefined): number {
    const match = /^([0-9a-z]+)-(\d{1,15})$/.exec(eventId ?? '');
    return match?.[1] === this.#serverId ? Number(match[2]) : 0;
  }
}
