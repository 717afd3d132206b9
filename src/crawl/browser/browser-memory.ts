/**
 * Watches the memory of a browser and its pages. Chromium bounds the heap of scripts, but not elements or buffers. A
 * page that creates elements without end would use all memory of the machine. Then the system might kill any process,
 * even this one. Linux reports the memory of a process in a file. On other systems memory is not watched.
 */
import { readFile } from 'node:fs/promises';

const LOOK_MS = 250;

export class MemoryWatch {
  readonly #timer: NodeJS.Timeout;
  #isLooking = false;

  /** `processes` returns the ids of the processes whose memory is added up. `onTooMuch` is called once. */
  constructor(processes: () => Promise<readonly number[]>, bytesMax: number, onTooMuch: () => void) {
    const look = async () => {
      const bytes = await Promise.all((await processes()).map(residentBytes));
      if (bytes.reduce((sum, own) => sum + own, 0) <= bytesMax) return;
      this.stop();
      onTooMuch();
    };
    this.#timer = setInterval(() => {
      if (this.#isLooking) return;
      this.#isLooking = true;
      // `look` fails when the browser has ended.
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

/** The memory of a process, without the files that it has mapped. */
async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
  let kibibytes = 0;
  for (const [, value] of status.matchAll(/^Rss(?:Anon|Shmem):\s*(\d+) kB$/gm)) kibibytes += Number(value);
  return kibibytes * 1024;
}
