/** A thread that scans the ranges it is sent. A range that cannot be read is answered with the reason; the thread goes on. */
import { answerJobs } from '../base/index.ts';
import { type ScanJob, type ScanResult, scanRange } from './scan.ts';
import { buffersOf } from './scan-batch.ts';

answerJobs<ScanJob, ScanResult>(scanRange, ({ columns }) => buffersOf(columns));
