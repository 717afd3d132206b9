/** The thread that reads the links of pages for a `LinkReader`. */
import { answerJobs } from '../../base/index.ts';
import { type LinkBatch, readBatch } from './link-batch.ts';

answerJobs((batch: LinkBatch, tell) => {
  tell('begun');
  return readBatch(batch);
});
