/**
 * The HTTP API under /api: puts the table of routes on an application, behind the guard, and starts what runs behind
 * the routes.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { Guard } from '../http/guard.ts';
import { HttpProblem } from '../http/problem.ts';
import type { ApiHandle, ApiParts } from '../server-options.ts';
import { openApiTools } from './api-tools.ts';
import { ANSWERED, type ApiRoute } from './route.ts';
import { apiRoutes } from './route-table.ts';
import { checkFor } from './validation.ts';

/** Puts the routes of the API on an application. */
export async function registerApi(app: FastifyInstance, parts: ApiParts): Promise<ApiHandle> {
  const tools = await openApiTools(parts);
  const guard = new Guard(parts.uiOrigin, parts.token);
  const routes = apiRoutes(tools);
  const scopeOf = (isRaw: boolean) => async (scope: FastifyInstance) => {
    if (isRaw) {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    }
    scope.setValidatorCompiler<TSchema>(({ schema, httpPart }) => checkFor(schema, httpPart ?? 'body'));
    // Replies are held to their schemas by tests; a serializer would drop silently what it does not know.
    scope.setSerializerCompiler(() => (data) => JSON.stringify(data));
    for (const route of routes)
      if ((route.rawBody !== undefined) === isRaw) addRoute(scope, route, guard, tools.stopping);
  };
  await app.register(scopeOf(false));
  await app.register(scopeOf(true));
  return { jobCounts: () => tools.jobs.counts(), stop: (force) => tools.stop(force) };
}

function addRoute(scope: FastifyInstance, route: ApiRoute, guard: Guard, stopping: AbortSignal): void {
  const { method, path, params, query, body, needsToken, tokenShowsMore } = route;
  scope.route({
    method,
    url: path,
    schema: {
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(body && { body }),
    },
    onRequest: async (request) => {
      guard.checkOrigin(request.raw);
      if (needsToken) await guard.checkToken(request.raw);
    },
    handler: async (request, reply) => {
      const hasToken = needsToken || (tokenShowsMore && (await guard.hasToken(request.raw)));
      return answer(route, request, reply, hasToken, stopping);
    },
  });
}

async function answer(
  route: ApiRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  hasToken: boolean,
  stopping: AbortSignal,
): Promise<unknown> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  stopping.addEventListener('abort', abort);
  if (stopping.aborted) abort();
  reply.raw.once('close', () => {
    stopping.removeEventListener('abort', abort);
    if (!reply.raw.writableFinished) abort();
  });
  const { params, query, body } = request;
  reply.header('cache-control', 'no-store');
  reply.header('x-content-type-options', 'nosniff');
  reply.code(route.reply.status);
  try {
    const value = await route.handle({ params, query, body, hasToken, signal: controller.signal, request, reply });
    return value === ANSWERED ? reply : value;
  } catch (error) {
    if (controller.signal.aborted && error instanceof Error && error.name === 'AbortError') throw BROKEN_OFF;
    throw error;
  }
}

/** For a client that still listens when the server stops; one that left hears nothing. */
const BROKEN_OFF = new HttpProblem({
  status: 503,
  code: 'SERVER_STOPPING',
  message: 'the server is stopping',
  advice: 'Start it again, then send this again.',
});
