/** One job: its progress, log and result, with buttons to cancel it or run it again. */
import { useState } from 'preact/hooks';
import { type ApiError, apiPath, post, remove } from '../api/client.ts';
import { faultAdvice, faultPlace, faultSentence } from '../api/fault.ts';
import { useJobs } from '../api/job-events.ts';
import { isUnderWay } from '../api/job-merge.ts';
import type { Job } from '../api/replies.ts';
import { asApiError, useReply } from '../api/request.ts';
import { useMay } from '../api/session.ts';
import { navigate, useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { formatDuration, formatTime, shortened, shownUrl } from '../app/wording.ts';
import { AccessGate } from '../components/access-gate.tsx';
import { PinakesCommand } from '../components/command-line.tsx';
import { commandLine } from '../components/jobs/command-subject.ts';
import { JobStateLabel, serverWords, starterWords, stateWords } from '../components/jobs/job-list.tsx';
import {
  argvOf,
  endSentence,
  jobTitle,
  PREVIEWED_KINDS,
  recordOf,
  reportFacts,
  reportSentences,
  savedBy,
} from '../components/jobs/job-report.ts';
import { rightOfKind } from '../components/jobs/job-right.ts';
import { ProgressLine } from '../components/jobs/progress-line.tsx';
import { FaultNotice, Note, Waiting, withCode } from '../components/notice.tsx';

const SEEDS_SHOWN = 3;
/** Characters of an address on a button. */
const SEED_LENGTH_MAX = 60;

export function JobScreen({ id }: { id: string }) {
  const { jobs } = useJobs();
  const fetched = useReply<Job>(apiPath(`jobs/${encodeURIComponent(id)}`));
  const job = jobs?.find((one) => one.id === id) ?? fetched.reply;
  useTitle(job ? `${jobTitle(job)}, ${stateWords(job)}` : 'Job');
  return (
    <>
      <p class="kicker">
        <a href={pathTo.jobs()}>Jobs</a>
      </p>
      <h1>{job ? jobTitle(job) : 'Job'}</h1>
      {!job && fetched.isLoading && <Waiting what="Fetching the job" />}
      {!job && fetched.error && <FaultNotice error={fetched.error} />}
      {job && <JobDetail job={job} />}
    </>
  );
}

function JobDetail({ job }: { job: Job }) {
  const argv = argvOf(job.input);
  const ended = isUnderWay(job) ? [] : [endSentence(job.report), ...reportSentences(job.kind, job.report)];
  const sentences = ended.filter((sentence) => sentence !== '');
  const facts = reportFacts(job.report);
  const exported = exportedFile(job);
  return (
    <>
      <div class="job-head">
        <p role="status">
          <JobStateLabel job={job} />
        </p>
        <p class="muted">
          Created on {formatTime(job.createdAt)}
          {job.startedAt && job.endedAt && `; took ${formatDuration(job.startedAt, job.endedAt)}`}
          {starterWords(job)}
          {serverWords(job)}
        </p>
        <JobActions job={job} />
      </div>
      {argv.length > 0 && (
        <section aria-labelledby="typed">
          <h2 id="typed">Started on the command line</h2>
          <PinakesCommand words={commandLine(argv)} />
        </section>
      )}
      {isUnderWay(job) && <ProgressLine job={job} />}
      {isUnderWay(job) && <Facts facts={reportFacts(job.progress?.detail)} />}
      {job.error && <Fault job={job} />}
      {sentences.length > 0 && (
        <section aria-labelledby="outcome">
          <h2 id="outcome">Result</h2>
          {sentences.map((sentence) => (
            <p key={sentence}>{withCode(sentence)}</p>
          ))}
          <Saved job={job} />
          {exported && (
            <p>
              <a class="button primary" href={exported.href} download>
                Download {exported.file}
              </a>
            </p>
          )}
        </section>
      )}
      {job.log !== undefined && job.log.length > 0 && (
        <section aria-labelledby="log">
          <h2 id="log">Log</h2>
          <pre class="log">{job.log.join('\n')}</pre>
        </section>
      )}
      <AccessGate why="Seeing the details and the result of a job" right={rightOfKind(job.kind)}>
        <details open={sentences.length === 0 && facts.length > 0}>
          <summary>All details</summary>
          <Facts facts={facts} />
          <pre class="log">{JSON.stringify(job.input, null, 2)}</pre>
        </details>
      </AccessGate>
    </>
  );
}

/** Links from a job to the captures that it saved. */
function Saved({ job }: { job: Job }) {
  const saved = savedBy(job);
  if (!saved) return null;
  const { collection, seeds } = saved;
  return (
    <div class="job-actions">
      {seeds.slice(0, SEEDS_SHOWN).map((seed) => (
        <a key={seed} class="button primary" href={pathTo.captures(seed)}>
          See {shortened(shownUrl(seed), SEED_LENGTH_MAX)}
        </a>
      ))}
      <a class="button" href={pathTo.collection(collection)}>
        Open the collection {collection}
      </a>
    </div>
  );
}

function Facts({ facts }: { facts: readonly (readonly [string, string])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Fault({ job }: { job: Job }) {
  const error = job.error!;
  const [where, advice] = [faultPlace(error), faultAdvice(error)];
  return (
    <Note title={faultSentence(error)} isBad>
      {where && <p class="notice-where">{where}</p>}
      {advice && <p>{withCode(advice)}</p>}
    </Note>
  );
}

function JobActions({ job }: { job: Job }) {
  const mayStop = useMay(rightOfKind(job.kind));
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [isRemoved, setRemoved] = useState(false);
  if (!mayStop) return null;
  const attempt = async (work: () => Promise<unknown>) => {
    setError(undefined);
    await work().catch((failure: unknown) => setError(asApiError(failure)));
  };
  const hasUpload = 'upload' in recordOf(job.input);
  // The server deletes the file of every other job that has ended.
  const keepsUpload = hasUpload && job.error?.code === 'JOB_INTERRUPTED' && !isRemoved;
  const canRepeat = job.origin !== 'command' && !PREVIEWED_KINDS.includes(job.kind) && (!hasUpload || keepsUpload);
  return (
    <div class="job-actions">
      {isUnderWay(job) && (
        <button
          type="button"
          onClick={() => attempt(() => post(apiPath(`jobs/${encodeURIComponent(job.id)}/cancel`), {}))}
        >
          Cancel
        </button>
      )}
      {!isUnderWay(job) && canRepeat && (
        <button
          type="button"
          onClick={() =>
            attempt(async () => {
              const again = await post<Job>(apiPath('jobs'), { kind: job.kind, input: job.input });
              navigate(pathTo.job(again.id));
            })
          }
        >
          Run it again
        </button>
      )}
      {keepsUpload && (
        <button
          type="button"
          onClick={() =>
            attempt(async () => {
              await remove(apiPath(`uploads/${encodeURIComponent(job.id)}`));
              setRemoved(true);
            })
          }
        >
          Remove the file
        </button>
      )}
      {isRemoved && <p role="status">The file is removed. Nothing more of it will be added.</p>}
      {error && <FaultNotice error={error} />}
    </div>
  );
}

/** The exported file and its download address, which only the report has. */
function exportedFile(job: Job): { file: string; href: string } | undefined {
  if (job.kind !== 'export' || job.state !== 'done') return undefined;
  const { file, href } = recordOf(job.report);
  return typeof file === 'string' && typeof href === 'string' ? { file, href } : undefined;
}
