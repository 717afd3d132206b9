/** The thread that writes a ranking. Sorting all URLs of an index takes seconds, which must not block a server. */
import { workerData } from 'node:worker_threads';
import { answerCalls } from '../thread-calls.ts';
import { RankingWriter } from './ranking-writer.ts';

answerCalls(() => new RankingWriter((workerData as { directory: string }).directory));
