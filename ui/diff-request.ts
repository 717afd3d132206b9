/** Compares two texts in a worker. Ends the worker when it takes too long or the component is gone. */
import { useEffect, useState } from 'preact/hooks';
import type { DiffResult } from './diff-rows.ts';
import type { DiffRequest } from './diff-worker.ts';

/** The address of the worker's script. The build inserts it. */
declare const DIFF_WORKER_PATH: string;

const TIMEOUT_MS = 15_000;

export type Comparison =
  | { readonly state: 'working' }
  | { readonly state: 'done'; readonly result: DiffResult }
  | { readonly state: 'failed' };

const WORKING: Comparison = { state: 'working' };

export function useDiff(before: string | undefined, after: string | undefined): Comparison {
  const [comparison, setComparison] = useState<Comparison>(WORKING);
  useEffect(() => {
    setComparison(WORKING);
    if (before === undefined || after === undefined) return;
    const worker = new Worker(DIFF_WORKER_PATH, { type: 'module' });
    const end = (next: Comparison) => {
      setComparison(next);
      worker.terminate();
      clearTimeout(timer);
    };
    const timer = setTimeout(() => end({ state: 'failed' }), TIMEOUT_MS);
    worker.onmessage = (event: MessageEvent<DiffResult>) => end({ state: 'done', result: event.data });
    worker.onerror = () => end({ state: 'failed' });
    worker.postMessage({ before, after } satisfies DiffRequest);
    return () => {
      worker.terminate();
      clearTimeout(timer);
    };
  }, [before, after]);
  return comparison;
}
