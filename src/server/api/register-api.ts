/** Puts the routes of the API on a Fastify application, behind the guard. */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Guard } from '../http/guard.ts';
import { HttpProblem, SERVER_STOPPING } from '../http/problem.ts';
import type { Traces } from '../telemetry/span.ts';
import { Access } from '../tokens/access.ts';
import { RIGHTS } from '../tokens/right.ts';
import { ANSWERED, type ApiRoute } from './route.ts';
import { checkFor } from './validation.ts';

/** How the server ends: `stopping` refuses new work, `breakingOff` aborts the calls that are under way. */
export type Ending = { readonly stopping: AbortSignal; readonly breakingOff: AbortSignal };

export type ApiParts = { readonly ending: Ending; readonly traces?: Traces | undefined };

export async function registerApi(
  app: FastifyInstance,
  routes: readonly ApiRoute[],
  guard: Guard,
  parts: ApiParts,
): Promise<void> {
  const scopeOf = (isRaw: boolean) => async (scope: FastifyInstance) => {
    if (isRaw) {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    }
    scope.setValidatorCompiler<TSchema>(({ schema, httpPart }) => checkFor(schema, httpPart ?? 'body'));
    // Tests compare replies with their schemas. A serializer would silently drop properties that a schema lacks.
    scope.setSerializerCompiler(() => (data) => JSON.stringify(data));
    for (const route of routes) if ((route.rawBody !== undefined) === isRaw) addRoute(scope, route, guard, parts);
  };
  await app.register(scopeOf(false));
  await app.register(scopeOf(true));
}

/** What the senders of the requests that are being served may do. */
const accesses = new WeakMap<IncomingMessage, Access>();

async function accessTo(
  request: IncomingMessage,
  right: ApiRoute['right'],
  isLimited: boolean,
  guard: Guard,
): Promise<Access> {
  if (right === 'open') return Access.anonymous([]);
  if (right !== 'some') return guard.require(request, right, isLimited);
  const access = await guard.identify(request);
  if (access.isAnonymous) return guard.require(request, 'admin');
  return guard.require(request, RIGHTS.find((one) => access.may(one))!, isLimited);
}

function addRoute(scope: FastifyInstance, route: ApiRoute, guard: Guard, { ending, traces }: ApiParts): void {
  const { method, path, params, query, body, right, isLimited = false } = route;
  const beginsWork = route.beginsWork ?? (method !== 'GET' && method !== 'HEAD');
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
      if (beginsWork && ending.stopping.aborted) throw new HttpProblem(SERVER_STOPPING);
      accesses.set(request.raw, await accessTo(request.raw, right, isLimited, guard));
    },
    handler: (request, reply) => {
      const handle = () => answer(route, request, reply, accesses.get(request.raw)!, ending.breakingOff);
      return traces ? traces.resume(request.raw, handle) : handle();
    },
  });
}

async function answer(
  route: ApiRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  access: Access,
  breakingOff: AbortSignal,
): Promise<unknown> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  breakingOff.addEventListener('abort', abort);
  if (breakingOff.aborted) abort();
  reply.raw.once('close', () => {
    breakingOff.removeEventListener('abort', abort);
    if (!reply.raw.writableFinished) abort();
  });
  const { params, query, body } = request;
  reply.header('cache-control', 'no-store');
  reply.header('x-content-type-options', 'nosniff');
  reply.code(route.reply.status);
  try {
    const value = await route.handle({ params, query, body, access, signal: controller.signal, request, reply });
    return value === ANSWERED ? reply : value;
  } catch (error) {
    if (controller.signal.aborted && error instanceof Error && error.name === 'AbortError')
      throw new HttpProblem(SERVER_STOPPING);
    throw error;
  }
}
