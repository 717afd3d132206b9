/**
 * `/web/` on the UI socket, for people and Memento clients: screens of the web interface for browsers, TimeGates,
 * TimeMaps, and redirects to the mementos, which are on the replay socket. Stored bytes (`id_`) are also sent here, but
 * to programs only, because many programs know only one address and do not follow redirects. Browsers get archived
 * bytes from the replay socket only.
 *
 *     /web/<url>                      TimeGate: redirects to the memento nearest to Accept-Datetime, or to the latest
 *     /web/<time><modifier>/<url>     browsers get the frame page, programs a redirect to the memento or `id_` bytes
 *     /web/<part of a time>/<url>     redirects to the first capture of that year, month or day, or to the nearest
 *     /web/STAR/<url>[STAR]           screens: the captures of a URL, or the URLs below a prefix
 *     /web/timemap/<format>/<url>     TimeMap
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Archive } from '../../archive/index.ts';
import { type EpochMs, formatTimestamp } from '../../base/index.ts';
import type { Capture } from '../../catalog/index.ts';
import {
  linkTarget,
  mementoLink,
  mementoUri,
  parseReplayPath,
  type Replayer,
  type ReplayOrigins,
  type ReplayPath,
  replayPath,
  resourceLinks,
} from '../../replay/index.ts';
import type { RequestContext } from '../entry-handler.ts';
import { parseAcceptDatetime } from '../http/accept-datetime.ts';
import { badRequest, HttpProblem, isForWindow, requireReading, SCREENS_MISSING } from '../http/problem.ts';
import { endReply } from '../http/reply-end.ts';
import type { UiFiles } from '../ui-files.ts';
import { firstMemento, nearestMemento } from './mementos.ts';
import { sendMissing } from './missing-capture.ts';
import { fieldOf, sendReplay } from './replay-reply.ts';
import { parseTimeMapPage, timeMapOf } from './time-map.ts';

export type WebRoutesOptions = {
  readonly archive: Archive;
  readonly replayer: Replayer;
  readonly uiFiles: UiFiles;
  readonly origins: ReplayOrigins;
};

export class WebRoutes {
  readonly #options: WebRoutesOptions;

  constructor(options: WebRoutesOptions) {
    this.#options = options;
  }

  async answer(context: RequestContext): Promise<void> {
    const { request } = context;
    requireReading(request);
    const page = parseTimeMapPage(request.url!);
    const parsed = parseReplayPath(page?.path ?? request.url!);
    switch (parsed.kind) {
      case 'bad':
        throw badRequest(parsed.problem, 'Use an address like /web/20240301120000/http://example.org/.');
      case 'query':
        return this.#sendScreen(context);
      case 'timemap':
        return this.#sendTimeMap(context, { ...parsed, from: page?.from });
      case 'timegate':
        return this.#negotiate(context, parsed.url, parsed.modifier);
      case 'capture':
        return this.#sendOrRedirect(context, parsed);
    }
  }

  #sendMissing(
    request: IncomingMessage,
    response: ServerResponse,
    url: string,
    fields: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const { replayer, origins } = this.#options;
    const { uiOrigin } = origins;
    return sendMissing(replayer, request, response, { url, uiOrigin, base: uiOrigin, modifier: '', fields });
  }

  #sendScreen({ request, response }: RequestContext): void {
    const { uiFiles, origins } = this.#options;
    if (!uiFiles.hasScreens) throw new HttpProblem(SCREENS_MISSING);
    uiFiles.sendScreen(request, response, origins.replayOrigin);
  }

  async #sendTimeMap(
    { request, response }: RequestContext,
    wanted: { format: string; url: string; from: EpochMs | undefined },
  ): Promise<void> {
    const { archive, origins } = this.#options;
    const map = await timeMapOf(archive, origins, wanted);
    if (!map) return this.#sendMissing(request, response, wanted.url);
    const body = Buffer.from(map.text);
    response.writeHead(200, {
      'cache-control': 'no-cache',
      'content-length': body.length,
      'content-type': map.contentType,
      'x-content-type-options': 'nosniff',
    });
    endReply(response, body);
  }

  /** The TimeGate (RFC 7089, section 4.1.1): always redirects, and always sends Vary. */
  async #negotiate({ request, response }: RequestContext, url: string, modifier: string): Promise<void> {
    const { archive, origins } = this.#options;
    const field = request.headers['accept-datetime'];
    const at = field === undefined ? undefined : parseAcceptDatetime(String(field));
    if (field !== undefined && at === undefined) {
      throw new HttpProblem({
        status: 400,
        code: 'BAD_DATETIME',
        message: 'the Accept-Datetime field is not a date',
        advice: 'Write it like `Accept-Datetime: Fri, 01 Mar 2024 10:00:00 GMT`.',
        where: String(field).slice(0, 100),
        fields: { vary: 'accept-datetime', link: resourceLinks(origins, url).join(', ') },
      });
    }
    const found = await nearestMemento(archive, url, at);
    const vary = { vary: 'accept-datetime, sec-fetch-dest, upgrade-insecure-requests' };
    if (!found) return this.#sendMissing(request, response, url, vary);
    const [first, last] = await Promise.all([
      firstMemento(archive, url),
      firstMemento(archive, url, { reverse: true }),
    ]);
    const isBrowser = isForWindow(request) && at === undefined && modifier === '';
    const target = linkTarget(found.url);
    const location = isBrowser
      ? origins.uiOrigin + replayPath(target, found.time, '')
      : modifier === '' || modifier === 'mp_'
        ? mementoUri(origins, found)
        : `${origins.replayOrigin}/web/${formatTimestamp(found.time)}${modifier}/${target}`;
    response.writeHead(302, {
      ...vary,
      'cache-control': 'no-cache',
      'content-length': 0,
      link: this.#links(url, found, first, last),
      location,
    });
    response.end();
  }

  async #sendRaw(
    { request, response }: Pick<RequestContext, 'request' | 'response'>,
    url: string,
    at: EpochMs,
  ): Promise<void> {
    const answer = await this.#options.replayer.respond(
      {
        url,
        at,
        isFromPage: false,
        modifier: 'id_',
        method: request.method!,
        fields: (name) => fieldOf(request, name),
      },
      { hasLeft: () => response.destroyed },
    );
    await sendReplay(response, answer);
  }

  #links(url: string, found: Capture, first: Capture | undefined, last: Capture | undefined): string {
    const { origins } = this.#options;
    const relations = new Map<string, { capture: Capture; names: string[] }>();
    for (const [name, capture] of [
      ['first', first],
      ['', found],
      ['last', last],
    ] as const) {
      if (!capture) continue;
      const uri = mementoUri(origins, capture);
      const known = relations.get(uri) ?? { capture, names: [] };
      if (name !== '') known.names.push(name);
      relations.set(uri, known);
    }
    const mementos = [...relations.values()].map(({ capture, names }) => {
      return mementoLink(origins, capture, [...names, 'memento'].join(' '));
    });
    return [...resourceLinks(origins, url), ...mementos].join(', ');
  }

  /** One capture: browsers get the page with the frame, others are redirected to the memento. */
  async #sendOrRedirect(
    { request, response }: RequestContext,
    { url, time, timeEnd, timestamp, modifier }: ReplayPath & { kind: 'capture' },
  ): Promise<void> {
    const { archive, origins, uiFiles } = this.#options;
    const { uiOrigin, replayOrigin } = origins;
    const isSpan = timestamp.length >= 4 && timestamp.length < 14;
    const within = isSpan ? await firstMemento(archive, url, { from: time, to: timeEnd }) : undefined;
    const found = within ?? (await nearestMemento(archive, url, time));
    if (!found) return this.#sendMissing(request, response, url);
    const isFrame = isForWindow(request) && (modifier === '' || modifier === 'if_');
    // The replay socket redirects browser windows here for the frame. Redirecting them back would never end.
    if (isFrame && !uiFiles.hasScreens) throw new HttpProblem(SCREENS_MISSING);
    if (isFrame && timestamp.length >= 14) {
      uiFiles.sendScreen(request, response, replayOrigin);
      return;
    }
    const isRaw = modifier === 'id_' && !isFromBrowser(request);
    if (isRaw && timestamp.length >= 14) return this.#sendRaw({ request, response }, url, time);
    const target = linkTarget(url);
    const exact = timestamp.length < 14 ? formatTimestamp(found.time) : timestamp;
    const location = isFrame
      ? `${uiOrigin}/web/${exact}${modifier}/${target}`
      : `${isRaw ? uiOrigin : replayOrigin}/web/${exact}${modifier === '' ? 'mp_' : modifier}/${target}`;
    response.writeHead(timestamp.length < 14 ? 302 : 307, {
      'cache-control': 'no-cache',
      'content-length': 0,
      location,
      vary: 'sec-fetch-dest, upgrade-insecure-requests',
    });
    response.end();
  }
}

/** Over plain HTTP, browsers send no Sec-Fetch fields, but requests from archived pages have a Referer. */
function isFromBrowser(request: IncomingMessage): boolean {
  const { referer, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination, 'service-worker': worker } = request.headers;
  return isForWindow(request) || [referer, mode, destination, worker].some((field) => field !== undefined);
}
