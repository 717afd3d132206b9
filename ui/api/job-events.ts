/**
 * Jobs as they change: a list that is fetched once and then kept up to date by the server's events. The browser reconnects by itself after a break; since
 * events may have been missed meanwhile, the list is then fetched anew.
 */
import { useEffect, useState } from 'preact/hooks';
import { apiPath, get } from './client.ts';
import { mergedJobs } from './job-merge.ts';
import type { Job, List } from './replies.ts';

export type JobWatch = {
  /** Newest first; undefined until the first answer. */
  readonly jobs: readonly Job[] | undefined;
  readonly isConnected: boolean;
};

export function useJobs(): JobWatch {
  const [jobs, setJobs] = useState<readonly Job[] | undefined>(undefined);
  const [isConnected, setIsConnected] = useState(true);
  useEffect(() => {
    const controller = new AbortController();
    const fetchAll = () => {
      get<List<Job>>(apiPath('jobs'), controller.signal).then(
        ({ items }) => setJobs((before) => mergedJobs(before ?? [], items)),
        () => {},
      );
    };
    const events = new EventSource(apiPath('jobs/events'));
    events.addEventListener('job', (event) => {
      const job = JSON.parse((event as MessageEvent<string>).data) as Job;
      setJobs((before) => mergedJobs(before ?? [], [job]));
    });
    events.onopen = () => {
      setIsConnected(true);
      fetchAll();
    };
    events.onerror = () => setIsConnected(false);
    fetchAll();
    return () => {
      controller.abort();
      events.close();
    };
  }, []);
  return { jobs, isConnected };
}
