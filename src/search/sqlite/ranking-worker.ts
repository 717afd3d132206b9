/**
 * The thread that writes a ranking down: sorting all URLs of an index takes seconds, which a server must not notice.
 */
import { workerData } from 'node:worker_threads';
import { answerCalls } from '../thread-calls.ts';
import { RankingWriter } from './ranking-writer.ts';

answerCalls(() => new RankingWriter((workerData as { directory: string }).directory));
