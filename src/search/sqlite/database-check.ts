/** Verifies the SQLite files of an archive: the index, the rankings made from it, and the state of crawls. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Problem, verifyProblem } from '../../archive/index.ts';
import { ThreadPool } from '../../base/index.ts';
import { SEARCH_FILE } from './database.ts';
import { RANKINGS_DIRECTORY } from './ranking-store.ts';

const CRAWL_FILE = 'crawl.sqlite';
const SCRIPT = new URL('./database-check-worker.ts', import.meta.url);

/** Returns one problem for each damaged file. The check runs on a thread, so that it does not block the program. */
export async function* databaseProblems(directory: string, signal?: AbortSignal): AsyncGenerator<Problem> {
  const rankings = await readdir(join(directory, RANKINGS_DIRECTORY)).catch(() => []);
  const rankingFiles = rankings
    .filter((name) => name.endsWith('.sqlite'))
    .map((name) => `${RANKINGS_DIRECTORY}/${name}`);
  const threads = new ThreadPool<string, string[]>(SCRIPT, { threads: 1 });
  const end = () => void threads.close();
  signal?.addEventListener('abort', end, { once: true });
  try {
    for (const file of [SEARCH_FILE, ...rankingFiles, CRAWL_FILE]) {
      signal?.throwIfAborted();
      const path = join(directory, file);
      if (!(await isFile(path))) continue;
      const faults = await threads.run(path).catch((error: unknown) => {
        signal?.throwIfAborted();
        throw error;
      });
      if (faults.length === 0) continue;
      const code = file === CRAWL_FILE ? 'crawl-state-damaged' : 'index-damaged';
      yield verifyProblem(code, {}, { detail: `${file}: ${faults.join('; ').replace(/\s+/g, ' ')}` });
    }
  } finally {
    signal?.removeEventListener('abort', end);
    await threads.close();
  }
}

function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (info) => info.isFile(),
    () => false,
  );
}
