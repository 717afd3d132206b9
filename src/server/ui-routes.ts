/**
 * Who answers what on the first socket: the web page's own files and screens, the API, CDX, TimeGates and TimeMaps,
 * metrics. Archived bytes never come from here but as downloads of whole segments: what a browser could run is on the
 * other socket.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Archive } from '../archive/index.ts';
import type { Replayer } from '../replay/index.ts';
import type { CdxRoute } from './cdx/cdx-route.ts';
import type { Answer, Visit } from './entry-handler.ts';
import { accepts, HttpProblem, isForWindow, methodRefused, NOT_FOUND, SCREENS_MISSING } from './http/problem.ts';
import { endReply } from './http/reply-end.ts';
import type { Metrics } from './metrics.ts';
import { sendSegment } from './replay/segment-files.ts';
import { WebRoutes } from './replay/web-routes.ts';
import type { UiFiles } from './ui-files.ts';

export type UiParts = {
  readonly archive: Archive;
  readonly replayer: Replayer;
  readonly app: FastifyInstance;
  readonly metrics: Metrics;
  readonly uiFiles: UiFiles;
  readonly cdx: CdxRoute;
  readonly uiOrigin: string;
  readonly replayOrigin: string;
};

export class UiRoutes {
  readonly #parts: UiParts;
  readonly #web: WebRoutes;
  readonly #canonicalHost: string;

  constructor(parts: UiParts) {
    this.#parts = parts;
    this.#web = new WebRoutes(parts);
    this.#canonicalHost = new URL(parts.uiOrigin).host;
  }

  answer(visit: Visit): Answer {
    const { request, response, path, search } = visit;
    const { app, cdx, archive } = this.#parts;
    if (path.startsWith('/cdx') || path === '/web-cdx')
      return { route: 'cdx', done: cdx.answer(request, response, path, search) };
    if (path.startsWith('/web/')) return { route: 'web', done: this.#redirected(visit) ?? this.#web.answer(visit) };
    if (path === '/api' || path.startsWith('/api/')) return { route: 'api', done: app.routing(request, response) };
    if (path === '/metrics') return { route: 'metrics', done: this.#sendMetrics(request, response) };
    if (path === '/healthz') return { route: 'healthz', done: this.#sendHealth(request, response) };
    if (path.startsWith('/warc/')) {
      requireReading(request);
      return { route: 'segments', done: sendSegment(archive, request, response, path.slice('/warc/'.length)) };
    }
    return { route: 'ui', done: this.#redirected(visit) ?? this.#sendPage(visit) };
  }

  /**
   * The web page works under one name only, which is what the API and the frames of replay know. Who comes by another
   * is sent there.
   */
  #redirected({ request, response }: Visit): Promise<void> | undefined {
    if (!isForWindow(request) || this.#isCanonical(request.headers.host)) return undefined;
    response.writeHead(307, { location: this.#parts.uiOrigin + request.url!, 'content-length': 0 }).end();
    return Promise.resolve();
  }

  /** Some proxies pass the port on that all have, and would be sent to and fro. */
  #isCanonical(host: string | undefined): boolean {
    const { uiOrigin } = this.#parts;
    return host === this.#canonicalHost || URL.parse(`${new URL(uiOrigin).protocol}//${host}`)?.origin === uiOrigin;
  }

  async #sendPage({ request, response, path }: Visit): Promise<void> {
    const { uiFiles, replayOrigin } = this.#parts;
    requireReading(request);
    if (uiFiles.has(path)) uiFiles.send(request, response, path, replayOrigin);
    else if (uiFiles.hasScreens && isScreen(path)) uiFiles.sendScreen(request, response, replayOrigin);
    else {
      const isForPeople = isScreen(path) && accepts(request.headers.accept, 'text/html');
      throw new HttpProblem(isForPeople && !uiFiles.hasScreens ? SCREENS_MISSING : NOT_FOUND);
    }
  }

  async #sendMetrics(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requireReading(request);
    send(response, this.#parts.metrics.contentType, await this.#parts.metrics.text());
  }

  /** Well when the catalog answers. */
  async #sendHealth(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requireReading(request);
    const { captures } = await this.#parts.archive.totals();
    send(response, 'application/json; charset=utf-8', `${JSON.stringify({ status: 'ok', captures })}\n`);
  }
}

/** The paths that `ui/app/route.ts` has screens for, besides those under /web/. */
const SCREEN = /^\/(?:(?:(?:collections|jobs)(?:\/[^/]+)?|compare|delete|help|links|search)\/?)?$/;

function isScreen(path: string): boolean {
  return SCREEN.test(path);
}

function requireReading(request: IncomingMessage): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') throw methodRefused('GET, HEAD');
}

function send(response: ServerResponse, contentType: string, text: string): void {
  const body = Buffer.from(text);
  response.writeHead(200, {
    'cache-control': 'no-store',
    'content-length': body.length,
    'content-type': contentType,
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  });
  endReply(response, body);
}
