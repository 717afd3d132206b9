/** The thread that reads large pages; see `page-thread.ts`. */
import { answerJobs } from '../base/index.ts';
import { readPage } from './page.ts';

answerJobs(([source, parts]: Parameters<typeof readPage>) => readPage(source, parts));
