/** The progress of a job: a bar, which is filled if the total is known, and words. */
import type { Job, JobProgress } from '../../api/replies.ts';
import { formatBytes, formatCount } from '../../app/wording.ts';

export function ProgressLine({ job }: { job: Job }) {
  const { progress } = job;
  const words = job.state === 'queued' ? 'Waiting for the previous job to end.' : progressWords(progress);
  const share = progress?.total ? Math.min(1, progress.done / progress.total) : undefined;
  return (
    <div class="progress-line">
      <progress aria-label="Progress" max={1} {...(share !== undefined && { value: share })} />
      <span class="muted">{words}</span>
    </div>
  );
}

function progressWords(progress: JobProgress | undefined): string {
  if (!progress) return 'Starting.';
  const { done, total, unit, message } = progress;
  // Commands report their progress in words, without a number.
  if (unit === '') return message ?? 'Running.';
  const amount = (value: number) => (unit === 'bytes' ? formatBytes(value) : formatCount(value));
  const units = unit === 'bytes' ? '' : ` ${unit}`;
  const counted = total === undefined ? `${amount(done)}${units}` : `${amount(done)} of ${amount(total)}${units}`;
  return message ? `${counted}: ${message}` : counted;
}
