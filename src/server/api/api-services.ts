/** The parts of the server that the API's routes call: jobs, uploads, exports, figures and search. */
import { join } from 'node:path';
import type { Archive, ArchiveStats } from '../../archive/index.ts';
import { whenAborted } from '../../base/index.ts';
import { FileJobQueue, type JobQueue, JobRunner, PostgresJobQueue } from '../../jobs/index.ts';
import type { ReplayOrigins } from '../../replay/index.ts';
import { Auditor } from '../audit/auditor.ts';
import { openAudit } from '../audit/open-audit.ts';
import { StagedContents } from '../contents/staged-contents.ts';
import { DeleteTickets } from '../delete-ticket.ts';
import { ClientAddress } from '../http/client-address.ts';
import { INDEXING_OFF, Indexing, type IndexingStatus } from '../indexing.ts';
import { addKind } from '../jobs/add-kind.ts';
import { CommandService } from '../jobs/command-service.ts';
import { copiesKind, watchCopies } from '../jobs/copies-kind.ts';
import { crawlKind } from '../jobs/crawl-kind.ts';
import { exportKind } from '../jobs/export-kind.ts';
import { JOB_ERRORS } from '../jobs/job-error.ts';
import { JobEvents } from '../jobs/job-events.ts';
import { JobFiles } from '../jobs/job-files.ts';
import type { JobKind } from '../jobs/job-kind.ts';
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
import { OidcProvider } from '../people/oidc-provider.ts';
import { openSessions } from '../people/open-sessions.ts';
import { People } from '../people/people.ts';
import type { SessionStore } from '../people/session-store.ts';
import { sharedKey } from '../people-tables.ts';
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
  | 'jobLeaseMs'
  | 'runCommand'
  | 'addRoots'
  | 'uploadBytesMax'
  | 'stopwatch'
  | 'isIndexing'
  | 'onIndexFailure'
  | 'signIn'
  | 'isPrivate'
  | 'proxies'
>;

/** The origins of a server that nobody reaches. */
const NO_ORIGINS: ReplayOrigins = { uiOrigin: 'http://localhost', replayOrigin: 'http://127.0.0.1' };

export type ApiServices = {
  readonly archive: Archive;
  readonly kinds: readonly JobKind[];
  readonly jobs: JobRunner;
  readonly events: JobEvents;
  readonly files: JobFiles;
  /** Contents that clients have sent and no capture refers to yet. */
  readonly staged: StagedContents;
  readonly tokens: TokenStore;
  readonly sessions: SessionStore;
  readonly people: People;
  readonly provider: OidcProvider | undefined;
  readonly auditor: Auditor;
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

/** `server` is the name of this server in a cluster. */
export async function openApiServices(
  options: ApiServicesOptions,
  server: string,
  origins: ReplayOrigins = NO_ORIGINS,
): Promise<ApiServices> {
  const { archive, clock, newId, token, version, runCommand, stopwatch = clock } = options;
  const stopping = new AbortController();
  const breakingOff = new AbortController();
  const queue = await openQueue(options, server, stopwatch);
  const files = await JobFiles.open({ archive, queue, newId, uploadBytesMax: options.uploadBytesMax });
  const { signIn } = options;
  const tokens = await openTokens(archive.directory, archive.database);
  const sessions = await openSessions(archive.directory, archive.database);
  const people = new People({ signIn, sessions, tokens, token, ...origins, clock });
  const addresses = new ClientAddress(options.proxies);
  const auditor = new Auditor(await openAudit(archive.directory, archive.database), { clock, newId, addresses });
  const staged = await StagedContents.open({
    directory: join(archive.directory, STAGED_DIRECTORY),
    clock,
    bytesMax: options.uploadBytesMax,
  });
  const jobs = new JobRunner({ queue, archive, newId, errors: JOB_ERRORS });
  // A preview of one server is good for all of them.
  const ticketKey = archive.database ? await sharedKey(archive.database, 'deletions') : token;
  const tickets = new DeleteTickets(archive, ticketKey, clock);
  const kinds = [
    addKind(files.uploads, options.addRoots),
    compactKind,
    copiesKind,
    crawlKind,
    deleteKind(tickets),
    exportKind(files.exports, `pinakes/${version}`),
    rebuildKind,
    takedownCheckKind,
    takedownKind,
    mirrorSyncKind,
    verifyKind,
  ].filter(({ name }) => !options.jobKinds.some((kind) => kind.name === name));
  kinds.push(...options.jobKinds);
  jobs.start(kinds);
  watchSchedules(archive, jobs, stopping.signal);
  watchMirrors(archive, jobs, stopping.signal);
  watchCopies(archive, jobs, stopping.signal);
  const state = () => catalogState(archive);
  const figureOptions = { clock, state, stopping: breakingOff.signal };
  const indexing = options.isIndexing
    ? new Indexing({
        archive,
        clock,
        stopwatch,
        state,
        isHeld: async () =>
          (await queue.list()).some((job) => job.kind === rebuildKind.name && job.state === 'running'),
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
    events: new JobEvents(queue),
    files,
    staged,
    tokens,
    sessions,
    people,
    provider: signIn?.kind === 'oidc' ? new OidcProvider(signIn) : undefined,
    auditor,
    stopwatch,
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
      await Promise.all([search.close(), tokens.close(), sessions.close()]);
    },
  };
}

/** In a cluster the jobs are in its database, else in a file of the archive. */
async function openQueue(
  { archive, clock, newId, jobLeaseMs: leaseMs }: ApiServicesOptions,
  server: string,
  stopwatch: () => number,
): Promise<JobQueue> {
  const { database } = archive;
  if (database) return await PostgresJobQueue.open({ database, server, newId, stopwatch, leaseMs });
  const historyId = newId()
    .replace(/[^0-9a-z]/g, '')
    .slice(-32);
  return await FileJobQueue.open({ path: join(archive.directory, JOURNAL_NAME), clock, historyId });
}
