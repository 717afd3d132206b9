/** Opens the state of the crawls of an archive: tables of its database, or a file beside its catalog. */
import type { Archive } from '../archive/index.ts';
import type { CrawlState } from './frontier/crawl-state.ts';
import { PostgresState } from './frontier/postgres/postgres-state.ts';
import { CrawlFile } from './frontier/sqlite/crawl-file.ts';
import { SqliteState } from './frontier/sqlite/sqlite-state.ts';

export function openCrawlState(archive: Pick<Archive, 'directory' | 'database' | 'clock'>): CrawlState {
  const { database, directory } = archive;
  const clock = () => archive.clock();
  return database ? new PostgresState(database, clock) : new SqliteState(directory, clock);
}

/** Whether anything of the archive was ever crawled or scheduled. Does not make a file. */
export function hasCrawlState(archive: Archive): boolean {
  return archive.database !== undefined || CrawlFile.exists(archive.directory);
}

/** Does work on the state of the crawls, and closes it. */
export async function withCrawlState<T>(archive: Archive, work: (state: CrawlState) => Promise<T>): Promise<T> {
  const state = openCrawlState(archive);
  try {
    return await work(state);
  } finally {
    await state.close();
  }
}
