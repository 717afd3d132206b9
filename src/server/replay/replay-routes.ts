/**
 * Routes of the replay socket: archived pages and their resources, and the scripts that keep pages inside the archive.
 * Archived scripts run in this origin, so it serves nothing else.
 *
 * Any other path is a path of an archived site, `/images/a.png`, which a script of a page requested. The Referer shows
 * which site.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  ASSET_POLICY,
  type Modifier,
  parseReplayPath,
  type Replayer,
  type ReplayOrigins,
  type ReplayPath,
  type ReplayResponse,
  replayAssets,
  replayPath,
  STATIC_ROOT,
} from '../../replay/index.ts';
import type { Dispatched, RequestContext } from '../entry-handler.ts';
import type { Guard } from '../http/guard.ts';
import {
  badRequest,
  HttpProblem,
  methodRefused,
  NOT_FOUND,
  type ProblemDetails,
  requireReading,
} from '../http/problem.ts';
import { endReply } from '../http/reply-end.ts';
import { readBody } from '../http/request-body.ts';
import type { People } from '../people/people.ts';
import { enterReplay, REPLAY_ENTRY } from '../people/replay-entry.ts';
import { sendMissing } from './missing-capture.ts';
import { fieldOf, sendReplay } from './replay-reply.ts';

/** The maximum body of a request of an archived page. The body is used to find the matching capture. */
const REQUEST_BYTES_MAX = 1024 * 1024;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const MODIFIER_BY_DESTINATION: Readonly<Record<string, Modifier>> = {
  document: 'mp_',
  frame: 'if_',
  iframe: 'if_',
  image: 'im_',
  script: 'js_',
  style: 'cs_',
};

type ShownPath = Extract<ReplayPath, { kind: 'capture' | 'timegate' }>;

export class ReplayRoutes {
  readonly #replayer: Replayer;
  readonly #origins: ReplayOrigins;
  readonly #guard: Guard;
  readonly #people: People;
  readonly #pageStart: string;
  readonly #assets = replayAssets();

  constructor(replayer: Replayer, origins: ReplayOrigins, guard: Guard, people: People) {
    this.#replayer = replayer;
    this.#people = people;
    this.#guard = guard;
    this.#origins = origins;
    this.#pageStart = `${origins.replayOrigin}/web/`;
  }

  dispatch(context: RequestContext): Dispatched {
    const { request, response, path } = context;
    if (path === REPLAY_ENTRY)
      return { route: 'replay', done: enterReplay(this.#people, this.#origins.replayOrigin, request, response) };
    return this.#guard.reading(request, 'replay', () => this.#route(context));
  }

  async #route(context: RequestContext): Promise<void> {
    const { request, response, path } = context;
    if (path.startsWith('/web/')) return this.#replay(context);
    if (path.startsWith(STATIC_ROOT)) return this.#sendAsset(request, response, path.slice(STATIC_ROOT.length));
    if (this.#redirectIntoArchive(context)) return;
    throw new HttpProblem({ ...NOT_FOUND, advice: `The web page is at ${this.#origins.uiOrigin}/.` });
  }

  #sendAsset(request: IncomingMessage, response: ServerResponse, name: string): void {
    const asset = this.#assets.get(name);
    if (!asset) throw new HttpProblem(NOT_FOUND);
    requireReading(request);
    // A service worker from this path could control only this path. The server refuses it anyway.
    if (request.headers['service-worker'] !== undefined) throw new HttpProblem({ ...NOT_FOUND, status: 403 });
    response.writeHead(200, {
      'cache-control': 'public, max-age=3600',
      'content-length': asset.bytes.length,
      'content-type': asset.mime,
      'content-security-policy': ASSET_POLICY,
      'cross-origin-resource-policy': 'same-site',
      'x-content-type-options': 'nosniff',
    });
    endReply(response, asset.bytes);
  }

  #redirectIntoArchive({ request, response }: RequestContext): boolean {
    const location = this.#archivedPath(request);
    if (location === undefined) return false;
    const fields = { location, 'cache-control': 'no-store', vary: 'referer', 'content-length': 0 };
    response.writeHead(307, fields).end();
    return true;
  }

  async #replay(context: RequestContext): Promise<void> {
    const { request, response } = context;
    const parsed = parseReplayPath(request.url!);
    // Rewritten addresses always have a time or a modifier. Without them, `/web/` is a folder of the archived site.
    const isRewritten = parsed.kind === 'capture' || (parsed.kind === 'timegate' && parsed.modifier !== '');
    if (!isRewritten && this.#redirectIntoArchive(context)) return;
    if (parsed.kind === 'bad')
      throw badRequest(parsed.problem, 'Use an address like /web/20240301120000mp_/http://example.org/.');
    const isForUi =
      parsed.kind === 'query' || parsed.kind === 'timemap' || (parsed.kind === 'timegate' && parsed.modifier === '');
    if (isForUi) {
      response.writeHead(307, { location: this.#origins.uiOrigin + request.url!, 'content-length': 0 }).end();
      return;
    }
    const method = request.method ?? 'GET';
    if (!METHODS.has(method)) throw methodRefused([...METHODS].join(', '));
    const answer = await this.#respond(request, parsed as ShownPath, method, () => response.destroyed);
    if (answer.redirectLoop) throw new HttpProblem(redirectionLoop(answer.redirectLoop));
    if (answer.missing) await this.#sendMissing(request, response, answer);
    else await sendReplay(response, answer);
  }

  async #respond(
    request: IncomingMessage,
    parsed: ShownPath,
    method: string,
    hasLeft: () => boolean,
  ): Promise<ReplayResponse> {
    const hasBody = method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';
    const requestBody = hasBody ? await readBody(request, REQUEST_BYTES_MAX) : undefined;
    return this.#replayer.respond(
      {
        url: parsed.url,
        at: parsed.kind === 'capture' ? parsed.time : undefined,
        isFromPage: request.headers.referer?.startsWith(this.#pageStart) === true,
        modifier: parsed.modifier,
        method,
        fields: (name) => fieldOf(request, name),
        ...(requestBody && { requestBody }),
      },
      { hasLeft },
    );
  }

  #sendMissing(request: IncomingMessage, response: ServerResponse, answer: ReplayResponse): Promise<void> {
    const { uiOrigin, replayOrigin } = this.#origins;
    const url = answer.missing!.url;
    return sendMissing(this.#replayer, request, response, { url, uiOrigin, base: replayOrigin, modifier: 'mp_' });
  }

  /** The address in the archive of a path that an archived page requested; undefined for other requests. */
  #archivedPath(request: IncomingMessage): string | undefined {
    const { referer } = request.headers;
    if (!referer?.startsWith(this.#pageStart)) return undefined;
    const page = parseReplayPath(referer.slice(this.#origins.replayOrigin.length));
    if (page.kind !== 'capture' || !URL.canParse(request.url!, page.url)) return undefined;
    const url = new URL(request.url!, page.url).href;
    const modifier = MODIFIER_BY_DESTINATION[fieldOf(request, 'sec-fetch-dest') ?? ''] ?? 'oe_';
    return replayPath(url, page.time, modifier);
  }
}

function redirectionLoop(urls: readonly string[]): ProblemDetails {
  return {
    status: 508,
    code: 'REDIRECTION_CIRCLE',
    message: 'the archive has only redirections of this page, and they form a loop',
    advice:
      urls.length === 1
        ? 'The page redirects to itself. On the live web, a cookie may end the loop.'
        : urls.length === 2
          ? `The page redirects to ${urls[1]}, which redirects back. On the live web, a cookie may end the loop.`
          : `The page redirects to itself over ${urls.length - 1} other pages. On the live web, a cookie may end the loop.`,
    where: urls[0],
  };
}
