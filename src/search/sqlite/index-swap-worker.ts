/** The thread that replaces the old index by a new one; see `index-swap.ts`. */
import { answerJobs } from '../../base/index.ts';
import { indexError } from './database.ts';
import { swapIndex } from './index-swap.ts';

answerJobs<string, void>((directory) =>
  swapIndex(directory).catch((error: unknown) => {
    throw indexError(error);
  }),
);
