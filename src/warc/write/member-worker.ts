/** A thread that puts records into members; see `member-threads.ts`. */
import { answerJobs } from '../../base/index.ts';
import { encodeBatch } from './member-batch.ts';

answerJobs(encodeBatch, ({ bytes }) => [bytes.buffer]);
