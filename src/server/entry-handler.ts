/**
 * The handler that stands before everything on one socket: checks that a request is meant for us, finds who answers it,
 * measures it, and turns whatever goes wrong into a reply.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isDisconnect } from './http/client-disconnect.ts';
import { type HostCheck, hasSoundHost } from './http/host-check.ts';
import { URL_CHARACTERS_MAX } from './http/listening-socket.ts';
import { type Problem, problemFromError, sendProblem } from './http/problem.ts';
import type { RequestHandler } from './http/request-turns.ts';
import type { Metrics, RouteName } from './metrics.ts';
import type { AccessLine, ServerOptions } from './server-options.ts';

/** A request with its target parted: `/cdx` and `url=example.org`. */
export type Visit = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly search: string;
};

/** Names the part that answers, and what it does; a promise that rejects becomes a reply that says so. */
export type Answer = { readonly route: RouteName; readonly done: Promise<void> | void };

export type EntryParts = {
  readonly socket: AccessLine['socket'];
  readonly hosts: HostCheck;
  readonly metrics: Metrics;
  readonly options: ServerOptions;
  /** The origin of the web page, for pages about what went wrong to lead to; undefined when it has no screens. */
  readonly homeFor: (request: IncomingMessage) => string | undefined;
  readonly answer: (visit: Visit) => Answer;
};

/** What the access log keeps of a target; the rest of a long one tells nobody anything. */
const LOGGED_CHARACTERS_MAX = 2048;

export function entryHandler({ socket, hosts, metrics, options, homeFor, answer }: EntryParts): RequestHandler {
  const stopwatch = options.stopwatch ?? options.clock;
  const { onAccess } = options;
  return (request, response) => {
    const start = stopwatch();
    // A request that was broken off has no socket any more when its reply closes.
    const connection = request.socket;
    const written = connection.bytesWritten;
    let route: RouteName = 'refused';
    response.once('close', () => {
      const milliseconds = stopwatch() - start;
      const bytes = Math.max(0, connection.bytesWritten - written);
      metrics.count(route, response.statusCode, milliseconds / 1000, bytes);
      onAccess?.(accessLine(request, response, { socket, time: options.clock(), milliseconds, bytes }));
    });
    const fail = (error: unknown) => {
      const { problem, isFault } = problemFromError(error);
      if (isFault && !isDisconnect(error, response)) options.onFailure?.(error);
      sendProblem(request, response, problem, homeFor(request));
    };
    const refusal = refusalOf(request, hosts);
    if (refusal) {
      sendProblem(request, response, refusal, homeFor(request));
      return;
    }
    const target = request.url!;
    const mark = target.indexOf('?');
    const path = mark < 0 ? target : target.slice(0, mark);
    const search = mark < 0 ? '' : target.slice(mark + 1);
    try {
      const answered = answer({ request, response, path, search });
      route = answered.route;
      if (answered.done) answered.done.catch(fail);
    } catch (error) {
      fail(error);
    }
  };
}

function refusalOf(request: IncomingMessage, hosts: HostCheck): Problem | undefined {
  const target = request.url ?? '';
  if (target.length > URL_CHARACTERS_MAX) {
    const advice = `A URL may have ${URL_CHARACTERS_MAX} characters.`;
    return { status: 414, code: 'URL_TOO_LONG', message: 'the URL is too long', advice };
  }
  if (!hasSoundHost(request)) {
    const advice = 'Send one Host field, with a name or an address and perhaps a port up to 65535.';
    return { status: 400, code: 'BAD_REQUEST', message: 'the Host field is not valid', advice };
  }
  if (hosts.nameIn(request.headers.host) === undefined) {
    return {
      status: 421,
      code: 'HOST_REFUSED',
      message: 'this server does not go by the name in the Host field',
      advice: 'Use localhost or the address of the machine, or start the server with --ui-origin and --replay-origin.',
      where: request.headers.host,
    };
  }
  if (target.startsWith('/')) return undefined;
  return { status: 400, code: 'BAD_REQUEST', message: 'this is no path', advice: 'This server is no proxy.' };
}

function accessLine(
  request: IncomingMessage,
  response: ServerResponse,
  { socket, time, milliseconds, bytes }: Pick<AccessLine, 'socket' | 'time' | 'milliseconds' | 'bytes'>,
): AccessLine {
  return {
    time,
    address: request.socket?.remoteAddress ?? '-',
    method: request.method ?? '-',
    target: (request.url ?? '').slice(0, LOGGED_CHARACTERS_MAX),
    protocol: `HTTP/${request.httpVersion}`,
    status: response.statusCode,
    bytes,
    milliseconds,
    socket,
    agent: String(request.headers['user-agent'] ?? '').slice(0, 512),
    referrer: String(request.headers.referer ?? '').slice(0, LOGGED_CHARACTERS_MAX),
  };
}
