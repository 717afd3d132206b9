/**
 * What the routes work with: the archive, the jobs and their files, and answers that take long to find. Opened once,
 * stopped once.
 */
import { join } from 'node:path';
import type { Archive, ArchiveStats } from '../../archive/index.ts';
import { DeleteTickets } from '../delete-ticket.ts';
import { INDEXING_OFF, Indexing, type IndexingStatus } from '../indexing.ts';
import { CommandService } from '../jobs/command-service.ts';
import { ExportStore } from '../jobs/export-store.ts';
import { isInterrupted, isOver, type Job } from '../jobs/job.ts';
import { addKind } from '../jobs/job-add.ts';
import { crawlKind } from '../jobs/job-crawl.ts';
import { JobEvents } from '../jobs/job-events.ts';
import { exportKind } from '../jobs/job-export.ts';
import { JobJournal } from '../jobs/job-journal.ts';
import { compactKind, deleteKind, rebuildKind, verifyKind } from '../jobs/job-keeping.ts';
import type { JobKind } from '../jobs/job-kind.ts';
import { JobQueue } from '../jobs/job-queue.ts';
import { watchSchedules } from '../jobs/schedule-clock.ts';
import { UploadStore } from '../jobs/upload-store.ts';
import type { ApiParts } from '../server-options.ts';
import { CachedFigure } from './cached-figure.ts';
import type { Calendar } from './calendar.ts';
import { catalogState } from './catalog-state.ts';
import { type CollectionFigures, collectionFigures } from './collection-figures.ts';
import { RecentAnswers } from './recent-answers.ts';
import { SearchService } from './search-service.ts';

const JOURNAL_NAME = 'jobs.jsonl';
const UPLOADS_DIRECTORY = 'uploads';
const EXPORTS_DIRECTORY = 'exports';
const CALENDARS_KEPT = 32;

export type ApiTools = {
  readonly parts: ApiParts;
  readonly archive: Archive;
  readonly kinds: readonly JobKind[];
  readonly jobs: JobQueue;
  readonly events: JobEvents;
  readonly uploads: UploadStore;
  readonly exports: ExportStore;
  readonly tickets: DeleteTickets;
  readonly commands: CommandService | undefined;
  readonly stats: CachedFigure<ArchiveStats>;
  readonly collections: CachedFigure<CollectionFigures[]>;
  readonly calendars: RecentAnswers<Calendar>;
  readonly search: SearchService;
  /** How the search index is being kept up. */
  readonly indexing: () => IndexingStatus;
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal;
  stop(force: AbortSignal): Promise<void>;
};

export async function openApiTools(parts: ApiParts): Promise<ApiTools> {
  const { archive, clock, newId, token, version } = parts;
  const stopping = new AbortController();
  const { journal, jobs: known } = await JobJournal.open(join(archive.directory, JOURNAL_NAME));
  const exports = await ExportStore.open(join(archive.directory, EXPORTS_DIRECTORY), (id) =>
    known.some((job) => job.id === id && job.state === 'done'),
  );
  // What was not over is interrupted by now.
  const waiting = new Set(known.flatMap((job) => (isOver(job) && !isInterrupted(job) ? [] : [uploadOf(job.input)])));
  const uploads = await UploadStore.open(
    { directory: join(archive.directory, UPLOADS_DIRECTORY), newId, bytesMax: parts.uploadBytesMax },
    (name) => waiting.has(name),
  );
  const isNeeded = (job: Job) => exports.has(job.id) || (isInterrupted(job) && uploads.has(uploadOf(job.input)));
  const jobs = new JobQueue({ archive, journal, clock, newId, isNeeded }, known);
  await jobs.recover();
  const tickets = new DeleteTickets(archive, token, clock);
  const kinds = [
    addKind(uploads, parts.addRoots),
    compactKind,
    crawlKind,
    deleteKind(tickets),
    exportKind(exports, { software: `pinakes/${version}`, clock, newId }),
    rebuildKind,
    verifyKind,
  ].filter(({ name }) => !parts.jobKinds.some((kind) => kind.name === name));
  kinds.push(...parts.jobKinds);
  watchSchedules(archive, jobs, stopping.signal);
  const state = () => catalogState(archive);
  const walking = { clock, state, stopping: stopping.signal };
  const indexing = parts.isIndexing
    ? new Indexing({
        archive,
        clock,
        stopwatch: parts.stopwatch ?? clock,
        state,
        isHeld: () => jobs.list().some((job) => job.kind === rebuildKind.name && job.state === 'running'),
        onFailure: (sentence) => parts.onIndexFailure?.(sentence),
      })
    : undefined;
  indexing?.start();
  const indexingStatus = () => indexing?.status() ?? INDEXING_OFF;
  const search = new SearchService(archive.directory, indexingStatus);
  return {
    parts,
    archive,
    kinds,
    jobs,
    events: new JobEvents(
      jobs,
      newId()
        .replace(/[^0-9a-z]/g, '')
        .slice(-32),
    ),
    uploads,
    exports,
    tickets,
    commands: parts.runCommand && new CommandService(parts.runCommand, jobs, kinds, stopping.signal),
    stats: new CachedFigure({ ...walking, compute: (signal) => archive.stats({ signal }) }),
    collections: new CachedFigure({ ...walking, compute: (signal) => collectionFigures(archive, signal) }),
    calendars: new RecentAnswers(state, CALENDARS_KEPT),
    search,
    indexing: indexingStatus,
    stopping: stopping.signal,
    stop: async (force) => {
      // Work stops at its next safe point in any case; there is nothing to force but what the client still reads.
      stopping.abort();
      await Promise.all([Promise.race([jobs.stop(), aborted(force)]), indexing?.stop(force), search.close()]);
    },
  };
}

/** The uploaded file that a job is about. */
export function uploadOf(input: unknown): string {
  const { upload } = (input ?? {}) as { upload?: unknown };
  return typeof upload === 'string' ? upload : '';
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
