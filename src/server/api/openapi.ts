/** The OpenAPI 3.1 document, generated from the table of routes that the server registers. */
import type { TObject, TSchema } from 'typebox';
import { ErrorReply } from '../schema.ts';
import { type ApiRoute, auditedAs, needsToken, type ReplyShape } from './route.ts';

type Json = Record<string, unknown>;

const TOKEN_SCHEME = 'token';
const ERROR_SCHEMA = 'Error';

/** Schemas in `components` of the document, by name. */
type NamedSchemas = Record<string, unknown>;

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  400: 'The request is not valid.',
  401: 'The token is missing or wrong.',
  403: 'The token may not do this, or the request comes from a page of another site.',
  404: 'The requested resource does not exist.',
  409: 'The present state does not allow the request.',
  410: 'The requested resource no longer exists.',
  413: 'The body is too large.',
  416: 'The range is beyond the end of the file.',
  422: 'The content is not of the required kind.',
  412: 'The condition of the request does not hold.',
  429: 'Too many requests of this kind are running.',
  500: 'The server failed.',
  503: 'The server cannot do this now. Try again later.',
  451: 'The content or the URL was taken down.',
  507: 'The disk is full, or the quota of the token is used up.',
};

/** Errors that every route may return. */
const SHARED_PROBLEMS = [400, 403, 500, 503];

export function openApiDocument(routes: readonly ApiRoute[], version: string): Json {
  const paths: Record<string, Json> = {};
  const schemas: NamedSchemas = {};
  schemas[ERROR_SCHEMA] = withReferences(ErrorReply, schemas);
  for (const route of routes) {
    const path = documentPath(route.path);
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationOf(route, schemas);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pinakes',
      version,
      description:
        'The contents of an archive, its jobs, and its files. Reading needs no token, unless the server was started with --private. Writing, and reading the details of jobs, need the token that the server prints when it starts, or a token of `pinakes token add` with the right that `x-right` names, or a person with a role that has the right. `x-audit` names the call in the audit log.',
      license: { name: 'AGPL-3.0-or-later', identifier: 'AGPL-3.0-or-later' },
    },
    paths,
    components: {
      schemas,
      securitySchemes: { [TOKEN_SCHEME]: { type: 'http', scheme: 'bearer' } },
    },
  };
}

/** `/api/captures/:id` as `/api/captures/{id}`. */
function documentPath(path: string): string {
  return path.replace(/:([A-Za-z]+)/g, '{$1}').replace(/\*$/, '{name}');
}

function operationOf(route: ApiRoute, schemas: NamedSchemas): Json {
  const problems = new Set([...SHARED_PROBLEMS, ...(route.problems ?? []), ...(route.right === 'open' ? [] : [401])]);
  const responses: Record<string, Json> = { [route.reply.status]: responseOf(route.reply, schemas) };
  for (const status of [...problems].sort((a, b) => a - b)) responses[status] = problemResponse(status);
  const rest = route.path.endsWith('*')
    ? [{ name: 'name', in: 'path', required: true, schema: { type: 'string' } }]
    : [];
  const parameters = [...parametersOf(route.params, 'path'), ...rest, ...parametersOf(route.query, 'query')];
  return {
    tags: [route.tag],
    summary: route.summary,
    'x-right': route.right,
    'x-audit': auditedAs(route) ?? 'none',
    ...(route.description !== undefined && { description: route.description }),
    ...(needsToken(route) && { security: [{ [TOKEN_SCHEME]: [] }] }),
    ...(!needsToken(route) && route.right === 'read' && { security: [{}, { [TOKEN_SCHEME]: [] }] }),
    ...(parameters.length > 0 && { parameters }),
    ...bodyOf(route, schemas),
    responses,
  };
}

function bodyOf({ body, bodyInDocument, rawBody }: ApiRoute, schemas: NamedSchemas): Json {
  const wanted = bodyInDocument ?? body;
  const schema = wanted && withReferences(wanted, schemas, true);
  if (schema) return { requestBody: { required: true, content: { 'application/json': { schema } } } };
  if (!rawBody) return {};
  return { requestBody: { required: true, description: rawBody.description, content: { [rawBody.mime]: {} } } };
}

function responseOf(reply: ReplyShape, schemas: NamedSchemas): Json {
  const content =
    'schema' in reply
      ? { 'application/json': { schema: withReferences(reply.schema, schemas) } }
      : { [reply.mime]: {} };
  return { description: reply.description, content };
}

/**
 * Replaces each part of a schema that has a title by a reference, and adds the part to the named schemas. With
 * `isInline` the parts stay in place: the web interface generates forms from request bodies, and does not follow
 * references.
 */
function withReferences(schema: unknown, schemas: NamedSchemas, isInline = false): unknown {
  if (Array.isArray(schema)) return schema.map((part) => withReferences(part, schemas, isInline));
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.entries(schema).map(([name, part]) => [name, withReferences(part, schemas, isInline)] as const);
  // In `properties`, `title` is a schema.
  const { title, ...converted } = Object.fromEntries(parts);
  if (typeof title !== 'string') return Object.fromEntries(parts);
  schemas[title] ??= converted;
  if (isInline) return converted;
  return { $ref: `#/components/schemas/${title}`, ...('description' in schema && { description: schema.description }) };
}

function problemResponse(status: number): Json {
  return {
    description: DESCRIPTIONS[status] ?? 'The request failed.',
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${ERROR_SCHEMA}` } } },
  };
}

function parametersOf(schema: TObject | undefined, place: 'path' | 'query'): Json[] {
  const properties: Record<string, TSchema> = schema?.properties ?? {};
  const required: readonly string[] = schema?.required ?? [];
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property as TSchema & { description?: string };
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description !== undefined && { description }),
      schema: rest,
    };
  });
}
