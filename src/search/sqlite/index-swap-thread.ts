/** Puts a new index into the place of the old one, for a program that has others to answer meanwhile. */
import { ThreadPool } from '../../base/index.ts';

/** Does so on a thread of its own: SQLite copies the whole index, and carries its log over, in one go. */
export async function swapIndexOnThread(directory: string): Promise<void> {
  const threads = new ThreadPool<string, void>(new URL('./index-swap-worker.ts', import.meta.url), { threads: 1 });
  try {
    await threads.run(directory);
  } finally {
    await threads.close();
  }
}
