/** jobs: the queue of long work, on files of one machine or on PostgreSQL in a cluster; runs the jobs it claims. */
export { FileJobQueue, type FileJobQueueOptions } from './files/file-job-queue.ts';
export { DIRECTORY_MODE, FILE_MODE, makePrivate } from './files/private-file.ts';
export {
  INTERRUPTED,
  isInterrupted,
  isOver,
  type Job,
  type JobError,
  type JobProgress,
  type JobState,
  LOG_LINES_MAX,
} from './job.ts';
export type { JobClaim, StopReason } from './job-claim.ts';
export {
  type Cancelled,
  type JobChange,
  type JobHooks,
  type JobOutcome,
  type JobOutput,
  type JobQueue,
  type NewJob,
  type Once,
  OPEN_MAX,
  OVER_MAX,
  type Submitted,
} from './job-queue.ts';
export {
  type JobErrors,
  type JobRun,
  JobRunner,
  type JobWork,
  type RunningJob,
  type Submission,
} from './job-runner.ts';
export { PostgresJobQueue, type PostgresJobQueueOptions } from './postgres/postgres-job-queue.ts';
