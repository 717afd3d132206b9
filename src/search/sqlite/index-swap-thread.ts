/** Replaces the old index by a new one, without blocking the program. */
import { ThreadPool } from '../../base/index.ts';

/** Swaps on a separate thread, because SQLite copies and checkpoints the whole index in one call. */
export async function swapIndexOnThread(directory: string): Promise<void> {
  const threads = new ThreadPool<string, void>(new URL('./index-swap-worker.ts', import.meta.url), { threads: 1 });
  try {
    await threads.run(directory);
  } finally {
    await threads.close();
  }
}
