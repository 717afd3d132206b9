/**
 * Renders a page: opens it in its own context, lets it load, and scrolls through it so that lazy content is requested.
 * Returns its elements as HTML, and a screenshot.
 *
 * Pages are hostile. They are inspected in an isolated world, which their scripts cannot reach, and every step is
 * bounded. Dialogs are dismissed, opened windows are closed, downloads are refused, and service workers and peer
 * connections are not available. A page that does not answer is given up together with its browser.
 */
import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { type PageActivity, pause } from './browser-activity.ts';
import type { BrowserProcess } from './browser-process.ts';

export type PageOptions = {
  readonly url: string;
  readonly userAgent: string;
  readonly takesScreenshot: boolean;
  /** How long loading and scrolling may take. */
  readonly msMax: number;
  readonly signal: AbortSignal;
  readonly activity: PageActivity;
  /** Called when the main frame of the page is known. */
  readonly onFrame: (frame: string) => void;
  /** Called when the page tries to open a WebSocket. */
  readonly onSocket: () => void;
};

export type PageView = {
  /** The URL that the page reports. Its scripts can change it. */
  readonly url: string;
  readonly html: string;
  /** The charset of the page, by its name in the WHATWG standard. */
  readonly charset: string;
  readonly isWhole: boolean;
  /** Whether `msMax` had passed before the page became idle. */
  readonly isCut: boolean;
  /** Whether the page grew during scrolling and its end was not reached. */
  readonly isEndless: boolean;
  /** A PNG file; undefined when no screenshot is wanted, or when the page cannot be painted in time. */
  readonly screenshot: Uint8Array | undefined;
};

/** Rendering failed. `mayRetry`: another browser may succeed, because this one ended or crashed. */
export class RenderFailure extends Error {
  readonly mayRetry: boolean;

  constructor(message: string, mayRetry = false, cause?: unknown) {
    super(message, { cause });
    this.mayRetry = mayRetry;
  }
}

/** The browser would save the page as a file (`Content-Disposition: attachment`). */
export class PageIsDownload extends Error {}

const VIEW = { width: 1280, height: 960 };
const HTML_LENGTH_MAX = 16 * 1024 * 1024;
/** The bounds on the time that a page has for one answer. Within them it is `msMax`, the time for the whole page. */
const ANSWER_MS_MIN = 2_000;
const ANSWER_MS_MAX = 15_000;
/** The error of a navigation that leads to a file. */
const DOWNLOAD = /\bDownload is starting\b/;
const LOAD_LOOK_MS = 500;
const SCROLLS_MAX = 100;
const SCROLL_MS = 100;

/**
 * Runs before any script of the page. It removes interfaces whose data an archive cannot keep. A page that tests for
 * one of them finds that it is not available.
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
  const onEnd = () => reject(browserEnded(process));
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
    // If this context becomes ready after the time limit, it is closed together with its browser.
    context = await withTimeLimit(answerMs(options), opening, lost);
    const shown = new ShownPage(context, options, lost, () => reject(new RenderFailure('the page crashed', true)));
    return await shown.view();
  } catch (error) {
    if (options.signal.aborted || error instanceof RenderFailure) throw error;
    if (DOWNLOAD.test(firstLine(error))) throw new PageIsDownload(undefined, { cause: error });
    throw process.isAlive ? new RenderFailure(firstLine(error), false, error) : browserEnded(process, error);
  } finally {
    process.browser.off('disconnected', onEnd);
    options.signal.removeEventListener('abort', onAbort);
    await close(process, context, answerMs(options));
  }
}

/** If the browser rendered other pages before, they may have used the memory. So another try may succeed. */
function browserEnded({ isOverMemory, uses }: BrowserProcess, cause?: unknown): RenderFailure {
  if (isOverMemory) return new RenderFailure('it uses too much memory', uses > 1, cause);
  return new RenderFailure('the browser ended', true, cause);
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0]!;
}

/** Closes a page. If it cannot be closed, its browser is killed. */
async function close(process: BrowserProcess, context: BrowserContext | undefined, msMax: number): Promise<void> {
  const isClosed = await withTimeLimit(msMax, context?.close() ?? Promise.resolve()).then(
    () => true,
    () => false,
  );
  if (!isClosed) process.kill();
}

/** Whether a page is scrolled to its end, and its height. */
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
    const { msMax, signal, takesScreenshot, activity } = this.#options;
    const page = await this.#withTimeLimit(this.#open());
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
      await Promise.race([activity.waitUntilIdle(until), this.#lost]);
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
    // The page went back to the empty window from which it was opened.
    if (url === 'about:blank') throw new RenderFailure('it navigated back to an empty window');
    // A failing screenshot must not lose the HTML of the page, which is known now.
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
    // Ignore errors: a window may be closing already, and a dialog may be dismissed already.
    this.#context.on('page', (opened) => void opened.close().catch(() => {}));
    page.on('dialog', (dialog) => void dialog.dismiss().catch(() => {}));
    page.on('websocket', () => this.#options.onSocket());
    page.on('crash', () => this.#onCrash());
    return page;
  }

  /** Waits until the resources named in the HTML have loaded, or `until` is aborted. */
  async #load(page: Page, until: AbortSignal): Promise<void> {
    const { url, msMax } = this.#options;
    await Promise.race([page.goto(url, { waitUntil: 'commit', timeout: msMax }), this.#lost]);
    const loaded = page.waitForLoadState('load', { timeout: msMax }).catch(() => {});
    await Promise.race([loaded, this.#complete(until), pause(msMax, until), this.#lost]);
  }

  /**
   * Asks the page whether it has loaded. If its navigation to another page was refused before, no event reports that it
   * has loaded.
   */
  async #complete(until: AbortSignal): Promise<void> {
    const isComplete = () => this.#ask<boolean>('document.readyState === "complete"').catch(() => false);
    do {
      await pause(LOAD_LOOK_MS, until);
      await this.#options.activity.waitUntilIdle(until);
    } while (!until.aborted && !(await isComplete()));
  }

  /**
   * Scrolls down in steps, and waits at the bottom, where more content may appear. Then scrolls back to the top.
   * Returns whether the page grew and its end was not reached.
   */
  async #scroll(until: AbortSignal): Promise<boolean> {
    const { activity } = this.#options;
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
      await Promise.race([activity.waitUntilIdle(until), this.#lost]);
      last = await this.#ask(place);
    }
    await Promise.race([activity.waitUntilIdle(until), this.#lost]);
    await this.#ask('scrollTo({ top: 0, behavior: "instant" })');
    return !last.isAtEnd && last.height > height;
  }

  async #screenshot(): Promise<Uint8Array> {
    const { data } = await this.#withTimeLimit(this.#session.send('Page.captureScreenshot', { format: 'png' }));
    return Buffer.from(data, 'base64');
  }

  /** Evaluates an expression in a new isolated world. The last world may be gone, since the page may reload itself. */
  async #ask<T>(expression: string): Promise<T> {
    const { executionContextId } = await this.#withTimeLimit(
      this.#session.send('Page.createIsolatedWorld', { frameId: this.#frame, worldName: 'pinakes' }),
    );
    const { result } = await this.#withTimeLimit(
      this.#session.send('Runtime.evaluate', { expression, contextId: executionContextId, returnByValue: true }),
    );
    return result.value as T;
  }

  #withTimeLimit<T>(work: Promise<T>): Promise<T> {
    return withTimeLimit(answerMs(this.#options), work, this.#lost);
  }
}

function answerMs({ msMax }: PageOptions): number {
  return Math.min(ANSWER_MS_MAX, Math.max(ANSWER_MS_MIN, msMax));
}

/** Waits for work for at most `ms`. */
async function withTimeLimit<T>(ms: number, work: Promise<T>, lost?: Promise<never>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new RenderFailure('it did not answer')), ms);
  work.catch(() => {});
  try {
    return await Promise.race([work, late, ...(lost ? [lost] : [])]);
  } finally {
    clearTimeout(timer);
  }
}
