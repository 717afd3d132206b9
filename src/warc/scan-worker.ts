/** A thread that scans the ranges it is sent. A range that cannot be read is answered with the reason; the thread goes on. */
import { parentPort } from 'node:worker_threads';
import { PinakesError } from '../base/index.ts';
import { type ScanJob, type ScanResult, scanRange } from './scan.ts';
import { buffersOf } from './scan-batch.ts';

export type ScanFailure = { readonly code: string; readonly where: string | undefined; readonly detail: string };

export type ScanAnswer = { readonly result: ScanResult } | { readonly failure: ScanFailure };

parentPort?.on('message', (job: ScanJob) => {
  try {
    const result = scanRange(job);
    parentPort?.postMessage({ result } satisfies ScanAnswer, buffersOf(result.columns));
  } catch (cause) {
    const isKnown = cause instanceof PinakesError;
    const failure: ScanFailure = {
      code: isKnown ? cause.code : '',
      where: isKnown ? cause.where : job.path,
      detail: isKnown ? '' : String((cause as Error)?.stack ?? cause),
    };
    parentPort?.postMessage({ failure } satisfies ScanAnswer);
  }
});
