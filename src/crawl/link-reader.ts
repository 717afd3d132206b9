/**
 * Reads the links of pages: of few on the caller's thread, of many on another one, in batches.
 *
 * Reading is the largest single part of what a page costs, and a hostile page can make it cost far more; on a thread of its own it holds up neither the network
 * nor the store. A page that is too much for the thread, which has a bound on its memory, is told as not read, and the others of its batch are read again without it.
 */
import { ThreadDied, ThreadPool } from '../base/index.ts';
import {
  type FoundBatch,
  type LinkBatch,
  type PageFindings,
  packPages,
  readUnread,
  type UnreadPage,
  unpackFindings,
} from './link-batch.ts';

const BATCH_PAGES_MAX = 64;
const BATCH_BYTES_MAX = 1024 * 1024;
/** Fewer pages than this, of fewer bytes, are read at once: the way to another thread would cost more. */
const BATCH_PAGES_MIN = 4;
const BATCH_BYTES_MIN = 256 * 1024;

type Waiting = {
  readonly page: UnreadPage;
  /** Whether it was in a batch that was too much. */
  isSuspect: boolean;
  readonly resolve: (findings: PageFindings) => void;
  readonly reject: (error: unknown) => void;
};

/** Enough for the largest document that is read, with all its links. */
const THREAD_MEGABYTES_MAX = 256;

export class LinkReader {
  readonly #threads: ThreadPool<LinkBatch, FoundBatch>;
  #waiting: Waiting[] = [];
  #isAwake = false;

  constructor(options: { readonly threadMegabytesMax?: number } = {}) {
    this.#threads = new ThreadPool(new URL('./link-worker.ts', import.meta.url), {
      threads: 1,
      limits: {
        maxYoungGenerationSizeMb: 8,
        maxOldGenerationSizeMb: options.threadMegabytesMax ?? THREAD_MEGABYTES_MAX,
      },
    });
  }

  /** What a page names. A batch is made of the pages that are asked for in one turn of the event loop, and of those that come while another is read. */
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
    const bytes = batch.reduce((sum, { page }) => sum + page.bytes.length, 0);
    if (batch.length < BATCH_PAGES_MIN && bytes < BATCH_BYTES_MIN && !batch[0]!.isSuspect) {
      for (const { page, resolve } of batch) resolve(await readUnread(page));
      return;
    }
    const packed = packPages(batch.map(({ page }) => page));
    let found: FoundBatch;
    try {
      found = await this.#threads.run(packed, [packed.bytes.buffer]);
    } catch (error) {
      if (!(error instanceof ThreadDied)) throw error;
      this.#suspect(batch);
      return;
    }
    const findings = unpackFindings(found);
    for (const [index, finding] of findings.entries()) batch[index]!.resolve(finding);
    this.#waiting.unshift(...batch.slice(findings.length));
  }

  #suspect(batch: readonly Waiting[]): void {
    if (batch.length > 1) {
      for (const waiting of batch) waiting.isSuspect = true;
      this.#waiting.unshift(...batch);
      return;
    }
    const { page, resolve } = batch[0]!;
    const nothing = { isWhole: false } as const;
    if (page.isSitemap) resolve({ sitemap: { ...nothing, pages: [], sitemaps: [] } });
    else resolve({ reading: { ...nothing, links: [], isNofollow: false } });
  }
}
