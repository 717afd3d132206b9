/** The thread of a reader of the index. */
import { workerData } from 'node:worker_threads';
import { openSearch } from './search.ts';
import { answerCalls } from './thread-calls.ts';

answerCalls(() => openSearch((workerData as { directory: string }).directory));
