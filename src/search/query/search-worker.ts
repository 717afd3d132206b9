/** The thread that runs searches. */
import { workerData } from 'node:worker_threads';
import { answerCalls } from '../thread-calls.ts';
import { openSearch } from './search.ts';

answerCalls(() => openSearch((workerData as { directory: string }).directory));
