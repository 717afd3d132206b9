/**
 * Routes of the UI socket: files and screens of the web interface, the API, CDX, TimeGates and TimeMaps, metrics.
 * Archived bytes are sent here only as downloads of whole segments. Content that browsers could run is on the replay
 * socket.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Archive } from '../archive/index.ts';
import type { ReplayOrigins } from '../replay/index.ts';
import type { CdxRoute } from './cdx/cdx-route.ts';
import type { Dispatched, RequestContext } from './entry-handler.ts';
import type { Guard } from './http/guard.ts';
import { accepts, HttpProblem, isForWindow, NOT_FOUND, requireReading, SCREENS_MISSING } from './http/problem.ts';
import { endReply } from './http/reply-end.ts';
import type { SignInRoutes } from './people/sign-in-routes.ts';
import type { Readiness } from './readiness.ts';
import { sendSegment } from './replay/segment-files.ts';
import type { WebRoutes } from './replay/web-routes.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { UiFiles } from './ui-files.ts';

export type UiRoutesOptions = {
  readonly archive: Archive;
  readonly app: FastifyInstance;
  readonly cdx: CdxRoute;
  readonly web: WebRoutes;
  readonly metrics: Metrics;
  readonly readiness: Readiness;
  readonly uiFiles: UiFiles;
  readonly guard: Guard;
  readonly signIn: SignInRoutes;
  readonly origins: ReplayOrigins;
};

export class UiRoutes {
  readonly #options: UiRoutesOptions;
  readonly #canonicalHost: string;

  constructor(options: UiRoutesOptions) {
    this.#options = options;
    this.#canonicalHost = new URL(options.origins.uiOrigin).host;
  }

  dispatch(context: RequestContext): Dispatched {
    const { request, response, path, search } = context;
    const { archive, app, cdx, web, guard, signIn } = this.#options;
    // The API and the CDX server check tokens themselves. Everyone may see the web interface, and how the server is.
    if (path === '/api' || path.startsWith('/api/')) return { route: 'api', done: app.routing(request, response) };
    if (path.startsWith('/cdx') || path === '/web-cdx')
      return { route: 'cdx', done: cdx.answer(request, response, path, search) };
    if (path === '/readyz') return { route: 'readyz', done: this.#sendReadiness(request, response, search) };
    if (path === '/healthz') return { route: 'healthz', done: this.#sendHealth(request, response) };
    if (path.startsWith('/auth/')) return { route: 'auth', done: signIn.answer(request, response, path) };
    if (path.startsWith('/web/')) {
      const show = () => this.#redirected(context) ?? web.answer(context);
      return this.#asksToSignIn(request)
        ? { route: 'web', done: this.#redirected(context) ?? this.#showOrAsk(context, show) }
        : guard.reading(request, 'web', show);
    }
    if (path === '/metrics') return guard.reading(request, 'metrics', () => this.#sendMetrics(request, response));
    if (path.startsWith('/warc/'))
      return guard.reading(request, 'segments', () => {
        requireReading(request);
        return sendSegment(archive, request, response, path.slice('/warc/'.length));
      });
    return { route: 'ui', done: this.#redirected(context) ?? this.#sendPage(context) };
  }

  /** Whether the web interface, and not an error, tells the sender of a request to sign in. */
  #asksToSignIn(request: IncomingMessage): boolean {
    const { guard, uiFiles } = this.#options;
    return !guard.isOpen && isForWindow(request) && uiFiles.hasScreens;
  }

  /**
   * Shows a window of a private server to who may read, and the web interface without any contents to others. Also a
   * reader who comes from another site gets that: the browser then keeps the cookie back, and the web interface asks
   * again.
   */
  async #showOrAsk({ request, response }: RequestContext, show: () => Promise<void> | void): Promise<void> {
    const { guard, uiFiles, origins } = this.#options;
    const access = await guard.identify(request);
    if (access.isAnonymous) {
      requireReading(request);
      uiFiles.sendScreen(request, response, origins.replayOrigin);
      return;
    }
    await guard.require(request, 'read');
    await show();
  }

  /**
   * The web interface works under one host name only, which the API and the frames of replay know. A browser that uses
   * another name is redirected.
   */
  #redirected({ request, response }: RequestContext): Promise<void> | undefined {
    if (!isForWindow(request) || this.#isCanonical(request.headers.host)) return undefined;
    response.writeHead(307, { location: this.#options.origins.uiOrigin + request.url!, 'content-length': 0 }).end();
    return Promise.resolve();
  }

  /** Some proxies add the default port to the Host field. Redirecting their clients would never end. */
  #isCanonical(host: string | undefined): boolean {
    const { uiOrigin } = this.#options.origins;
    return host === this.#canonicalHost || URL.parse(`${new URL(uiOrigin).protocol}//${host}`)?.origin === uiOrigin;
  }

  async #sendPage({ request, response, path }: RequestContext): Promise<void> {
    const { uiFiles, origins } = this.#options;
    const { replayOrigin } = origins;
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
    send(response, 200, this.#options.metrics.contentType, await this.#options.metrics.text());
  }

  /** The process is alive. It says nothing of its database or volumes: a restart would not help them. */
  #sendHealth(request: IncomingMessage, response: ServerResponse): void {
    requireReading(request);
    sendJson(response, 200, { status: 'ok' });
  }

  /** `exclude=volumes` leaves the volumes out. */
  async #sendReadiness(request: IncomingMessage, response: ServerResponse, search: string): Promise<void> {
    requireReading(request);
    const excluded = new URLSearchParams(search).getAll('exclude').map((name) => name.replace(/s$/, ''));
    const reasons = await this.#options.readiness.reasons(new Set(excluded));
    const isReady = reasons.length === 0;
    sendJson(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not ready', reasons });
  }
}

/** The paths of the screens in `ui/app/route.ts`, besides those under /web/. */
const SCREEN =
  /^\/(?:(?:(?:collections|jobs)(?:\/[^/]+)?|audit|compare|delete|help|links|nodes|search|takedowns)\/?)?$/;

function isScreen(path: string): boolean {
  return SCREEN.test(path);
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  send(response, status, 'application/json; charset=utf-8', `${JSON.stringify(value)}\n`);
}

function send(response: ServerResponse, status: number, contentType: string, text: string): void {
  const body = Buffer.from(text);
  response.writeHead(status, {
    'cache-control': 'no-store',
    'content-length': body.length,
    'content-type': contentType,
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  });
  endReply(response, body);
}
