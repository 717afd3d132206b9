/**
 * A route of the API: one row of a table. The server uses the table to register the routes, to check requests, and to
 * generate the OpenAPI document. There are no other routes under /api.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import type { AuditAction } from '../audit/audit-entry.ts';
import type { Access } from '../tokens/access.ts';
import type { Right } from '../tokens/right.ts';

/** The reply of a successful call: JSON of a schema, or bytes of a media type. */
export type ReplyShape =
  | { readonly status: 200 | 201 | 202; readonly schema: TSchema; readonly description: string }
  | { readonly status: 200; readonly mime: string; readonly description: string };

type RouteFacts = {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /** In the form of Fastify: `/api/captures/:id`. A `*` at the end is the parameter `name`, which may have slashes. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** The schema of the body in the document, when it is more precise than the schema for checking. */
  readonly bodyInDocument?: TSchema;
  /** The body of a request that the handler reads as a stream of bytes. */
  readonly rawBody?: { readonly mime: string; readonly description: string };
  readonly reply: ReplyShape;
  /** Statuses of the errors that a call may return, in addition to the statuses of every route. */
  readonly problems?: readonly number[];
  /**
   * The right that the route needs. `open`: none, even on a private server. `self`: none, and the handler is told who
   * asks. `some`: a token or a sign-in is needed, and the handler decides by what is asked for.
   */
  readonly right: Right | 'open' | 'self' | 'some';
  /**
   * How a call is named in the audit log; `none` for calls that change nothing, or whose changes another call
   * completes. The log has every other call that is not GET and needs a right beyond `read`.
   */
  readonly audit?: AuditAction | 'none';
  /**
   * Whether the handler limits itself to the collections of a token that is for some only. Other routes refuse such a
   * token, since they would show more.
   */
  readonly isLimited?: boolean;
  /**
   * Whether a server that is leaving refuses the call. Default: true unless it is a GET or HEAD. Reading goes on until
   * the server has left.
   */
  readonly beginsWork?: boolean;
  /** Clients get more with a token that has the right `admin`. */
  readonly tokenShowsMore?: boolean;
};

/** Whether a route is refused without a token, even where everybody may read. */
export function needsToken({ right }: Pick<ApiRoute, 'right'>): boolean {
  return right !== 'read' && right !== 'open' && right !== 'self';
}

/** Whether and how the audit log has the calls of a route. */
export function auditedAs({ audit, right, method }: RouteFacts): AuditAction | undefined {
  if (audit !== undefined) return audit === 'none' ? undefined : audit;
  const isHarmless = method === 'GET' || method === 'HEAD' || right === 'read' || right === 'open' || right === 'self';
  return isHarmless ? undefined : 'job';
}

export type ApiRoute = RouteFacts & {
  readonly params?: TObject;
  readonly query?: TObject;
  readonly body?: TSchema;
  readonly handle: (call: Call<unknown, unknown, unknown>) => Promise<unknown>;
};

export type Call<P, Q, B> = {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly access: Access;
  /** Adds to what the audit log says of this call. */
  readonly note: (what: Noted) => void;
  /** Aborted when the client disconnects before the reply is complete, and when the server stops. */
  readonly signal: AbortSignal;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
};

/** Facts for the audit log. `action` is that of the call, when the route stands for several. */
export type Noted = Readonly<Record<string, unknown>> & { readonly action?: AuditAction };

type NoObject = TObject<Record<never, never>>;

type Definition<P extends TObject, Q extends TObject, B extends TSchema> = RouteFacts & {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly handle: (call: Call<Static<P>, Static<Q>, Static<B>>) => Promise<unknown>;
};

/** A row of the table. The handler gets values with the types of the schemas. */
export function route<P extends TObject = NoObject, Q extends TObject = NoObject, B extends TSchema = TSchema>(
  definition: Definition<P, Q, B>,
): ApiRoute {
  return { ...definition, handle: definition.handle as ApiRoute['handle'] };
}

/** Returned by a handler that has sent the reply itself. */
export const ANSWERED = Symbol('answered');
