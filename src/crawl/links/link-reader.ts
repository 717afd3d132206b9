/**
 * Reads the links of pages. A few small pages are read on the calling thread, and others in batches on a separate
 * thread.
 *
 * Reading is the most expensive part of handling a page, and a hostile page can make it far more expensive. On a
 * separate thread, reading blocks neither the network nor the store. The memory of the thread and the time of a batch
 * are bounded. A page that exceeds a bound is reported as not read, with the reason. The other pages of its batch are
 * read again without this page.
 */
import { ThreadDied, ThreadPool } from '../../base/index.ts';
import { Deadline } from '../fetch/deadline.ts';
import {
  type LinkBatch,
  linkBatch,
  type PageFindings,
  readFindings,
  type UnreadPage,
  unreadFindings,
} from './link-batch.ts';
import { responseMime } from './page-links.ts';

const BATCH_PAGES_MAX = 64;
const BATCH_BYTES_MAX = 1024 * 1024;
/**
 * Fewer pages than this with fewer bytes than this are read on the calling thread, because posting them would cost
 * more.
 */
const BATCH_PAGES_MIN = 4;
const BATCH_BYTES_MIN = 256 * 1024;
/**
 * Documents of these types are read in one pass over their bytes. A document of another type may take long even if it
 * is small.
 */
const QUICK_MIMES: ReadonlySet<string> = new Set(['text/html', 'text/css', 'text/plain', 'application/xhtml+xml']);

type Waiting = {
  readonly page: UnreadPage;
  /** Whether the page was in a batch that exceeded a bound. Such a page is read alone. */
  isSuspect: boolean;
  readonly resolve: (findings: PageFindings) => void;
  readonly reject: (error: unknown) => void;
};

/** Enough for the largest document that is read, with all its links. */
const THREAD_MEGABYTES_MAX = 256;
/** An ordinary batch takes some milliseconds, and the largest document takes some seconds. */
const BATCH_MS_MAX = 60_000;

export type LinkReaderOptions = {
  readonly threadMegabytesMax?: number;
  readonly batchMsMax?: number;
  /** The script of the thread. */
  readonly script?: URL;
};

let readersMade = 0;

export class LinkReader {
  readonly #threads: ThreadPool<LinkBatch, PageFindings[], 'begun'>;
  readonly #batchMsMax: number;
  /** Identifies this reader to the thread, which may have worked for another reader before. */
  readonly #number = readersMade++;
  #waiting: Waiting[] = [];
  #isReading = false;

  constructor(options: LinkReaderOptions = {}) {
    this.#batchMsMax = options.batchMsMax ?? BATCH_MS_MAX;
    this.#threads = new ThreadPool(options.script ?? new URL('./link-worker.ts', import.meta.url), {
      threads: 1,
      limits: {
        maxYoungGenerationSizeMb: 16,
        maxOldGenerationSizeMb: options.threadMegabytesMax ?? THREAD_MEGABYTES_MAX,
      },
    });
  }

  /**
   * Returns the links of a page. A batch consists of the pages that are passed in one turn of the event loop, or while
   * another batch is read.
   */
  read(page: UnreadPage): Promise<PageFindings> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ page, isSuspect: false, resolve, reject });
      if (this.#isReading) return;
      this.#isReading = true;
      setImmediate(() => void this.#readAll());
    });
  }

  close(): Promise<void> {
    return this.#threads.close();
  }

  async #readAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch();
      try {
        await this.#readBatch(batch);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isReading = false;
  }

  #takeBatch(): Waiting[] {
    const isAlone = this.#waiting[0]!.isSuspect;
    let bytes = 0;
    const end = this.#waiting.findIndex(({ page, isSuspect }, index) => {
      bytes += page.bytes.length;
      return index > 0 && (isAlone || isSuspect || index >= BATCH_PAGES_MAX || bytes > BATCH_BYTES_MAX);
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  async #readBatch(batch: readonly Waiting[]): Promise<void> {
    if (isQuick(batch)) {
      for (const { page, resolve } of batch) resolve(await readFindings(page));
      return;
    }
    let isLate = false;
    // Ending the thread makes `run` reject.
    const deadline = new Deadline(() => {
      isLate = true;
      void this.#threads.end();
    });
    const pages = batch.map(({ page }) => page);
    let answer: PageFindings[];
    try {
      // The deadline begins when the thread reports that it has begun the batch, so its start time does not count.
      answer = await this.#threads.run(linkBatch(pages, this.#number), [], () => deadline.start(this.#batchMsMax));
    } catch (error) {
      if (!(error instanceof ThreadDied)) throw error;
      this.#suspect(batch, isLate ? 'reading its links takes too long' : failureReason(error));
      return;
    } finally {
      deadline.end();
    }
    for (const [index, findings] of answer.entries()) batch[index]!.resolve(findings);
    this.#waiting.unshift(...batch.slice(answer.length));
  }

  #suspect(batch: readonly Waiting[], unreadReason: string): void {
    if (batch.length > 1) {
      for (const waiting of batch) waiting.isSuspect = true;
      this.#waiting.unshift(...batch);
      return;
    }
    const { page, resolve } = batch[0]!;
    resolve(unreadFindings(page.isSitemap, unreadReason));
  }
}

/**
 * The reason why the pages of a batch were not read. A thread may have run out of memory, or may have failed to start.
 */
function failureReason({ message, cause }: ThreadDied): string {
  const isMemory = (cause as { code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY';
  return isMemory ? 'reading its links takes too much memory' : `its links could not be read: ${message}`;
}

/** Whether a batch is small enough for the calling thread, and has no page that may take long. */
function isQuick(batch: readonly Waiting[]): boolean {
  if (batch.length >= BATCH_PAGES_MIN) return false;
  let bytes = 0;
  for (const { page, isSuspect } of batch) {
    bytes += page.bytes.length;
    if (isSuspect || bytes >= BATCH_BYTES_MIN || page.isSitemap || !QUICK_MIMES.has(responseMime(page.head)))
      return false;
  }
  return true;
}
