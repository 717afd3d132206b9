/**
 * A generated site of many hosts under one domain, in this process. It notes who asks which host when: a crawler is
 * known by the loopback address that it connects to.
 */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type SiteRequest = {
  readonly crawler: string;
  readonly host: string;
  readonly path: string;
  readonly atMs: number;
};

export type CrawledSiteOptions = {
  readonly hosts: number;
  readonly pagesPerHost: number;
  /** The name of a host; by default under one domain, which only crawlers with a resolver of their own find. */
  readonly nameOf?: (host: number) => string;
};

const nameUnderDomain = (host: number) => `h${host}.site.test`;

export class CrawledSite {
  readonly requests: SiteRequest[] = [];
  readonly #options: Required<CrawledSiteOptions>;
  readonly #hosts: ReadonlyMap<string, number>;
  readonly #server: Server;
  #awaited: { readonly count: number; readonly from: string; readonly resolve: () => void } | undefined;

  private constructor(options: CrawledSiteOptions) {
    const { hosts, nameOf = nameUnderDomain } = options;
    this.#options = { ...options, nameOf };
    this.#hosts = new Map(Array.from({ length: hosts }, (_, host) => [nameOf(host), host]));
    this.#server = createServer((request, response) => {
      const host = String(request.headers.host).replace(/:\d+$/, '');
      const path = request.url ?? '/';
      const crawler = String(request.socket.localAddress).replace('::ffff:', '');
      this.requests.push({ crawler, host, path, atMs: performance.now() });
      this.#answer(this.#hosts.get(host) ?? -1, path, response);
      if (this.#awaited && this.of(this.#awaited.from).length >= this.#awaited.count) this.#awaited.resolve();
    });
  }

  static async start(options: CrawledSiteOptions): Promise<CrawledSite> {
    const site = new CrawledSite(options);
    site.#server.listen(0, '0.0.0.0');
    await once(site.#server, 'listening');
    return site;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get seed(): string {
    return this.#url(0, '/');
  }

  /** The first page of every host. */
  get firstPages(): string[] {
    return [...this.#hosts.values()].map((host) => this.#url(host, '/'));
  }

  /** Every URL that a crawl captures, in order. */
  get urls(): string[] {
    const { hosts, pagesPerHost } = this.#options;
    const urls: string[] = [];
    for (let host = 0; host < hosts; host++) {
      urls.push(this.#url(host, '/robots.txt'), this.#url(host, '/'));
      for (let page = 1; page < pagesPerHost; page++) urls.push(this.#url(host, `/${page}`));
    }
    return urls.sort();
  }

  #url(host: number, path: string): string {
    return `http://${this.#options.nameOf(host)}:${this.port}${path}`;
  }

  /** The requests that came to an address. */
  of(crawler: string): SiteRequest[] {
    return this.requests.filter((request) => request.crawler === crawler);
  }

  /** Waits until an address has got this many requests. */
  asked(from: string, count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#awaited = { from, count, resolve };
    });
  }

  /**
   * The shortest time between two requests to one host: `byOne` of one crawler, `byTwo` of two, and how often hosts
   * changed hands.
   */
  get pauses(): { readonly byOneMs: number; readonly byTwoMs: number; readonly changes: number } {
    let [byOneMs, byTwoMs, changes] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 0];
    for (const requests of Map.groupBy(this.requests, ({ host }) => host).values())
      for (const [index, { crawler, atMs }] of requests.entries()) {
        const before = requests[index - 1];
        if (!before) continue;
        const pauseMs = atMs - before.atMs;
        if (before.crawler === crawler) byOneMs = Math.min(byOneMs, pauseMs);
        else {
          byTwoMs = Math.min(byTwoMs, pauseMs);
          changes++;
        }
      }
    return { byOneMs, byTwoMs, changes };
  }

  #answer(host: number, path: string, response: ServerResponse): void {
    const { hosts, pagesPerHost } = this.#options;
    const page = path === '/' ? 0 : /^\/[1-9]\d*$/.test(path) ? Number(path.slice(1)) : -1;
    if (host < 0 || host >= hosts || page < 0 || page >= pagesPerHost) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('not found');
      return;
    }
    const links = [this.#url(host, '/')];
    for (let other = 1; other < pagesPerHost; other++) links.push(this.#url(host, `/${other}`));
    // The first pages lead to all hosts in few steps, the others to hosts that are known by then.
    for (let child = 1; child <= 8; child++) links.push(this.#url((host * 8 + child) % hosts, '/'));
    links.push(this.#url((host * 7 + page) % hosts, `/${1 + (page % (pagesPerHost - 1))}`));
    const text = `Page ${page} of host ${host}. `.repeat(40);
    const anchors = links.map((link) => `<a href="${link}">x</a>`).join('\n');
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<!doctype html><title>${host} ${page}</title>${anchors}<p>${text}</p>`);
  }
}
