/**
 * Renders visited pages. It stores the answers to their requests as captures, and returns their links. It stores a
 * screenshot as a resource record of `urn:view:<URL>`, a name that other crawlers with browsers use too.
 *
 * A page whose browser ended or crashed is rendered once more. A page that cannot be rendered still counts as visited.
 * The report says that it was not rendered, and the next crawl visits it first.
 */
import type { Archive, Capture } from '../../archive/index.ts';
import { PinakesError, utf8 } from '../../base/index.ts';
import { type Link, readPage } from '../../page/index.ts';
import type { CrawlCaptures } from '../crawl-captures.ts';
import { type QueuedUrl, STATE_UNVERIFIED } from '../frontier/known-url.ts';
import type { PageFindings } from '../links/link-batch.ts';
import type { Visited } from '../outcome.ts';
import type { CrawlTally } from '../report.ts';
import type { CrawlSettings } from '../settings.ts';
import { needsBrowser } from './browser-need.ts';
import { PageIsDownload, type PageView, RenderFailure, renderPage } from './browser-page.ts';
import type { BrowserPool } from './browser-pool.ts';
import type { BrowserProcess } from './browser-process.ts';
import type { PageRequests } from './browser-requests.ts';

const TRIES = 2;

export type Rendered = {
  /** The visit. Its state is changed if the page could not be rendered. */
  readonly visited: Visited;
  /**
   * Reads the links of the HTML, and adds those of the rendered page. It must be called once only, since the result can
   * be large.
   */
  readonly findLinks: () => Promise<PageFindings>;
};

export type RendererOptions = {
  readonly archive: Archive;
  readonly pool: BrowserPool;
  readonly settings: CrawlSettings;
  readonly captures: CrawlCaptures;
  readonly tally: CrawlTally;
  /** Aborted when the crawl stops. */
  readonly signal: AbortSignal;
  /** Creates the handler for the requests of a page. `capture` is the capture of the page itself. */
  readonly newRequests: (page: QueuedUrl, capture: Capture) => PageRequests;
};

export class Renderer {
  readonly #options: RendererOptions;
  /** Pages that have a browser or wait for one. */
  backlog = 0;

  constructor(options: RendererOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.backlog >= 2 * this.#options.settings.browsers;
  }

  /** Renders a page, if the settings want it rendered. Throws when the crawl is stopped, and when the archive fails. */
  async render(visited: Visited): Promise<Rendered> {
    const { settings, captures, signal, newRequests } = this.#options;
    if (!(await needsBrowser(settings.browser, visited, () => captures.readResponse(visited.capture))))
      return { visited, findLinks: visited.findLinks };
    for (let tries = 1; ; tries++) {
      const requests = newRequests(visited.settlement.item, visited.capture);
      try {
        const view = await this.#view(visited, requests);
        return { visited, findLinks: () => findLinks(visited, view, requests.links) };
      } catch (error) {
        if (error instanceof PageIsDownload) return { visited, findLinks: visited.findLinks };
        const reason = failureReason(error);
        if (reason === undefined || signal.aborted) throw error;
        if (tries >= TRIES || !mayRetry(error)) return unrendered(visited, reason, requests.links);
      }
    }
  }

  async #view(visited: Visited, requests: PageRequests): Promise<PageView> {
    const { pool, signal, tally } = this.#options;
    let view: PageView;
    this.backlog++;
    try {
      view = await pool.use(signal, (browser) => this.#viewIn(browser, visited, requests));
    } finally {
      // Running requests may take long, so the browser is free before they end.
      this.backlog--;
      await requests.finish();
    }
    tally.counts.rendered++;
    if (view.screenshot) await this.#keepScreenshot(visited, view.screenshot);
    return view;
  }

  #viewIn(browser: BrowserProcess, { settlement }: Visited, requests: PageRequests): Promise<PageView> {
    const { settings, signal, tally } = this.#options;
    browser.onRequest = (request) => requests.answer(request);
    return renderPage(browser, {
      url: settlement.item.url,
      userAgent: settings.userAgent,
      takesScreenshot: settings.screenshots,
      msMax: settings.renderMsMax,
      signal,
      activity: requests.activity,
      onFrame: (frame) => {
        requests.mainFrame = frame;
        requests.isWindow = (other) => other !== frame && browser.windows.has(other);
      },
      onSocket: () => tally.counts.refused++,
    });
  }

  async #keepScreenshot({ capture, settlement }: Visited, body: Uint8Array): Promise<void> {
    const { archive, settings, tally } = this.#options;
    const recordId = await recordIdOf(archive, capture.place);
    await archive.store(
      {
        kind: 'resource',
        url: viewUrl(settlement.item.url),
        time: archive.clock(),
        mime: 'image/png',
        body,
        fields: recordId === undefined ? [] : [{ name: 'WARC-Concurrent-To', value: recordId }],
      },
      { collection: settings.collection },
    );
    tally.counts.screenshots++;
  }
}

/** The URL that the screenshot of a page is stored under. */
export function viewUrl(url: string): string {
  return `urn:view:${url}`;
}

async function recordIdOf(archive: Archive, place: Visited['capture']['place']): Promise<string | undefined> {
  const [head] = await archive.records.heads([place]);
  return head?.recordId;
}

function mayRetry(error: unknown): boolean {
  return error instanceof PinakesError || (error instanceof RenderFailure && error.mayRetry);
}

/** The reason why a page was not rendered; undefined when neither the page nor the browser failed. */
function failureReason(error: unknown): string | undefined {
  if (error instanceof RenderFailure) return error.message;
  return error instanceof PinakesError && error.code.startsWith('BROWSER_') ? error.message : undefined;
}

function unrendered(visited: Visited, reason: string, links: readonly Link[]): Rendered {
  return {
    visited: { ...visited, settlement: { ...visited.settlement, state: STATE_UNVERIFIED } },
    findLinks: async () => ({
      ...joinedFindings(await visited.findLinks(), links),
      unreadReason: `not rendered: ${reason}`,
    }),
  };
}

async function findLinks(visited: Visited, view: PageView, asked: readonly Link[]): Promise<PageFindings> {
  const plain = await visited.findLinks();
  const { url } = visited.settlement.item;
  // Scripts can change the URL of a page within its origin. A URL of another origin is ignored.
  const base = URL.parse(view.url)?.origin === new URL(url).origin ? view.url : url;
  const contentType = 'text/html; charset=utf-8';
  const source = { bytes: utf8(view.html), mime: 'text/html', contentType, url: base, linkCharset: view.charset };
  const page = await readPage(source, { text: false });
  const findings = joinedFindings(plain, [...(page?.links ?? []), ...asked], page?.robots.nofollow);
  if (findings.unreadReason !== undefined) return findings;
  if (view.isCut) return { ...findings, unreadReason: 'its time for rendering ended before it was idle' };
  if (view.isEndless) return { ...findings, unreadReason: 'it grows further than it is scrolled' };
  const isWhole = view.isWhole && page?.isTruncated !== true;
  return isWhole ? findings : { ...findings, unreadReason: 'it is larger than the part that is read' };
}

function joinedFindings(plain: PageFindings, links: readonly Link[], isNofollow = false): PageFindings {
  const { reading } = plain;
  return {
    ...plain,
    reading: {
      links: [...(reading?.links ?? []), ...links],
      isNofollow: (reading?.isNofollow ?? false) || isNofollow,
      isWhole: reading?.isWhole ?? true,
    },
  };
}
