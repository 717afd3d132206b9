/** A list of jobs: title, state and progress of each. */
import { isUnderWay } from '../../api/job-merge.ts';
import type { Job, JobState } from '../../api/replies.ts';
import { pathTo } from '../../app/route.ts';
import { formatDuration, formatTime } from '../../app/wording.ts';
import { Icon, type IconName } from '../icon.tsx';
import { jobTitle } from './job-report.ts';
import { ProgressLine } from './progress-line.tsx';

const STATE_ICONS: Readonly<Record<JobState, IconName>> = {
  queued: 'wait',
  running: 'wait',
  done: 'check',
  failed: 'wrong',
  cancelled: 'stop',
};

const STATE_WORDS: Readonly<Record<JobState, string>> = {
  queued: 'waiting',
  running: 'running',
  done: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
};

export function stateWords({ state, hasErrors }: Job): string {
  return hasErrors ? 'done, with errors' : STATE_WORDS[state];
}

/** Who started a job, for those who may see it. */
export function starterWords({ by }: Job): string {
  if (!by || by.kind === 'server') return '';
  return `, by ${by.name}${by.kind === 'token' ? ' (token)' : ''}`;
}

/** In a cluster: which server runs or ran a job. */
export function serverWords({ server, startedAt }: Job): string {
  if (server === undefined) return '';
  return startedAt === undefined ? `, waits for ${server}` : `, on ${server}`;
}

export function JobStateLabel({ job }: { job: Job }) {
  const { state, hasErrors } = job;
  return (
    <span class={`job-state ${hasErrors ? 'with-errors' : state}`}>
      <Icon name={hasErrors ? 'wrong' : STATE_ICONS[state]} />
      {stateWords(job)}
    </span>
  );
}

export function JobList({ jobs }: { jobs: readonly Job[] }) {
  return (
    <ul class="jobs">
      {jobs.map((job) => (
        <li key={job.id} class="job-line">
          <JobStateLabel job={job} />
          <a href={pathTo.job(job.id)}>{jobTitle(job)}</a>
          <span class="muted job-when">
            {formatTime(job.createdAt)}
            {job.startedAt && job.endedAt && `, took ${formatDuration(job.startedAt, job.endedAt)}`}
            {starterWords(job)}
            {serverWords(job)}
          </span>
          {isUnderWay(job) && <ProgressLine job={job} />}
        </li>
      ))}
    </ul>
  );
}
