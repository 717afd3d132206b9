/**
 * The browsers of a crawl. They are started when needed, used for one page at a time, and replaced after USES_MAX pages
 * or a failure.
 */

import type { CrawlSettings } from '../settings.ts';
import { removeBrowserLeftovers } from './browser-leftovers.ts';
import { findBrowser } from './browser-path.ts';
import { type BrowserOptions, BrowserProcess } from './browser-process.ts';

/** How many pages a browser renders before it is replaced. Each page makes it use more memory. */
const USES_MAX = 200;

export class BrowserPool {
  readonly #options: BrowserOptions;
  readonly #browsersMax: number;
  #idle: BrowserProcess[] = [];
  #used = 0;
  readonly #waiting: (() => void)[] = [];
  #isClosed = false;
  readonly #all = new Set<BrowserProcess>();

  private constructor(options: BrowserOptions, browsersMax: number) {
    this.#options = options;
    this.#browsersMax = browsersMax;
  }

  /** Starts the first browser, so that a crawl without a working browser fails before it fetches anything. */
  static async open({ browserPath, browserSandbox, browserBytesMax, browsers }: CrawlSettings): Promise<BrowserPool> {
    const path = await findBrowser(browserPath);
    await removeBrowserLeftovers();
    const isSandboxed = browserSandbox && process.env.PINAKES_BROWSER_SANDBOX !== 'off';
    const pool = new BrowserPool({ path, isSandboxed, bytesMax: browserBytesMax }, Math.max(1, browsers));
    pool.#idle.push(await pool.#start());
    return pool;
  }

  async use<T>(signal: AbortSignal, work: (browser: BrowserProcess) => Promise<T>): Promise<T> {
    while (this.#used >= this.#browsersMax) {
      await new Promise<void>((resolve) => {
        const go = () => {
          signal.removeEventListener('abort', go);
          resolve();
        };
        this.#waiting.push(go);
        signal.addEventListener('abort', go, { once: true });
      });
      signal.throwIfAborted();
    }
    this.#used++;
    let browser: BrowserProcess | undefined;
    try {
      browser = this.#idle.pop();
      if (!browser?.isAlive) {
        if (browser) this.#end(browser);
        browser = await this.#start();
      }
      browser.uses++;
      return await work(browser);
    } finally {
      if (browser) this.#release(browser);
      this.#used--;
      this.#waiting.shift()?.();
    }
  }

  async #start(): Promise<BrowserProcess> {
    const browser = await BrowserProcess.start(this.#options);
    this.#all.add(browser);
    return browser;
  }

  #release(browser: BrowserProcess): void {
    browser.onRequest = undefined;
    if (browser.isAlive && browser.uses < USES_MAX && !this.#isClosed) this.#idle.push(browser);
    else this.#end(browser);
  }

  #end(browser: BrowserProcess): void {
    this.#all.delete(browser);
    void browser.end();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#all];
    this.#all.clear();
    this.#idle = [];
    await Promise.all(all.map((browser) => browser.end()));
  }
}
