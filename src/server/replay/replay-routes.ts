/**
 * The second socket: what archived pages consist of, and the scripts that keep them inside the archive. Nothing else is
 * here, so that an archived script, which runs in this origin, finds nothing to reach for.
 *
 * A path that is neither was made by a script out of a path of its own site, `/images/a.png`. The page that asks says
 * which site that is.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  ASSET_POLICY,
  type Modifier,
  parseReplayPath,
  type Replayer,
  type ReplayPath,
  type ReplayResponse,
  replayAssets,
  replayPath,
  STATIC_ROOT,
} from '../../replay/index.ts';
import type { Answer, Visit } from '../entry-handler.ts';
import { badRequest, HttpProblem, methodRefused, NOT_FOUND, type Problem } from '../http/problem.ts';
import { endReply } from '../http/reply-end.ts';
import { readBody } from '../http/request-body.ts';
import { sendMissing } from './missing-capture.ts';
import { fieldOf, sendReplay } from './replay-reply.ts';

export type ReplayParts = {
  readonly replayer: Replayer;
  readonly uiOrigin: string;
  readonly replayOrigin: string;
};

/** What a form or a script of an archived page may send, to be found again by it. */
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

type Asked = Extract<ReplayPath, { kind: 'capture' | 'timegate' }>;

export class ReplayRoutes {
  readonly #parts: ReplayParts;
  readonly #pageStart: string;
  readonly #assets = replayAssets();

  constructor(parts: ReplayParts) {
    this.#parts = parts;
    this.#pageStart = `${parts.replayOrigin}/web/`;
  }

  answer(visit: Visit): Answer {
    return { route: 'replay', done: this.#route(visit) };
  }

  async #route(visit: Visit): Promise<void> {
    const { request, response, path } = visit;
    if (path.startsWith('/web/')) return this.#replay(visit);
    if (path.startsWith(STATIC_ROOT)) return this.#sendAsset(request, response, path.slice(STATIC_ROOT.length));
    if (this.#leadInside(visit)) return;
    throw new HttpProblem({ ...NOT_FOUND, advice: `The web page is at ${this.#parts.uiOrigin}/.` });
  }

  #sendAsset(request: IncomingMessage, response: ServerResponse, name: string): void {
    const asset = this.#assets.get(name);
    if (!asset) throw new HttpProblem(NOT_FOUND);
    if (request.method !== 'GET' && request.method !== 'HEAD') throw methodRefused('GET, HEAD');
    // Under this path a worker could rule only this path, and a service worker not even that.
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

  #leadInside({ request, response }: Visit): boolean {
    const inside = this.#insideOf(request);
    if (inside === undefined) return false;
    const fields = { location: inside, 'cache-control': 'no-store', vary: 'referer', 'content-length': 0 };
    response.writeHead(307, fields).end();
    return true;
  }

  async #replay(visit: Visit): Promise<void> {
    const { request, response } = visit;
    const asked = parseReplayPath(request.url!);
    // Rewriting always writes a time or a modifier; without them it is a folder of the page's own site that is called
    // so too.
    const isOurs = asked.kind === 'capture' || (asked.kind === 'timegate' && asked.modifier !== '');
    if (!isOurs && this.#leadInside(visit)) return;
    if (asked.kind === 'bad')
      throw badRequest(asked.problem, 'An address looks like /web/20240301120000mp_/http://example.org/.');
    const isForUi =
      asked.kind === 'query' || asked.kind === 'timemap' || (asked.kind === 'timegate' && asked.modifier === '');
    if (isForUi) {
      response.writeHead(307, { location: this.#parts.uiOrigin + request.url!, 'content-length': 0 }).end();
      return;
    }
    const method = request.method ?? 'GET';
    if (!METHODS.has(method)) throw methodRefused([...METHODS].join(', '));
    const answer = await this.#respond(request, asked as Asked, method, () => response.destroyed);
    if (answer.circle) throw new HttpProblem(circleOf(answer.circle));
    if (answer.missing) await this.#sendMissing(request, response, answer);
    else await sendReplay(response, answer);
  }

  async #respond(
    request: IncomingMessage,
    asked: Asked,
    method: string,
    hasLeft: () => boolean,
  ): Promise<ReplayResponse> {
    const hasBody = method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';
    const requestBody = hasBody ? await readBody(request, REQUEST_BYTES_MAX) : undefined;
    return this.#parts.replayer.respond(
      {
        url: asked.url,
        at: asked.kind === 'capture' ? asked.time : undefined,
        isFromPage: request.headers.referer?.startsWith(this.#pageStart) === true,
        modifier: asked.modifier,
        method,
        fields: (name) => fieldOf(request, name),
        ...(requestBody && { requestBody }),
      },
      { hasLeft },
    );
  }

  #sendMissing(request: IncomingMessage, response: ServerResponse, answer: ReplayResponse): Promise<void> {
    const { replayer, uiOrigin, replayOrigin } = this.#parts;
    const url = answer.missing!.url;
    return sendMissing(replayer, request, response, { url, uiOrigin, base: replayOrigin, modifier: 'mp_' });
  }

  /** Where in the archive a path belongs that a page of a replayed site asks for; undefined when no such page asks. */
  #insideOf(request: IncomingMessage): string | undefined {
    const { referer } = request.headers;
    if (!referer?.startsWith(this.#pageStart)) return undefined;
    const page = parseReplayPath(referer.slice(this.#parts.replayOrigin.length));
    if (page.kind !== 'capture' || !URL.canParse(request.url!, page.url)) return undefined;
    const url = new URL(request.url!, page.url).href;
    const modifier = MODIFIER_BY_DESTINATION[fieldOf(request, 'sec-fetch-dest') ?? ''] ?? 'oe_';
    return replayPath(url, page.time, modifier);
  }
}

function circleOf(urls: readonly string[]): Problem {
  return {
    status: 508,
    code: 'REDIRECTION_CIRCLE',
    message: 'all that the archive has of this page are redirections that lead in a circle',
    advice:
      urls.length === 1
        ? 'It leads to itself. On the web a cookie may have opened the way.'
        : urls.length === 2
          ? `It leads to ${urls[1]} and from there back here. On the web a cookie may have opened the way.`
          : `It leads by way of ${urls.length - 1} others back here. On the web a cookie may have opened the way.`,
    where: urls[0],
  };
}
