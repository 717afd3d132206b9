/**
 * Server-sent events of jobs. An event carries a whole job, so a client that missed events still gets the latest state
 * of each job. Nothing is queued for a client that does not read. The client gets its next event when it reads again.
 * It is disconnected at the second heartbeat that it does not read.
 *
 * The id of an event is `<history>-<change>`. A client that reconnects with an id gets the jobs that changed after that
 * change. After a restart of a server on one machine it gets all jobs. In a cluster it may reconnect to any server.
 */
import type { ServerResponse } from 'node:http';
import type { Job, JobQueue } from '../../jobs/index.ts';
import { UNBUFFERED } from '../http/unbuffered.ts';

const HEARTBEAT_MS = 15_000;

export type EventsOptions = {
  /** Send events of this job only. */
  readonly jobId?: string | undefined;
  readonly lastEventId: string | undefined;
  /** The data of an event: what this client may see of a job. */
  readonly itemOf: (job: Job) => object;
  readonly stopping: AbortSignal;
};

export class JobEvents {
  readonly #jobs: JobQueue;

  constructor(jobs: JobQueue) {
    this.#jobs = jobs;
  }

  /** Sends events until the client disconnects or the server stops. */
  send(response: ServerResponse, { jobId, lastEventId, itemOf, stopping }: EventsOptions): void {
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
    let sentChange = this.#changeOf(lastEventId);
    let isBlocked = false;
    let missedHeartbeats = 0;
    const write = (text: string) => {
      isBlocked = !response.write(text);
    };
    const sendChanges = () => {
      // The numbers of a database that was restored begin earlier.
      if (sentChange > this.#jobs.lastChange) sentChange = 0;
      for (const { job, change } of isBlocked ? [] : this.#jobs.changedSince(sentChange)) {
        if (isBlocked) return;
        sentChange = change;
        if (jobId === undefined || job.id === jobId) write(this.#event(itemOf(job), change));
      }
    };
    const heartbeat = setInterval(() => {
      if (!isBlocked) write(': still here\n\n');
      else if (++missedHeartbeats > 1) response.destroy();
    }, HEARTBEAT_MS);
    const end = () => response.end();
    const unsubscribe = this.#jobs.subscribe(sendChanges);
    stopping.addEventListener('abort', end, { once: true });
    response.on('drain', () => {
      isBlocked = false;
      missedHeartbeats = 0;
      sendChanges();
    });
    response.on('close', () => {
      clearInterval(heartbeat);
      unsubscribe();
      stopping.removeEventListener('abort', end);
    });
    write('retry: 2000\n\n');
    sendChanges();
    if (stopping.aborted) end();
  }

  #event(job: object, change: number): string {
    return `event: job\nid: ${this.#jobs.historyId}-${change}\ndata: ${JSON.stringify(job)}\n\n`;
  }

  #changeOf(eventId: string | undefined): number {
    const match = /^([0-9a-z]+)-(\d{1,15})$/.exec(eventId ?? '');
    return match?.[1] === this.#jobs.historyId ? Number(match[2]) : 0;
  }
}
