/**
 * The server: two ports on one archive. The first answers the web page, the API, CDX and Memento; the second, an origin
 * of its own, only what archived pages consist of. The command line has a socket of its own, which takes nothing but
 * commands.
 *
 * A bare handler stands in front of all of them. It checks that the request is meant for us, serves the hot paths
 * itself, and leaves /api to Fastify.
 */
import type { IncomingMessage } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { Replayer } from '../replay/index.ts';
import { registerApi } from './api/register-api.ts';
import { CdxRoute } from './cdx/cdx-route.ts';
import { type Answer, entryHandler, type Visit } from './entry-handler.ts';
import { isDisconnect } from './http/client-disconnect.ts';
import { CommandSocket } from './http/command-socket.ts';
import { ConnectionBound } from './http/connection-bound.ts';
import { Guard } from './http/guard.ts';
import { HostCheck } from './http/host-check.ts';
import { ListeningSocket, URL_CHARACTERS_MAX } from './http/listening-socket.ts';
import { addressOf, Origins } from './http/origins.ts';
import { HttpProblem, NOT_FOUND, problemFromError, sendProblem } from './http/problem.ts';
import { Metrics } from './metrics.ts';
import { ReplayRoutes } from './replay/replay-routes.ts';
import type { RunningServer, ServerOptions } from './server-options.ts';
import { UiFiles } from './ui-files.ts';
import { UiRoutes } from './ui-routes.ts';

const BODY_BYTES_MAX = 1024 * 1024;
/** How long replies under way may take after a stop was asked for. */
const STOP_TIMEOUT_MS = 10_000;
/** For how many names what answers is kept at hand. */
const VIEWS_MAX = 16;

type Sockets = { readonly ui: ListeningSocket; readonly replay: ListeningSocket; readonly command?: CommandSocket };

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host, port, replayPort, timeouts, proxies, archive, newId, runCommand } = options;
  const open: { stop(force: AbortSignal): Promise<void> }[] = [];
  const opened = <Socket extends (typeof open)[number]>(socket: Socket): Socket => {
    open.push(socket);
    return socket;
  };
  try {
    const listen = async (at: number) =>
      opened(await ListeningSocket.listen({ host, port: at }, timeouts, new ConnectionBound(proxies)));
    const ui = await listen(port);
    const replay = await listen(replayPort);
    if (!runCommand) return await assemble(options, { ui, replay });
    const command = opened(await CommandSocket.open(archive.directory, newId));
    return await assemble(options, { ui, replay, command });
  } catch (error) {
    const now = AbortSignal.abort();
    await Promise.all(open.map((socket) => socket.stop(now)));
    throw error;
  }
}

async function assemble(options: ServerOptions, { ui, replay, command }: Sockets): Promise<RunningServer> {
  const { archive, token, clock, newId, version, program = 'pinakes', jobKinds, runCommand } = options;
  const origins = new Origins(options, { ui: ui.port, replay: replay.port });
  const { uiOrigin, replayOrigin } = origins.own;
  const hosts = new HostCheck({ host: options.host, origins: [uiOrigin, replayOrigin] });
  const originsFor = (request: IncomingMessage) => origins.for(request.headers.host, hosts);
  const uiFiles = await UiFiles.load(options.uiDirectory);
  const homeFor = (request: IncomingMessage) => (uiFiles.hasScreens ? originsFor(request).uiOrigin : undefined);
  const app = newApp(options, homeFor);
  const { addRoots, uploadBytesMax, stopwatch, isIndexing, onIndexFailure } = options;
  const api = await registerApi(app, {
    archive,
    token,
    clock,
    newId,
    version,
    program,
    uiOrigin,
    originsFor,
    jobKinds,
    runCommand,
    isCommand: (request) => command?.has(request) === true,
    addRoots,
    uploadBytesMax,
    stopwatch,
    isIndexing,
    onIndexFailure,
  });
  await app.ready();
  const metrics = new Metrics(archive, () => api.jobCounts(), version);
  const cdx = new CdxRoute(archive, new Guard(uiOrigin, token));
  const viewUnder = kept((name) => {
    const view = origins.under(name);
    const replayer = new Replayer(archive, view);
    return {
      ui: new UiRoutes({ archive, replayer, app, metrics, uiFiles, cdx, ...view }),
      replay: new ReplayRoutes({ replayer, ...view }),
    };
  });
  const viewFor = ({ request }: Visit) => viewUnder(origins.nameFor(request.headers.host, hosts));
  const parts = { hosts, metrics, options, homeFor };
  ui.answer(entryHandler({ ...parts, socket: 'ui', answer: (visit) => viewFor(visit).ui.answer(visit) }));
  replay.answer(entryHandler({ ...parts, socket: 'replay', answer: (visit) => viewFor(visit).replay.answer(visit) }));
  command?.answer(entryHandler({ ...parts, socket: 'command', answer: (visit) => answerCommand(app, visit) }));

  const stop = async (force: AbortSignal | undefined) => {
    const timeouts = AbortSignal.timeout(STOP_TIMEOUT_MS);
    const end = force ? AbortSignal.any([force, timeouts]) : timeouts;
    await Promise.all([
      api.stop(force ?? new AbortController().signal),
      ui.stop(end),
      replay.stop(end),
      command?.stop(end),
    ]);
    await app.close();
    metrics.close();
  };
  let stopped: Promise<void> | undefined;
  return {
    uiUrl: uiOrigin,
    replayUrl: replayOrigin,
    uiAddress: addressOf(options.host, ui.port),
    replayAddress: addressOf(options.host, replay.port),
    commandPath: command?.path,
    close: ({ force } = {}) => (stopped ??= stop(force)),
  };
}

/** The command socket takes commands and answers nothing else. */
function answerCommand(app: FastifyInstance, { request, response, path }: Visit): Answer {
  if (path !== '/api/commands') throw new HttpProblem(NOT_FOUND);
  return { route: 'api', done: app.routing(request, response) };
}

/** What answers under a name, made once for those that are asked for again. */
function kept<HostView>(make: (name: string) => HostView): (name: string) => HostView {
  const views = new Map<string, HostView>();
  return (name) => {
    const known = views.get(name);
    if (known) return known;
    const view = make(name);
    if (views.size >= VIEWS_MAX) views.delete(views.keys().next().value!);
    views.set(name, view);
    return view;
  };
}

function newApp(options: ServerOptions, homeFor: (request: IncomingMessage) => string | undefined): FastifyInstance {
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const { problem, isFault } = problemFromError(error);
    if (isFault && !isDisconnect(error, reply.raw)) options.onFailure?.(error);
    reply.hijack();
    sendProblem(request.raw, reply.raw, problem, homeFor(request.raw));
  };
  const app = fastify({
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    routerOptions: { maxParamLength: URL_CHARACTERS_MAX },
    // What fails before there is a route, such as a path that cannot be decoded.
    frameworkErrors: fail,
  });
  app.setNotFoundHandler((request, reply) => {
    reply.hijack();
    sendProblem(request.raw, reply.raw, NOT_FOUND, homeFor(request.raw));
  });
  app.setErrorHandler(fail);
  return app;
}
