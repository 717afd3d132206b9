/** The thread that reads PDF documents; see `pdf.ts`. */
import { answerJobs } from '../base/index.ts';
import { readDocument } from './pdf-document.ts';

answerJobs(readDocument);
