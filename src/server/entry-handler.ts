/**
 * The handler in front of all routes of one socket: checks that a request is meant for this server, passes it to the
 * part that serves it, measures it, and turns errors into replies.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../base/index.ts';
import { isDisconnect } from './http/client-disconnect.ts';
import { type HostCheck, hasValidHost } from './http/host-check.ts';
import { URL_CHARACTERS_MAX } from './http/listening-socket.ts';
import { type ProblemDetails, problemFromError, sendProblem } from './http/problem.ts';
import type { RateLimit } from './http/rate-limit.ts';
import type { RequestHandler } from './http/request-pipeline.ts';
import type { AccessLine, ServerOptions } from './server-options.ts';
import type { Metrics, RouteName } from './telemetry/metrics.ts';
import type { Traces } from './telemetry/span.ts';

/** A request, its reply, and its target in two parts: `/cdx` and `url=example.org`. */
export type RequestContext = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly search: string;
};

/** The part that serves a request, and its work. When `done` rejects, the error becomes the reply. */
export type Dispatched = { readonly route: RouteName; readonly done: Promise<void> | void };

export type EntryHandlerOptions = {
  readonly socket: AccessLine['socket'];
  readonly dispatch: (context: RequestContext) => Dispatched;
  readonly hosts: HostCheck;
  readonly metrics: Metrics;
  readonly traces: Traces | undefined;
  /** Undefined: clients may send any number of requests. */
  readonly rateLimit: RateLimit | undefined;
  /** The origin of the web interface, for links on error pages; undefined when the server has no web interface. */
  readonly homeFor: (request: IncomingMessage) => string | undefined;
  readonly clock: Clock;
  /** Milliseconds that never go back. */
  readonly stopwatch: () => number;
  readonly onAccess: ServerOptions['onAccess'];
  readonly onFailure: ServerOptions['onFailure'];
};

/** Longer targets are cut in the access log. */
const LOGGED_CHARACTERS_MAX = 2048;

export function entryHandler(options: EntryHandlerOptions): RequestHandler {
  const { socket, dispatch, hosts, metrics, traces, rateLimit, homeFor, clock, stopwatch, onAccess, onFailure } =
    options;
  return (request, response) => {
    const start = stopwatch();
    // When its connection breaks, a request loses its socket before the reply closes.
    const connection = request.socket;
    const written = connection.bytesWritten;
    let route: RouteName = 'refused';
    const span = traces?.request(request);
    response.once('close', () => {
      const milliseconds = stopwatch() - start;
      const bytes = Math.max(0, connection.bytesWritten - written);
      span?.end({ route, status: response.statusCode });
      metrics.count(route, response.statusCode, milliseconds / 1000, bytes);
      onAccess?.(accessLine(request, response, { socket, time: clock(), milliseconds, bytes }));
    });
    const fail = (error: unknown) => {
      const { problem, isFault } = problemFromError(error);
      if (isFault && !isDisconnect(error, response)) onFailure?.(error);
      sendProblem(request, response, problem, homeFor(request));
    };
    const refusal = refusalOf(request, hosts) ?? (isProbe(request) ? undefined : rateLimit?.refusalOf(request));
    if (refusal) {
      sendProblem(request, response, refusal, homeFor(request));
      return;
    }
    const target = request.url!;
    const queryAt = target.indexOf('?');
    const path = queryAt < 0 ? target : target.slice(0, queryAt);
    const search = queryAt < 0 ? '' : target.slice(queryAt + 1);
    try {
      const context = { request, response, path, search };
      const dispatched = span ? span.inside(() => dispatch(context)) : dispatch(context);
      route = dispatched.route;
      if (dispatched.done) dispatched.done.catch(fail);
    } catch (error) {
      fail(error);
    }
  };
}

/** Probes must not depend on what else the address sends. They cost next to nothing. */
function isProbe({ url = '' }: IncomingMessage): boolean {
  return /^\/(?:healthz|readyz)(?:$|\?)/.test(url);
}

function refusalOf(request: IncomingMessage, hosts: HostCheck): ProblemDetails | undefined {
  const target = request.url ?? '';
  if (target.length > URL_CHARACTERS_MAX) {
    const advice = `A URL may have ${URL_CHARACTERS_MAX} characters.`;
    return { status: 414, code: 'URL_TOO_LONG', message: 'the URL is too long', advice };
  }
  if (!hasValidHost(request)) {
    const advice = 'Send one Host field with a name or an address, and optionally a port up to 65535.';
    return { status: 400, code: 'BAD_REQUEST', message: 'the Host field is not valid', advice };
  }
  if (hosts.nameIn(request.headers.host) === undefined) {
    return {
      status: 421,
      code: 'HOST_REFUSED',
      message: 'the name in the Host field is not a name of this server',
      advice: 'Use localhost or the address of the machine, or start the server with --ui-origin and --replay-origin.',
      where: request.headers.host,
    };
  }
  if (target.startsWith('/')) return undefined;
  return {
    status: 400,
    code: 'BAD_REQUEST',
    message: 'the target of the request is not a path',
    advice: 'This server is not a proxy.',
  };
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
    target: loggedTarget(request.url ?? ''),
    protocol: `HTTP/${request.httpVersion}`,
    status: response.statusCode,
    bytes,
    milliseconds,
    socket,
    agent: String(request.headers['user-agent'] ?? '').slice(0, 512),
    referrer: String(request.headers.referer ?? '').slice(0, LOGGED_CHARACTERS_MAX),
  };
}

/** The codes and tickets of sign-ins are in the query of these paths. */
function loggedTarget(target: string): string {
  const shown = target.startsWith('/auth/') ? target.split('?')[0]! : target;
  return shown.slice(0, LOGGED_CHARACTERS_MAX);
}
