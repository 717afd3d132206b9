/**
 * Reads the links of pages: of few on the caller's thread, of many on another one, in batches.
 *
 * Reading is the largest single part of what a page costs, and a hostile page can make it cost far more; on a thread of
 * its own it holds up neither the network nor the store. The thread has a bound on its memory and on the time of a
 * batch. A page that is too much for it is told as not read, with the reason, and the others of its batch are read
 * again without it.
 */
import { ThreadDied, ThreadPool } from '../../base/index.ts';
import { Deadline } from '../fetch/deadline.ts';
import {
  type FoundBatch,
  type LinkBatch,
  notRead,
  type PageFindings,
  packPages,
  readUnread,
  type UnreadPage,
  unpackFindings,
} from './link-batch.ts';
import { mimeOf } from './page-links.ts';

const BATCH_PAGES_MAX = 64;
const BATCH_BYTES_MAX = 1024 * 1024;
/** Fewer pages than this, of fewer bytes, are read at once: the way to another thread would cost more. */
const BATCH_PAGES_MIN = 4;
const BATCH_BYTES_MIN = 256 * 1024;
/** What is read in one pass over its bytes; a document of another kind may take long, however small it is. */
const PROMPT_MIMES: ReadonlySet<string> = new Set(['text/html', 'text/css', 'text/plain', 'application/xhtml+xml']);

type Waiting = {
  readonly page: UnreadPage;
  /** Whether it was in a batch that was too much. */
  isSuspect: boolean;
  readonly resolve: (findings: PageFindings) => void;
  readonly reject: (error: unknown) => void;
};

/** Enough for the largest document that is read, with all its links. */
const THREAD_MEGABYTES_MAX = 256;
/** An ordinary batch takes some milliseconds, the largest document that is read some seconds. */
const BATCH_MS_MAX = 60_000;

export type LinkReaderOptions = {
  readonly threadMegabytesMax?: number;
  readonly batchMsMax?: number;
  /** The thread's script. */
  readonly script?: URL;
};

let readers = 0;

export class LinkReader {
  readonly #threads: ThreadPool<LinkBatch, FoundBatch, 'begun'>;
  readonly #batchMsMax: number;
  /** Threads are left to other readers; what one has told here is nothing to them. */
  readonly #number = readers++;
  #waiting: Waiting[] = [];
  #isAwake = false;

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
   * What a page names. A batch is made of the pages that are asked for in one turn of the event loop, and of those that
   * come while another is read.
   */
  read(page: UnreadPage): Promise<PageFindings> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ page, isSuspect: false, resolve, reject });
      if (this.#isAwake) return;
      this.#isAwake = true;
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
    this.#isAwake = false;
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
    if (isPrompt(batch)) {
      for (const { page, resolve } of batch) resolve(await readUnread(page));
      return;
    }
    let isLate = false;
    // A thread that is ended fails what it had at hand; this is the only one, and so is the batch.
    const deadline = new Deadline(() => {
      isLate = true;
      void this.#threads.end();
    });
    const packed = packPages(
      batch.map(({ page }) => page),
      this.#number,
    );
    let found: FoundBatch;
    try {
      // How long a thread takes to start says nothing of the pages; it tells when it begins with them.
      found = await this.#threads.run(packed, [packed.bytes.buffer], () => deadline.start(this.#batchMsMax));
    } catch (error) {
      if (!(error instanceof ThreadDied)) throw error;
      this.#suspect(batch, isLate ? 'reading its links takes too long' : reasonOf(error));
      return;
    } finally {
      deadline.end();
    }
    const findings = unpackFindings(found);
    for (const [index, finding] of findings.entries()) batch[index]!.resolve(finding);
    this.#waiting.unshift(...batch.slice(findings.length));
  }

  #suspect(batch: readonly Waiting[], unread: string): void {
    if (batch.length > 1) {
      for (const waiting of batch) waiting.isSuspect = true;
      this.#waiting.unshift(...batch);
      return;
    }
    const { page, resolve } = batch[0]!;
    resolve(notRead(page.isSitemap, unread));
  }
}

/**
 * Why pages were not read whose thread died. One that could not be started, for want of file handles or memory, is no
 * fault of theirs.
 */
function reasonOf({ message, cause }: ThreadDied): string {
  const isMemory = (cause as { code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY';
  return isMemory ? 'reading its links takes too much memory' : `its links could not be read: ${message}`;
}

/** Whether a batch is so small that it is read at once, and of a kind that does not take long. */
function isPrompt(batch: readonly Waiting[]): boolean {
  if (batch.length >= BATCH_PAGES_MIN) return false;
  let bytes = 0;
  for (const { page, isSuspect } of batch) {
    bytes += page.bytes.length;
    if (isSuspect || bytes >= BATCH_BYTES_MIN || page.isSitemap || !PROMPT_MIMES.has(mimeOf(page.head))) return false;
  }
  return true;
}
