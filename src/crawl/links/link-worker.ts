/** The thread that reads the links of pages; see `link-reader.ts`. */
import { answerJobs } from '../../base/index.ts';
import { type LinkBatch, readBatch } from './link-batch.ts';

answerJobs(
  (batch: LinkBatch, tell) => {
    tell('begun');
    return readBatch(batch);
  },
  ({ bytes }) => [bytes.buffer],
);
