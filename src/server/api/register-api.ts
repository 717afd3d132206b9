/** Puts the routes of the API on a Fastify application, behind the guard. */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { AUDIT_ACTIONS, type AuditOutcome } from '../audit/audit-entry.ts';
import { type Auditor, whoOf } from '../audit/auditor.ts';
import type { Guard } from '../http/guard.ts';
import { HttpProblem, problemFromError, SERVER_STOPPING } from '../http/problem.ts';
import type { Traces } from '../telemetry/span.ts';
import { Access } from '../tokens/access.ts';
import { RIGHTS } from '../tokens/right.ts';
import type { JobItem } from './job-item.ts';
import { ANSWERED, type ApiRoute, auditedAs, type Noted } from './route.ts';
import { checkFor } from './validation.ts';

/** How the server ends: `stopping` refuses new work, `breakingOff` aborts the calls that are under way. */
export type Ending = { readonly stopping: AbortSignal; readonly breakingOff: AbortSignal };

export type Gate = {
  readonly guard: Guard;
  readonly auditor: Auditor;
  /** Called when the audit log cannot be written. */
  readonly onFailure: ((error: unknown) => void) | undefined;
};

export type ApiParts = { readonly ending: Ending; readonly traces?: Traces | undefined };

export async function registerApi(
  app: FastifyInstance,
  routes: readonly ApiRoute[],
  gate: Gate,
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
    for (const route of routes) if ((route.rawBody !== undefined) === isRaw) addRoute(scope, route, gate, parts);
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
  if (right === 'self') return guard.identify(request);
  if (right !== 'some') return guard.require(request, right, isLimited);
  const access = await guard.identify(request);
  if (access.isAnonymous) return guard.require(request, 'admin');
  return guard.require(request, RIGHTS.find((one) => access.may(one))!, isLimited);
}

function addRoute(scope: FastifyInstance, route: ApiRoute, gate: Gate, { ending, traces }: ApiParts): void {
  const { guard } = gate;
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
      try {
        accesses.set(request.raw, await accessTo(request.raw, right, isLimited, guard));
      } catch (error) {
        await auditRefusal(error, route, request.raw, gate);
        throw error;
      }
    },
    handler: (request, reply) => {
      const handle = () => answer(route, request, reply, accesses.get(request.raw)!, { ...gate, ...ending });
      return traces ? traces.resume(request.raw, handle) : handle();
    },
  });
}

/** A change that was refused to somebody who is known. Refusals to others would let strangers fill the log. */
async function auditRefusal(error: unknown, route: ApiRoute, request: IncomingMessage, gate: Gate): Promise<void> {
  const action = auditedAs(route);
  if (!action || !(error instanceof HttpProblem) || error.problem.status !== 403) return;
  const access = await gate.guard.identify(request).catch(() => undefined);
  if (!access || access.isAnonymous) return;
  const entry = { action, outcome: 'refused', route: routeName(route), code: error.problem.code } as const;
  await gate.auditor.add(whoOf(access), entry, request).catch((failure) => gate.onFailure?.(failure));
}

/** What the log says of a call that began a job. */
function jobFacts(value: unknown): Noted {
  const { id: job, kind, input } = value as JobItem;
  const action = AUDIT_ACTIONS.find((one) => one === kind);
  return { job, kind, input, ...(action && { action }) };
}

function routeName({ method, path }: ApiRoute): string {
  return `${method} ${path}`;
}

async function answer(
  route: ApiRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  access: Access,
  { auditor, onFailure, breakingOff }: Gate & Ending,
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
  const action = auditedAs(route);
  let noted: Noted = {};
  const note = (what: Noted) => {
    noted = { ...noted, ...what };
  };
  // Reading by strangers is not kept: they could fill the log.
  const isStranger = access.isAnonymous && route.right === 'read';
  const isRead = route.method === 'GET' || route.method === 'HEAD';
  const audit = async (outcome: AuditOutcome, code?: string) => {
    if (!action || isStranger) return;
    const { action: as = action, ...what } = noted;
    const facts = { ...(params as object), ...(query as object), ...what };
    const entry = { action: as, outcome, route: routeName(route), what: facts, ...(code !== undefined && { code }) };
    await auditor.add(whoOf(access), entry, request.raw);
  };
  try {
    // What leaves the archive is in the log before it does.
    if (isRead) await audit('begun');
    const value = await route.handle({ params, query, body, access, note, signal: controller.signal, request, reply });
    // What was acknowledged is in the log.
    if (route.reply.status === 202) note(jobFacts(value));
    if (!isRead) await audit(route.reply.status === 202 ? 'begun' : 'done');
    return value === ANSWERED ? reply : value;
  } catch (error) {
    const { status, code } = problemFromError(error).problem;
    await audit(status === 403 ? 'refused' : 'failed', code).catch((failure) => onFailure?.(failure));
    if (controller.signal.aborted && error instanceof Error && error.name === 'AbortError')
      throw new HttpProblem(SERVER_STOPPING);
    throw error;
  }
}
