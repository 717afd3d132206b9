/** Jobs: bring files in, start work on the archive, and watch what is under way. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useJobs } from '../api/job-events.ts';
import { isUnderWay } from '../api/job-merge.ts';
import { useInfo } from '../api/request.ts';
import { useTitle } from '../app/navigation.ts';
import { counted } from '../app/wording.ts';
import { JobForm } from '../components/job-form.tsx';
import { JobList } from '../components/job-list.tsx';
import { kindTitle } from '../components/job-report.ts';
import { Note, Waiting } from '../components/notice.tsx';
import { TokenGate, useHasToken } from '../components/token-gate.tsx';
import { UploadForm } from '../components/upload-form.tsx';

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  add: 'Take in WARC, ARC and WACZ files that lie on the machine the server runs on.',
  compact: 'Free the bytes of deleted captures. No other capture loses its content.',
  crawl: 'Fetch pages from the web into the archive.',
  export: 'Write a part of the archive into one file, to download.',
  rebuild: 'Make the catalog, the list of all captures, anew from the WARC files, when it is damaged.',
  verify: 'Read everything, and see whether it is what was stored.',
};

/** Deleting has a screen of its own, where the preview comes first. */
const OTHER_SCREEN_KINDS = ['delete'];

/** `start`: the kind of job whose form is open. */
export function JobsScreen({ start }: { start?: string | undefined }) {
  useTitle('Jobs');
  const { jobs, isConnected } = useJobs();
  const hasToken = useHasToken();
  const underWay = jobs?.filter(isUnderWay) ?? [];
  const ended = jobs?.filter((job) => !isUnderWay(job)) ?? [];
  return (
    <>
      <h1>Jobs</h1>
      {!isConnected && (
        <Note title="The connection to the server is broken.">
          <p>{jobs ? 'What is shown may be old. ' : ''}It is tried again by itself.</p>
        </Note>
      )}
      {!jobs && isConnected && <Waiting what="Fetching jobs" />}
      <p class="unseen" role="status">
        {jobs ? `${counted(underWay.length, 'job')} under way` : ''}
      </p>
      {underWay.length > 0 && (
        <section aria-labelledby="under-way">
          <h2 id="under-way">Under way</h2>
          <JobList jobs={underWay} />
        </section>
      )}
      <section aria-labelledby="start">
        <h2 id="start">Start something</h2>
        <TokenGate why="Starting a job">
          <Starting start={start} />
        </TokenGate>
      </section>
      <section aria-labelledby="ended">
        <h2 id="ended">Ended</h2>
        {!hasToken && ended.length > 0 && (
          <p class="muted">What these jobs did is shown to people who have the server's token.</p>
        )}
        {jobs && ended.length === 0 && <p class="muted">No job has ended yet.</p>}
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
  const kinds = (info?.jobKinds ?? []).filter((kind) => !OTHER_SCREEN_KINDS.includes(kind)).sort(byUse);
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
              <span class="starter-title">{kind === 'add' ? 'Add files of the server' : kindTitle(kind)}</span>
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
