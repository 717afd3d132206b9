/** The thread that reads the links of pages; see `link-reader.ts`. */
import { answerJobs } from '../base/index.ts';
import { readBatch } from './link-batch.ts';

answerJobs(readBatch, ({ bytes }) => [bytes.buffer]);
