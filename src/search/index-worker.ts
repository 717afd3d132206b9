/** The thread of the writer of the index. */
import { workerData } from 'node:worker_threads';
import { IndexWriter } from './index-writer.ts';
import { answerCalls } from './thread-calls.ts';

answerCalls(() => new IndexWriter((workerData as { path: string }).path));
