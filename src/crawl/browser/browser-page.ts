/**
 * Renders a page: opens it in a context of its own, lets it load, scrolls through it so that what waits to be seen is
 * asked for, and takes what it has become: its elements as HTML, and a picture.
 *
 * Pages are hostile. What is asked of them is asked in a world of its own, which their scripts do not reach; every step
 * has a bound; dialogs are dismissed, windows that they open are closed, downloads refused, service workers and peer
 * connections not to be had. A page that does not answer is given up, and so is its browser.
 */
import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { type PageIdle, pause } from './browser-idle.ts';
import type { BrowserProcess } from './browser-process.ts';

export type PageOptions = {
  readonly url: string;
  readonly userAgent: string;
  readonly takesScreenshot: boolean;
  /** How long loading and scrolling may take. */
  readonly msMax: number;
  readonly signal: AbortSignal;
  readonly idle: PageIdle;
  /** The page's own frame is known. */
  readonly onFrame: (frame: string) => void;
  /** The page wanted a WebSocket. */
  readonly onSocket: () => void;
};

export type PageView = {
  /** Where the page says it is; scripts change that. */
  readonly url: string;
  readonly html: string;
  /** What the page itself was written in, by its name in the WHATWG standard. */
  readonly charset: string;
  readonly isWhole: boolean;
  /** Whether its time was over before it came to rest. */
  readonly isCut: boolean;
  /** Whether it grew while it was scrolled, further than it was. */
  readonly isEndless: boolean;
  /** PNG; undefined when none is wanted, or the page cannot be painted in time. */
  readonly screenshot: Uint8Array | undefined;
};

/**
 * The page or its browser came to grief. When the browser ended or crashed, another may fare better; what a page does
 * to one it does to all.
 */
export class PageLost extends Error {
  readonly mayRetry: boolean;

  constructor(message: string, mayRetry = false, cause?: unknown) {
    super(message, { cause });
    this.mayRetry = mayRetry;
  }
}

/** The page is no page to a browser, but a file to be saved (`Content-Disposition: attachment`). */
export class PageIsDownload extends Error {}

const VIEW = { width: 1280, height: 960 };
const HTML_LENGTH_MAX = 16 * 1024 * 1024;
/** For a page to answer a single question: as long as it may take in all, within these bounds. */
const ANSWER_MS_MIN = 2_000;
const ANSWER_MS_MAX = 15_000;
/** What is said of a navigation that leads to a file. */
const DOWNLOAD = /\bDownload is starting\b/;
const LOAD_LOOK_MS = 500;
const SCROLLS_MAX = 100;
const SCROLL_MS = 100;

/**
 * Before any script of the page: what an archive cannot keep is not offered. A page that asks gets the answer of a
 * browser where it is switched off.
 */
const INIT_SCRIPT = `(() => {
  const refuse = () => Promise.reject(new DOMException('Not available here.', 'SecurityError'));
  if (self.ServiceWorkerContainer) Object.defineProperty(ServiceWorkerContainer.prototype, 'register', { value: refuse });
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'WebTransport']) delete self[name];
})()`;

export async function renderPage(process: BrowserProcess, options: PageOptions): Promise<PageView> {
  const { promise: lost, reject } = Promise.withResolvers<never>();
  lost.catch(() => {});
  const onAbort = () => reject(options.signal.reason as Error);
  options.signal.addEventListener('abort', onAbort, { once: true });
  const onEnd = () => reject(endOf(process));
  process.browser.on('disconnected', onEnd);
  if (options.signal.aborted) onAbort();
  if (!process.isAlive) onEnd();
  let context: BrowserContext | undefined;
  try {
    const opening = process.browser.newContext({
      viewport: VIEW,
      userAgent: options.userAgent,
      acceptDownloads: false,
    });
    // A context that is ready only when nobody waits for it any more is closed with its browser.
    context = await within(answerMs(options), opening, lost);
    const shown = new ShownPage(context, options, lost, () => reject(new PageLost('the page crashed', true)));
    return await shown.view();
  } catch (error) {
    if (options.signal.aborted || error instanceof PageLost) throw error;
    if (DOWNLOAD.test(firstLine(error))) throw new PageIsDownload(undefined, { cause: error });
    throw process.isAlive ? new PageLost(firstLine(error), false, error) : endOf(process, error);
  } finally {
    process.browser.off('disconnected', onEnd);
    options.signal.removeEventListener('abort', onAbort);
    await close(process, context, answerMs(options));
  }
}

/** A browser that was full may have been so before the page came. */
function endOf({ isOverMemory, uses }: BrowserProcess, cause?: unknown): PageLost {
  if (isOverMemory) return new PageLost('it takes too much memory', uses > 1, cause);
  return new PageLost('the browser ended', true, cause);
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0]!;
}

/** A page that cannot be closed takes its browser along. */
async function close(process: BrowserProcess, context: BrowserContext | undefined, msMax: number): Promise<void> {
  const isClosed = await within(msMax, context?.close() ?? Promise.resolve()).then(
    () => true,
    () => false,
  );
  if (!isClosed) process.kill();
}

/** Where in a page it was scrolled to, and how high the page is. */
type ScrollPlace = { readonly isAtEnd: boolean; readonly height: number };

class ShownPage {
  readonly #context: BrowserContext;
  readonly #options: PageOptions;
  readonly #lost: Promise<never>;
  readonly #onCrash: () => void;
  #session!: CDPSession;
  #frame = '';

  constructor(context: BrowserContext, options: PageOptions, lost: Promise<never>, onCrash: () => void) {
    this.#context = context;
    this.#options = options;
    this.#lost = lost;
    this.#onCrash = onCrash;
  }

  async view(): Promise<PageView> {
    const { msMax, signal, takesScreenshot, idle } = this.#options;
    const page = await this.#soon(this.#open());
    const enough = new AbortController();
    const until = AbortSignal.any([signal, enough.signal]);
    let isCut = false;
    let isEndless = false;
    const timer = setTimeout(() => {
      isCut = true;
      enough.abort();
    }, msMax);
    try {
      await this.#load(page, until);
      await Promise.race([idle.waitUntilIdle(until), this.#lost]);
      isEndless = await this.#scroll(until);
    } finally {
      clearTimeout(timer);
      enough.abort();
    }
    const { url, html, charset, isWhole } = await this.#ask<PageView>(`(() => {
      const roots = [document];
      for (const root of roots)
        for (const { shadowRoot } of root.querySelectorAll('*')) if (shadowRoot) roots.push(shadowRoot);
      const element = document.documentElement;
      const html = element?.getHTML?.({ shadowRoots: roots.slice(1) }) ?? element?.outerHTML ?? '';
      const isWhole = html.length <= ${HTML_LENGTH_MAX};
      const charset = document.characterSet.toLowerCase();
      return { url: location.href, html: isWhole ? html : html.slice(0, ${HTML_LENGTH_MAX}), charset, isWhole };
    })()`);
    // What came before the page in its window is empty.
    if (url === 'about:blank') throw new PageLost('it went back to where it came from');
    // What the page has become is known by now, and is not lost for the sake of a picture.
    const screenshot = takesScreenshot ? await this.#screenshot().catch(() => undefined) : undefined;
    signal.throwIfAborted();
    return { url, html, charset, isWhole, isCut, isEndless, screenshot };
  }

  async #open(): Promise<Page> {
    await this.#context.addInitScript(INIT_SCRIPT);
    const page = await this.#context.newPage();
    this.#session = await this.#context.newCDPSession(page);
    const { frameTree } = await this.#session.send('Page.getFrameTree');
    this.#frame = frameTree.frame.id;
    this.#options.onFrame(this.#frame);
    // A window that is closing already cannot be closed again, nor a dialog dismissed twice.
    this.#context.on('page', (opened) => void opened.close().catch(() => {}));
    page.on('dialog', (dialog) => void dialog.dismiss().catch(() => {}));
    page.on('websocket', () => this.#options.onSocket());
    page.on('crash', () => this.#onCrash());
    return page;
  }

  /** Until everything has loaded that HTML names, or the time is over. */
  async #load(page: Page, until: AbortSignal): Promise<void> {
    const { url, msMax } = this.#options;
    await Promise.race([page.goto(url, { waitUntil: 'commit', timeout: msMax }), this.#lost]);
    const loaded = page.waitForLoadState('load', { timeout: msMax }).catch(() => {});
    await Promise.race([loaded, this.#complete(until), pause(msMax, until), this.#lost]);
  }

  /**
   * Of a page that wants to go elsewhere before it has loaded, and may not, no event tells that it has; it knows that
   * itself.
   */
  async #complete(until: AbortSignal): Promise<void> {
    const isComplete = () => this.#ask<boolean>('document.readyState === "complete"').catch(() => false);
    do {
      await pause(LOAD_LOOK_MS, until);
      await this.#options.idle.waitUntilIdle(until);
    } while (!until.aborted && !(await isComplete()));
  }

  /** Down in steps, resting at the bottom, where more may come; then back to the top. Says whether ever more came. */
  async #scroll(until: AbortSignal): Promise<boolean> {
    const { idle } = this.#options;
    const place = `({
      isAtEnd: scrollY + innerHeight >= (document.scrollingElement?.scrollHeight ?? 0) - 1,
      height: document.scrollingElement?.scrollHeight ?? 0,
    })`;
    const { height } = await this.#ask<ScrollPlace>(place);
    let last: ScrollPlace = { isAtEnd: false, height };
    for (let steps = 0; steps < SCROLLS_MAX && !last.isAtEnd && !until.aborted; steps++) {
      last = await this.#ask(`scrollBy({ top: Math.max(100, innerHeight * 0.8), behavior: 'instant' }), ${place}`);
      await Promise.race([pause(SCROLL_MS, until), this.#lost]);
      if (!last.isAtEnd) continue;
      await Promise.race([idle.waitUntilIdle(until), this.#lost]);
      last = await this.#ask(place);
    }
    await Promise.race([idle.waitUntilIdle(until), this.#lost]);
    await this.#ask('scrollTo({ top: 0, behavior: "instant" })');
    return !last.isAtEnd && last.height > height;
  }

  async #screenshot(): Promise<Uint8Array> {
    const { data } = await this.#soon(this.#session.send('Page.captureScreenshot', { format: 'png' }));
    return Buffer.from(data, 'base64');
  }

  /** Asks in a world that the page's scripts do not reach; a new one each time, since a page may load itself anew. */
  async #ask<T>(expression: string): Promise<T> {
    const { executionContextId } = await this.#soon(
      this.#session.send('Page.createIsolatedWorld', { frameId: this.#frame, worldName: 'pinakes' }),
    );
    const { result } = await this.#soon(
      this.#session.send('Runtime.evaluate', { expression, contextId: executionContextId, returnByValue: true }),
    );
    return result.value as T;
  }

  #soon<T>(work: Promise<T>): Promise<T> {
    return within(answerMs(this.#options), work, this.#lost);
  }
}

function answerMs({ msMax }: PageOptions): number {
  return Math.min(ANSWER_MS_MAX, Math.max(ANSWER_MS_MIN, msMax));
}

/** Work that has to be done soon. */
async function within<T>(ms: number, work: Promise<T>, lost?: Promise<never>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new PageLost('it did not answer')), ms);
  work.catch(() => {});
  try {
    return await Promise.race([work, late, ...(lost ? [lost] : [])]);
  } finally {
    clearTimeout(timer);
  }
}
