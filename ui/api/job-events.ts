/**
 * The list of jobs, fetched once and then kept up to date by server-sent events. It reconnects after a break; the
 * events then begin with all jobs, so that no change is missed. When the token changes, the jobs are fetched again.
 */
import { useEffect, useState } from 'preact/hooks';
import { ApiError, apiPath, follow, get } from './client.ts';
import { mergedJobs } from './job-merge.ts';
import type { Job } from './replies.ts';
import type { List } from './request.ts';
import { useToken } from './use-token.ts';

const AGAIN_MS = 2000;

export type JobWatch = {
  /** Newest first; undefined until the first reply. */
  readonly jobs: readonly Job[] | undefined;
  readonly isConnected: boolean;
};

export function useJobs(): JobWatch {
  const [jobs, setJobs] = useState<readonly Job[] | undefined>(undefined);
  const [isConnected, setIsConnected] = useState(true);
  const token = useToken();
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let timer: number | undefined;
    const take = (news: readonly Job[]) => setJobs((before) => mergedJobs(before ?? [], news));
    const connect = () => {
      follow(apiPath('jobs/events'), signal, {
        onOpen: () => setIsConnected(true),
        onEvent: ({ name, data }) => name === 'job' && take([JSON.parse(data) as Job]),
      })
        // A refused token is not a broken connection.
        .then(
          () => true,
          (error: unknown) => !(error instanceof ApiError && error.status === 401),
        )
        .then((isBroken) => {
          if (signal.aborted) return;
          if (isBroken) setIsConnected(false);
          timer = window.setTimeout(connect, AGAIN_MS);
        });
    };
    get<List<Job>>(apiPath('jobs'), signal).then(
      ({ items }) => take(items),
      () => {},
    );
    connect();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [token]);
  return { jobs, isConnected };
}
