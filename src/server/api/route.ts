/**
 * A route of the API: one row of the table that registers the routes, checks what comes in, and makes the OpenAPI
 * document. Nothing is answered under /api that does not stand in that table.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';

export type Method = 'GET' | 'POST' | 'DELETE';

/** What a call that succeeds is answered with: JSON of a schema, or bytes of a media type. */
export type ReplyShape =
  | { readonly status: 200 | 202; readonly schema: TSchema; readonly says: string }
  | { readonly status: 200; readonly mime: string; readonly says: string };

/** How the body of a request is taken: as JSON of the schema, or left to the handler as a stream of bytes. */
export type BodyShape = { readonly mime: string; readonly says: string };

export type ApiRoute = {
  readonly method: Method;
  /** As Fastify has it: `/api/captures/:id`. A last `*` is the parameter `name`, which may hold slashes. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly says: string | undefined;
  readonly params: TObject | undefined;
  readonly query: TObject | undefined;
  readonly body: TSchema | undefined;
  /** What the document says of the body, where it says more than what every body is checked against. */
  readonly bodyInDocument: TSchema | undefined;
  readonly rawBody: BodyShape | undefined;
  readonly reply: ReplyShape;
  /** Statuses of the problems that a call may meet, besides those that every route shares. */
  readonly problems: readonly number[];
  readonly needsToken: boolean;
  /** It answers everyone, and tells more to who shows the token. */
  readonly tokenShowsMore: boolean;
  readonly handle: (call: Call<unknown, unknown, unknown>) => Promise<unknown>;
};

export type Call<P, Q, B> = {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** Whether the token was shown, where it makes a difference. */
  readonly hasToken: boolean;
  /** Aborted when the client leaves before its reply is whole, and when the server stops. */
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

/** A row of the table. The handler sees values of the types that the schemas say. */
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

/** The handler has answered by itself. */
export const ANSWERED = Symbol('answered');
