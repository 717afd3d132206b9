/**
 * Watches how much memory a browser takes with the pages in it. Chromium bounds the heap of scripts, but neither
 * elements nor buffers: a page that makes those without an end would take all that the machine has, and the system
 * might end any process for it, this one too. Only Linux tells what a process takes in a file; elsewhere nothing is
 * watched.
 */
import { readFile } from 'node:fs/promises';

const LOOK_MS = 250;

export class MemoryWatch {
  readonly #timer: NodeJS.Timeout;
  #isLooking = false;

  /** `processes` names those that count together; `onTooMuch` is called once. */
  constructor(processes: () => Promise<readonly number[]>, bytesMax: number, onTooMuch: () => void) {
    const look = async () => {
      const bytes = await Promise.all((await processes()).map(bytesOf));
      if (bytes.reduce((sum, own) => sum + own, 0) <= bytesMax) return;
      this.stop();
      onTooMuch();
    };
    this.#timer = setInterval(() => {
      if (this.#isLooking) return;
      this.#isLooking = true;
      // A browser that is gone has no processes to name.
      void look()
        .catch(() => {})
        .finally(() => {
          this.#isLooking = false;
        });
    }, LOOK_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** What a process has in memory for itself, files that it has mapped left out. */
async function bytesOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
  let kibibytes = 0;
  for (const [, value] of status.matchAll(/^Rss(?:Anon|Shmem):\s*(\d+) kB$/gm)) kibibytes += Number(value);
  return kibibytes * 1024;
}
