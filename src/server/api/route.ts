/**
 * A route of the API: one row of a table. From the table the routes are registered, requests are checked, and the
 * OpenAPI document is generated. There are no other routes under /api.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';

export type Method = 'GET' | 'POST' | 'DELETE';

/** The reply of a successful call: JSON of a schema, or bytes of a media type. */
export type ReplyShape =
  | { readonly status: 200 | 202; readonly schema: TSchema; readonly says: string }
  | { readonly status: 200; readonly mime: string; readonly says: string };

/** The body of a request that the handler reads as a stream of bytes. */
export type BodyShape = { readonly mime: string; readonly says: string };

export type ApiRoute = {
  readonly method: Method;
  /** In the form of Fastify: `/api/captures/:id`. A `*` at the end is the parameter `name`, which may have slashes. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly says: string | undefined;
  readonly params: TObject | undefined;
  readonly query: TObject | undefined;
  readonly body: TSchema | undefined;
  /** The schema of the body in the document, when it is more precise than the schema for checking. */
  readonly bodyInDocument: TSchema | undefined;
  readonly rawBody: BodyShape | undefined;
  readonly reply: ReplyShape;
  /** Statuses of the errors that a call may return, besides those of every route. */
  readonly problems: readonly number[];
  readonly needsToken: boolean;
  /** Every client gets a reply, but clients that send the token get more. */
  readonly tokenShowsMore: boolean;
  readonly handle: (call: Call<unknown, unknown, unknown>) => Promise<unknown>;
};

export type Call<P, Q, B> = {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** Whether the client sent the token. False on routes that do not check it. */
  readonly hasToken: boolean;
  /** Aborted when the client disconnects before the reply is complete, and when the server stops. */
  readonly signal: AbortSignal;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
};

type NoObject = TObject<Record<never, never>>;

type Definition<P extends TObject, Q extends TObject, B extends TSchema> = {
  readonly method: Method;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly says?: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly bodyInDocument?: TSchema;
  readonly rawBody?: BodyShape;
  readonly reply: ReplyShape;
  readonly problems?: readonly number[];
  readonly needsToken?: boolean;
  readonly tokenShowsMore?: boolean;
  readonly handle: (call: Call<Static<P>, Static<Q>, Static<B>>) => Promise<unknown>;
};

/** A row of the table. The handler gets values with the types of the schemas. */
export function route<P extends TObject = NoObject, Q extends TObject = NoObject, B extends TSchema = TSchema>(
  definition: Definition<P, Q, B>,
): ApiRoute {
  return {
    method: definition.method,
    path: definition.path,
    tag: definition.tag,
    summary: definition.summary,
    says: definition.says,
    params: definition.params,
    query: definition.query,
    body: definition.body,
    bodyInDocument: definition.bodyInDocument,
    rawBody: definition.rawBody,
    reply: definition.reply,
    problems: definition.problems ?? [],
    needsToken: definition.needsToken ?? false,
    tokenShowsMore: definition.tokenShowsMore ?? false,
    handle: definition.handle as ApiRoute['handle'],
  };
}

/** Returned by a handler that has sent the reply itself. */
export const ANSWERED = Symbol('answered');
