/** The thread that puts a new index into the place of the old one; see `index-exchange.ts`. */
import { answerJobs } from '../../base/index.ts';
import { indexError } from './database.ts';
import { exchangeIndex } from './index-exchange.ts';

answerJobs<string, void>((directory) =>
  exchangeIndex(directory).catch((error: unknown) => {
    throw indexError(error);
  }),
);
