/** The parts of the server that the API's routes call: jobs, uploads, exports, figures and search. */
import { join } from 'node:path';
import type { Archive, ArchiveStats } from '../../archive/index.ts';
import { whenAborted } from '../../base/index.ts';
import { StagedContents } from '../contents/staged-contents.ts';
import { DeleteTickets } from '../delete-ticket.ts';
import { INDEXING_OFF, Indexing, type IndexingStatus } from '../indexing.ts';
import { addKind, uploadOf } from '../jobs/add-kind.ts';
import { CommandService } from '../jobs/command-service.ts';
import { copiesKind, watchCopies } from '../jobs/copies-kind.ts';
import { crawlKind } from '../jobs/crawl-kind.ts';
import { exportKind } from '../jobs/export-kind.ts';
import { ExportStore } from '../jobs/export-store.ts';
import { isInterrupted, isOver, type Job } from '../jobs/job.ts';
import { JobEvents } from '../jobs/job-events.ts';
import { JobJournal } from '../jobs/job-journal.ts';
import type { JobKind } from '../jobs/job-kind.ts';
import { JobQueue } from '../jobs/job-queue.ts';
import {
  compactKind,
  deleteKind,
  rebuildKind,
  takedownCheckKind,
  takedownKind,
  verifyKind,
} from '../jobs/maintenance-kinds.ts';
import { mirrorSyncKind, watchMirrors } from '../jobs/mirror-kind.ts';
import { watchSchedules } from '../jobs/schedule-clock.ts';
import { UploadStore } from '../jobs/upload-store.ts';
import type { ServerOptions } from '../server-options.ts';
import { openTokens } from '../tokens/open-tokens.ts';
import type { TokenStore } from '../tokens/token-store.ts';
import { CachedFigure } from './cached-figure.ts';
import type { Calendar } from './calendar.ts';
import { catalogState } from './catalog-state.ts';
import { type CollectionFigures, collectionFigures } from './collection-figures.ts';
import { RecentAnswers } from './recent-answers.ts';
import { SearchService } from './search-service.ts';

const JOURNAL_NAME = 'jobs.jsonl';
const UPLOADS_DIRECTORY = 'uploads';
const EXPORTS_DIRECTORY = 'exports';
const STAGED_DIRECTORY = 'staged';
const CALENDARS_MAX = 32;

export type ApiServicesOptions = Pick<
  ServerOptions,
  | 'archive'
  | 'token'
  | 'clock'
  | 'newId'
  | 'version'
  | 'jobKinds'
  | 'runCommand'
  | 'addRoots'
  | 'uploadBytesMax'
  | 'stopwatch'
  | 'isIndexing'
  | 'onIndexFailure'
>;

export type ApiServices = {
  readonly archive: Archive;
  readonly kinds: readonly JobKind[];
  readonly jobs: JobQueue;
  readonly events: JobEvents;
  readonly uploads: UploadStore;
  readonly exports: ExportStore;
  /** Contents that clients have sent and no capture refers to yet. */
  readonly staged: StagedContents;
  readonly tokens: TokenStore;
  /** Milliseconds that never go back. */
  readonly stopwatch: () => number;
  readonly tickets: DeleteTickets;
  readonly commands: CommandService | undefined;
  readonly stats: CachedFigure<ArchiveStats>;
  readonly collections: CachedFigure<CollectionFigures[]>;
  readonly calendars: RecentAnswers<Calendar>;
  readonly search: SearchService;
  /** The state of the search index. */
  readonly indexing: () => IndexingStatus;
  /** Aborted when the server begins to stop: no new work begins, and streams end at their next cursor. */
  readonly stopping: AbortSignal;
  /** Aborted when the calls that are still under way are broken off. */
  readonly breakingOff: AbortSignal;
  /** Asks jobs, streams and indexing to stop at a safe point, and settles when jobs and indexing have, or at `end`. */
  leave(end: AbortSignal): Promise<void>;
  /** Leaves, breaks off what is still under way, and closes everything. */
  stop(end: AbortSignal): Promise<void>;
};

export async function openApiServices(options: ApiServicesOptions): Promise<ApiServices> {
  const { archive, clock, newId, token, version, runCommand } = options;
  const stopping = new AbortController();
  const breakingOff = new AbortController();
  const { journal, jobs: known } = await JobJournal.open(join(archive.directory, JOURNAL_NAME));
  const exports = await ExportStore.open(join(archive.directory, EXPORTS_DIRECTORY), (id) =>
    known.some((job) => job.id === id && job.state === 'done'),
  );
  // A job of the last server that had not ended counts as interrupted, and can be run again.
  const waiting = new Set(known.flatMap((job) => (isOver(job) && !isInterrupted(job) ? [] : [uploadOf(job.input)])));
  const uploads = await UploadStore.open(
    { directory: join(archive.directory, UPLOADS_DIRECTORY), newId, bytesMax: options.uploadBytesMax },
    (name) => waiting.has(name),
  );
  const isNeeded = (job: Job) => exports.has(job.id) || (isInterrupted(job) && uploads.has(uploadOf(job.input)));
  const tokens = await openTokens(archive.directory, archive.database);
  const staged = await StagedContents.open({
    directory: join(archive.directory, STAGED_DIRECTORY),
    clock,
    bytesMax: options.uploadBytesMax,
  });
  const jobs = new JobQueue({ archive, journal, clock, newId, isNeeded }, known);
  await jobs.recover();
  const tickets = new DeleteTickets(archive, token, clock);
  const kinds = [
    addKind(uploads, options.addRoots),
    compactKind,
    copiesKind,
    crawlKind,
    deleteKind(tickets),
    exportKind(exports, `pinakes/${version}`),
    rebuildKind,
    takedownCheckKind,
    takedownKind,
    mirrorSyncKind,
    verifyKind,
  ].filter(({ name }) => !options.jobKinds.some((kind) => kind.name === name));
  kinds.push(...options.jobKinds);
  watchSchedules(archive, jobs, stopping.signal);
  watchMirrors(archive, jobs, stopping.signal);
  watchCopies(archive, jobs, stopping.signal);
  const state = () => catalogState(archive);
  const figureOptions = { clock, state, stopping: breakingOff.signal };
  const indexing = options.isIndexing
    ? new Indexing({
        archive,
        clock,
        stopwatch: options.stopwatch ?? clock,
        state,
        isHeld: () => jobs.list().some((job) => job.kind === rebuildKind.name && job.state === 'running'),
        onFailure: (sentence) => options.onIndexFailure?.(sentence),
      })
    : undefined;
  indexing?.start();
  const indexingStatus = () => indexing?.status() ?? INDEXING_OFF;
  const search = new SearchService(archive.directory, indexingStatus);
  const endWork = async (end: AbortSignal) => {
    stopping.abort();
    const ended = new Promise<void>((resolve) => whenAborted(end, resolve));
    await Promise.all([Promise.race([jobs.stop(), ended]), indexing?.stop(end)]);
  };
  let left: Promise<void> | undefined;
  const leave = (end: AbortSignal) => (left ??= endWork(end));
  return {
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
    staged,
    tokens,
    stopwatch: options.stopwatch ?? clock,
    tickets,
    commands: runCommand && new CommandService(runCommand, jobs, kinds, stopping.signal),
    stats: new CachedFigure({ ...figureOptions, compute: (signal) => archive.stats({ signal }) }),
    collections: new CachedFigure({ ...figureOptions, compute: (signal) => collectionFigures(archive, signal) }),
    calendars: new RecentAnswers(state, CALENDARS_MAX),
    search,
    indexing: indexingStatus,
    stopping: stopping.signal,
    breakingOff: breakingOff.signal,
    leave,
    stop: async (end) => {
      await leave(end);
      breakingOff.abort();
      await Promise.all([search.close(), tokens.close()]);
    },
  };
}
