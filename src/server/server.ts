/**
 * The server: two ports on one archive. The first serves the web interface, the API, CDX and Memento. The second has an
 * origin of its own, and serves only archived pages and their resources. The command line has a socket of its own,
 * which takes commands only.
 *
 * Every request first passes the entry handler of its socket. Frequent requests are then served directly; requests
 * under /api go to Fastify.
 */
import type { IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { whenAborted } from '../base/index.ts';
import { Replayer } from '../replay/index.ts';
import { type ApiServices, openApiServices } from './api/api-services.ts';
import { registerApi } from './api/register-api.ts';
import { apiRoutes } from './api/route-table.ts';
import { CdxRoute } from './cdx/cdx-route.ts';
import { type Dispatched, entryHandler, type RequestContext } from './entry-handler.ts';
import { ClientAddress } from './http/client-address.ts';
import { isDisconnect } from './http/client-disconnect.ts';
import { CommandSocket } from './http/command-socket.ts';
import { ConnectionLimit } from './http/connection-limit.ts';
import { Guard } from './http/guard.ts';
import { HostCheck } from './http/host-check.ts';
import { ListeningSocket, URL_CHARACTERS_MAX } from './http/listening-socket.ts';
import { addressOf, Origins } from './http/origins.ts';
import { HttpProblem, NOT_FOUND, problemFromError, sendProblem } from './http/problem.ts';
import { listenForProxy } from './http/proxy-socket.ts';
import { RateLimit } from './http/rate-limit.ts';
import { checkSignIn } from './people/sign-in-options.ts';
import { SignInRoutes } from './people/sign-in-routes.ts';
import { Readiness } from './readiness.ts';
import { ReplayRoutes } from './replay/replay-routes.ts';
import { WebRoutes } from './replay/web-routes.ts';
import type { AccessLine, RunningServer, ServerOptions } from './server-options.ts';
import { Metrics } from './telemetry/metrics.ts';
import { Telemetry } from './telemetry/telemetry.ts';
import type { Access } from './tokens/access.ts';
import { UiFiles } from './ui-files.ts';
import { UiRoutes } from './ui-routes.ts';

const BODY_BYTES_MAX = 1024 * 1024;
/** How long requests and jobs under way may take after the server was asked to stop. */
const LEAVE_MS = 30_000;
/** Routes are kept for this many host names. */
const HOST_NAMES_MAX = 16;

type Sockets = { readonly ui: ListeningSocket; readonly replay: ListeningSocket; readonly command?: CommandSocket };

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host, port, replayPort, timeouts, archive, newId, runCommand, signIn, socketPaths } = options;
  if (signIn) checkSignIn(signIn, { ...options, isOnUnixSockets: socketPaths !== undefined });
  const open: { stop(force: AbortSignal): Promise<void> }[] = [];
  const opened = <Socket extends (typeof open)[number]>(socket: Socket): Socket => {
    open.push(socket);
    return socket;
  };
  try {
    const listen = async (at: number, path?: string) => {
      const settings = { timeouts, limit: newConnectionLimit(options) };
      if (path !== undefined) return opened(await listenForProxy(path, settings));
      return opened(await ListeningSocket.listen({ host, port: at }, settings));
    };
    const ui = await listen(port, socketPaths?.ui);
    const replay = await listen(replayPort, socketPaths?.replay);
    if (!runCommand) return await assemble(options, { ui, replay });
    const command = opened(await CommandSocket.open(archive.directory, newId));
    return await assemble(options, { ui, replay, command });
  } catch (error) {
    const now = AbortSignal.abort();
    await Promise.all(open.map((socket) => socket.stop(now)));
    throw error;
  }
}

function newConnectionLimit({ proxies, connections = {} }: ServerOptions): ConnectionLimit {
  return new ConnectionLimit(proxies, connections.perAddressMax, connections.inAllMax);
}

async function assemble(options: ServerOptions, { ui, replay, command }: Sockets): Promise<RunningServer> {
  const { archive, token, clock, version, program = 'pinakes', stopwatch = clock, onAccess, onFailure } = options;
  const hasOwnReplayHost = options.signIn?.kind === 'oidc';
  const origins = new Origins({ ...options, hasOwnReplayHost }, { ui: ui.port, replay: replay.port });
  const { uiOrigin, replayOrigin } = origins.own;
  const hosts = new HostCheck({ host: options.host, origins: [uiOrigin, replayOrigin] });
  const originsFor = (request: IncomingMessage) => origins.for(request.headers.host, hosts);
  const uiFiles = await UiFiles.load(options.uiDirectory);
  const homeFor = (request: IncomingMessage) => (uiFiles.hasScreens ? originsFor(request).uiOrigin : undefined);
  const server = `${hostname()}:${ui.path ?? ui.port}`;
  const services = await openApiServices(options, server, origins.own);
  const { tokens, people } = services;
  const isPrivate = options.isPrivate ?? false;
  const rateLimit = options.rate && new RateLimit(options.rate, stopwatch, new ClientAddress(options.proxies));
  const onKnown = (request: IncomingMessage, { actor }: Access) => rateLimit?.know(request, actor);
  const guardOptions = { uiOrigin, token, tokens, clock, onKnown, isPrivate, hasSignIn: options.signIn !== undefined };
  const guard = new Guard({ ...guardOptions, identifyPerson: (request) => people.identify(request) });
  const replayGuard = new Guard({ ...guardOptions, identifyPerson: (request) => people.identifyReader(request) });
  const signIn = signInRoutes(services, guard, uiOrigin, onFailure);
  const facts = {
    version,
    program,
    isPrivate,
    signIn: options.signIn,
    replayOriginFor: (request: IncomingMessage) => originsFor(request).replayOrigin,
  };
  const routes = apiRoutes(services, facts, (request) => command?.has(request) === true);
  const app = newApp(homeFor, onFailure);
  const { telemetry = new Telemetry(stopwatch) } = options;
  const { traces } = telemetry;
  const gate = { guard, auditor: services.auditor, onFailure };
  await registerApi(app, routes, gate, { ending: services, traces });
  await app.ready();
  const readiness = new Readiness(archive, stopwatch);
  const metrics = new Metrics(telemetry.registry, archive, () => services.jobs.queue.counts(), version);
  const cdx = new CdxRoute(archive, guard);
  const routesUnder = cachedByName((name) => {
    const named = origins.under(name);
    const replayer = new Replayer(archive, named);
    const web = new WebRoutes({ archive, replayer, uiFiles, origins: named });
    return {
      ui: new UiRoutes({ archive, app, cdx, web, metrics, readiness, uiFiles, guard, signIn, origins: named }),
      replay: new ReplayRoutes(replayer, named, replayGuard, people),
    };
  });
  const routesFor = ({ request }: RequestContext) => routesUnder(origins.nameFor(request.headers.host, hosts));
  const handlerFor = (socket: AccessLine['socket'], dispatch: (context: RequestContext) => Dispatched) =>
    entryHandler({
      socket,
      dispatch,
      rateLimit,
      hosts,
      metrics,
      traces,
      homeFor,
      clock,
      stopwatch,
      onAccess,
      onFailure,
    });
  ui.handleWith(handlerFor('ui', (context) => routesFor(context).ui.dispatch(context)));
  replay.handleWith(handlerFor('replay', (context) => routesFor(context).replay.dispatch(context)));
  command?.handleWith(handlerFor('command', (context) => dispatchCommand(app, context)));

  const sockets = [ui, replay, ...(command ? [command] : [])];
  const stop = async (force: AbortSignal | undefined) => {
    const timeout = AbortSignal.timeout(options.leaveMs ?? LEAVE_MS);
    const end = force ? AbortSignal.any([force, timeout]) : timeout;
    // The sockets still listen: others learn here that the server leaves, and read until then.
    readiness.leave();
    const leaving = Promise.all([services.leave(end), ...sockets.map((socket) => socket.leave())]);
    const ended = new Promise<void>((resolve) => whenAborted(end, resolve));
    await Promise.race([leaving, ended]);
    await Promise.all(sockets.map((socket) => socket.stop(end)));
    await services.stop(end);
    await app.close();
    await telemetry.close();
    metrics.close();
  };
  let stopped: Promise<void> | undefined;
  return {
    uiUrl: uiOrigin,
    replayUrl: replayOrigin,
    uiAddress: ui.path ?? addressOf(options.host, ui.port),
    replayAddress: replay.path ?? addressOf(options.host, replay.port),
    commandPath: command?.path,
    close: ({ force } = {}) => (stopped ??= stop(force)),
  };
}

function signInRoutes(
  { provider, people, sessions, auditor, archive }: ApiServices,
  guard: Guard,
  uiOrigin: string,
  onFailure: ServerOptions['onFailure'],
): SignInRoutes {
  const { clock } = archive;
  return new SignInRoutes({
    ...{ provider, people, sessions, guard, uiOrigin, clock, onFailure },
    onEvent: ({ action, outcome, name, id, role, reason }, request) => {
      const kind = name === '' ? 'anonymous' : 'person';
      const who = { kind, name, ...(id !== undefined && { id }), ...(role !== undefined && { role }) } as const;
      return auditor.add(who, { action, outcome, what: { reason } }, request);
    },
  });
}

function dispatchCommand(app: FastifyInstance, { request, response, path }: RequestContext): Dispatched {
  if (path !== '/api/commands') throw new HttpProblem(NOT_FOUND);
  return { route: 'api', done: app.routing(request, response) };
}

/** Keeps what `make` returned for the last few host names. */
function cachedByName<Routes>(make: (name: string) => Routes): (name: string) => Routes {
  const cache = new Map<string, Routes>();
  return (name) => {
    const cached = cache.get(name);
    if (cached) return cached;
    const made = make(name);
    if (cache.size >= HOST_NAMES_MAX) cache.delete(cache.keys().next().value!);
    cache.set(name, made);
    return made;
  };
}

function newApp(
  homeFor: (request: IncomingMessage) => string | undefined,
  onFailure: ServerOptions['onFailure'],
): FastifyInstance {
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const { problem, isFault } = problemFromError(error);
    if (isFault && !isDisconnect(error, reply.raw)) onFailure?.(error);
    reply.hijack();
    sendProblem(request.raw, reply.raw, problem, homeFor(request.raw));
  };
  const app = fastify({
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    routerOptions: { maxParamLength: URL_CHARACTERS_MAX },
    // Called when a request fails before a route is found, for example because its path cannot be decoded.
    frameworkErrors: fail,
  });
  app.setNotFoundHandler((request, reply) => {
    reply.hijack();
    sendProblem(request.raw, reply.raw, NOT_FOUND, homeFor(request.raw));
  });
  app.setErrorHandler(fail);
  return app;
}
