/** Puts the routes of the API on a Fastify application, behind the guard. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Guard } from '../http/guard.ts';
import { HttpProblem, SERVER_STOPPING } from '../http/problem.ts';
import { ANSWERED, type ApiRoute } from './route.ts';
import { checkFor } from './validation.ts';

/** `stopping` aborts the calls that are under way. */
export async function registerApi(
  app: FastifyInstance,
  routes: readonly ApiRoute[],
  guard: Guard,
  stopping: AbortSignal,
): Promise<void> {
  const scopeOf = (isRaw: boolean) => async (scope: FastifyInstance) => {
    if (isRaw) {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    }
    scope.setValidatorCompiler<TSchema>(({ schema, httpPart }) => checkFor(schema, httpPart ?? 'body'));
    // Tests compare replies with their schemas. A serializer would silently drop properties that a schema lacks.
    scope.setSerializerCompiler(() => (data) => JSON.stringify(data));
    for (const route of routes) if ((route.rawBody !== undefined) === isRaw) addRoute(scope, route, guard, stopping);
  };
  await app.register(scopeOf(false));
  await app.register(scopeOf(true));
}

function addRoute(scope: FastifyInstance, route: ApiRoute, guard: Guard, stopping: AbortSignal): void {
  const { method, path, params, query, body, needsToken = false, tokenShowsMore = false } = route;
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
    if (controller.signal.aborted && error instanceof Error && error.name === 'AbortError')
      throw new HttpProblem(SERVER_STOPPING);
    throw error;
  }
}
