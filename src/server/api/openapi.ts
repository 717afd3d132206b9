/** The OpenAPI 3.1 document, made from the very table of routes that is registered. */
import type { TObject, TSchema } from 'typebox';
import { ErrorReply } from '../shape.ts';
import type { ApiRoute, ReplyShape } from './route.ts';

type Json = Record<string, unknown>;

const TOKEN_SCHEME = 'token';
const ERROR_SCHEMA = 'Error';

/** Schemas of the document that have a name of their own. */
type NamedSchemas = Record<string, unknown>;

const SAYS: Readonly<Record<number, string>> = {
  400: 'The request is not understood.',
  401: 'The token is missing or wrong.',
  403: 'The request comes from another site, or from another machine.',
  404: 'There is no such thing.',
  409: 'Things are not as the request takes them to be.',
  410: 'It is gone.',
  413: 'It is too large.',
  416: 'The range lies outside of the bytes.',
  422: 'What was sent is not what is needed here.',
  429: 'Too much of this at once.',
  500: 'A fault of the server.',
  503: 'Not now; trying again can help.',
  507: 'No space is left.',
};

/** Problems that every route may meet. */
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
        'What an archive holds, the work that runs on it, and its files. Reading takes no token; writing takes the one that the server prints when it starts, and so does reading what jobs are about.',
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
  const problems = new Set([
    ...SHARED_PROBLEMS,
    ...route.problems,
    ...(route.needsToken || route.tokenShowsMore ? [401] : []),
  ]);
  const responses: Record<string, Json> = { [route.reply.status]: responseOf(route.reply, schemas) };
  for (const status of [...problems].sort((a, b) => a - b)) responses[status] = problemResponse(status);
  const rest = route.path.endsWith('*')
    ? [{ name: 'name', in: 'path', required: true, schema: { type: 'string' } }]
    : [];
  const parameters = [...parametersOf(route.params, 'path'), ...rest, ...parametersOf(route.query, 'query')];
  return {
    tags: [route.tag],
    summary: route.summary,
    ...(route.says !== undefined && { description: route.says }),
    ...(route.needsToken && { security: [{ [TOKEN_SCHEME]: [] }] }),
    ...(route.tokenShowsMore && { security: [{}, { [TOKEN_SCHEME]: [] }] }),
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
  return { requestBody: { required: true, description: rawBody.says, content: { [rawBody.mime]: {} } } };
}

function responseOf(reply: ReplyShape, schemas: NamedSchemas): Json {
  const content =
    'schema' in reply
      ? { 'application/json': { schema: withReferences(reply.schema, schemas) } }
      : { [reply.mime]: {} };
  return { description: reply.says, content };
}

/**
 * The schema with a reference in place of each part that has a title; the parts are put among the named schemas.
 * `isInline` keeps the parts where they are: forms are made of request bodies, and follow no references.
 */
function withReferences(schema: unknown, schemas: NamedSchemas, isInline = false): unknown {
  if (Array.isArray(schema)) return schema.map((part) => withReferences(part, schemas, isInline));
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.entries(schema).map(([name, part]) => [name, withReferences(part, schemas, isInline)] as const);
  // Among properties, `title` is a schema.
  const { title, ...converted } = Object.fromEntries(parts);
  if (typeof title !== 'string') return Object.fromEntries(parts);
  schemas[title] ??= converted;
  if (isInline) return converted;
  return { $ref: `#/components/schemas/${title}`, ...('description' in schema && { description: schema.description }) };
}

function problemResponse(status: number): Json {
  return {
    description: SAYS[status] ?? 'It could not be done.',
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
