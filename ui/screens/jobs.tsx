/** Jobs: upload files, start jobs, and watch them. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useJobs } from '../api/job-events.ts';
import { isUnderWay } from '../api/job-merge.ts';
import { useInfo } from '../api/request.ts';
import { useSession } from '../api/session.ts';
import { useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { counted } from '../app/wording.ts';
import { AccessGate } from '../components/access-gate.tsx';
import { JobForm } from '../components/jobs/job-form.tsx';
import { JobList } from '../components/jobs/job-list.tsx';
import { kindTitle, PREVIEWED_KINDS } from '../components/jobs/job-report.ts';
import { rightOfKind } from '../components/jobs/job-right.ts';
import { UploadForm } from '../components/jobs/upload-form.tsx';
import { Note, Waiting } from '../components/notice.tsx';

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  add: 'Add WARC, ARC and WACZ files that are on the machine of the server.',
  compact: 'Free the disk space of deleted captures. No other capture loses its content.',
  copies: 'Copy contents with many references to other volumes, as archive.yaml says.',
  crawl: 'Fetch pages from the web into the archive.',
  export: 'Write a part of the archive into a file that you can download.',
  'mirror-sync': 'Copy what the second copies of the archive lack.',
  rebuild: 'Make a damaged catalog (the list of all captures) again from the WARC files.',
  'takedown-check': 'Read every file for bytes of what was taken down, and sign the result.',
  verify: 'Read all files and check them for damage.',
};

/** `start`: the kind of job whose form is open. */
export function JobsScreen({ start }: { start?: string | undefined }) {
  useTitle('Jobs');
  const { jobs, isConnected } = useJobs();
  const session = useSession();
  const mayAdminister = session?.rights.includes('admin') === true;
  const underWay = jobs?.filter(isUnderWay) ?? [];
  const ended = jobs?.filter((job) => !isUnderWay(job)) ?? [];
  return (
    <>
      <h1>Jobs</h1>
      {mayAdminister && (
        <p class="lead">
          What the disks and servers of the archive do meanwhile is under <a href={pathTo.nodes()}>storage</a>, and who
          did what is in the <a href={pathTo.audit()}>audit log</a>.
        </p>
      )}
      {!isConnected && (
        <Note title="The connection to the server is broken.">
          <p>{jobs ? 'The list below may be out of date. ' : ''}Reconnecting automatically.</p>
        </Note>
      )}
      {!jobs && isConnected && <Waiting what="Fetching jobs" />}
      <p class="unseen" role="status">
        {jobs ? `${counted(underWay.length, 'job')} in progress` : ''}
      </p>
      {underWay.length > 0 && (
        <section aria-labelledby="under-way">
          <h2 id="under-way">In progress</h2>
          <JobList jobs={underWay} />
        </section>
      )}
      <section aria-labelledby="start">
        <h2 id="start">Start a job</h2>
        <AccessGate why="Starting a job" right="add">
          <Starting start={start} />
        </AccessGate>
      </section>
      <section aria-labelledby="ended">
        <h2 id="ended">Finished</h2>
        {session?.kind === 'anonymous' && ended.length > 0 && (
          <p class="muted">
            {session.signIn ? 'Sign in' : 'Enter the token of the server'} to see the details of these jobs.
          </p>
        )}
        {jobs && ended.length === 0 && <p class="muted">No job has finished yet.</p>}
        <JobList jobs={ended} />
      </section>
    </>
  );
}

function Starting({ start }: { start: string | undefined }) {
  const info = useInfo();
  const [open, setOpen] = useState(start);
  const opened = useRef<HTMLLIElement>(null);
  const isKnown = info !== undefined;
  useEffect(() => {
    if (!isKnown || start === undefined) return;
    opened.current?.scrollIntoView({ block: 'start' });
    opened.current?.querySelector('button')?.focus({ preventScroll: true });
  }, [isKnown, start]);
  const rights = useSession()?.rights ?? [];
  const kinds = (info?.jobKinds ?? [])
    .filter((kind) => !PREVIEWED_KINDS.includes(kind) && rights.includes(rightOfKind(kind)))
    .sort(byUse);
  return (
    <>
      <UploadForm />
      <ul class="starters">
        {kinds.map((kind) => (
          <li key={kind} ref={kind === start ? opened : null} class={open === kind ? 'starter open' : 'starter'}>
            <button
              type="button"
              class="starter-head"
              aria-expanded={open === kind}
              onClick={() => setOpen(open === kind ? undefined : kind)}
            >
              <span class="starter-title">{kind === 'add' ? 'Add files on the server' : kindTitle(kind)}</span>
              <span class="muted">{DESCRIPTIONS[kind] ?? ''}</span>
            </button>
            {open === kind && <JobForm kind={kind} />}
          </li>
        ))}
      </ul>
    </>
  );
}

const ORDER = ['add', 'crawl', 'export', 'verify', 'compact'];

function byUse(a: string, b: string): number {
  const place = (kind: string) => (ORDER.includes(kind) ? ORDER.indexOf(kind) : ORDER.length);
  return place(a) - place(b) || (a < b ? -1 : 1);
}
