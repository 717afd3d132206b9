/** The child process that reads documents; see `page-process.ts`. */
import { serveJobs } from '../base/index.ts';

await serveJobs(new URL('./page-worker.ts', import.meta.url));
