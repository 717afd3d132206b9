/**
 * Routes for clients that store contents and captures from other machines; see docs/contents.md. A client asks which
 * contents are missing, sends only these, and then names the captures that refer to them.
 */
import { isIP } from 'node:net';
import type { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import { formatContentKey, parseContentKey, soundPayload } from '../../archive/index.ts';
import { fromHex, PinakesError, parseW3cDate, toHex } from '../../base/index.ts';
import { type CaptureItem, storeCaptures } from '../contents/capture-batch.ts';
import { collectionsOf, evenly, ownerOf, readableBy } from '../contents/content-access.ts';
import { codingOfBody, decodedBody, wholeBody } from '../contents/content-body.ts';
import { addRecords } from '../contents/record-batch.ts';
import { acceptsGzip } from '../http/accept-encoding.ts';
import { download } from '../http/download.ts';
import { requireCollection } from '../http/guard.ts';
import { badRequest, HttpProblem, problemFromError } from '../http/problem.ts';
import { Count, closed, countOf, NewCollection, named, UrlInput, W3cDate } from '../schema.ts';
import type { Access } from '../tokens/access.ts';
import type { ApiServices } from './api-services.ts';
import { type ApiRoute, route } from './route.ts';
import { checkFor } from './validation.ts';

const TAG = 'contents';
const ITEMS_MAX = 1000;
const JSON_BYTES_MAX = 4 * 1024 * 1024;
/** Larger pieces of a file are sent as contents. */
const RECORDS_BYTES_MAX = 64 * 1024 * 1024;
const REPLY_BYTES_MIN = 1000;
/** Requests of a kind that are served at one time, since each has a batch in memory or reads a file. */
const CAPTURES_MAX = 16;
const RECORDS_MAX = 4;

const Digest = Type.String({
  pattern: '^[0-9a-f]{64}$',
  'x-in-words': 'be a SHA-256 of 64 hexadecimal digits',
  description: 'SHA-256 of the content, in hexadecimal.',
});
const ClientId = Type.String({ minLength: 1, maxLength: 200 });
const Indexes = (description: string) => Type.Array(Count, { description });

const Question = closed({ digests: Type.Array(Digest, { minItems: 1, maxItems: ITEMS_MAX }) });

const Captures = closed({
  id: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'The client’s own id of the batch. The same id and captures again store nothing twice.',
  }),
  collection: Type.Optional(NewCollection),
  time: Type.Optional(W3cDate),
  keys: Type.Optional(Type.Boolean({ description: 'Whether the reply has the keys of the contents.' })),
  captures: Type.Array(
    closed({
      digest: Digest,
      id: Type.Optional(ClientId),
      time: Type.Optional(W3cDate),
      url: Type.Optional(UrlInput),
      head: Type.Optional(
        Type.String({ maxLength: 65_536, description: 'Status line and fields of the HTTP response, as Latin-1.' }),
      ),
      request: Type.Optional(Type.String({ maxLength: 65_536, description: 'The HTTP request, as Latin-1.' })),
      mime: Type.Optional(Type.String({ maxLength: 300 })),
      ip: Type.Optional(Type.String({ maxLength: 100 })),
    }),
    { minItems: 1, maxItems: ITEMS_MAX },
  ),
});

const Outcome = named('CapturesStored', {
  stored: Count,
  known: countOf('Captures that the archive had from an earlier request with the same ids.'),
  missing: Indexes('Captures whose contents have to be sent first.'),
  deleted: Indexes('Captures that were stored by an earlier request and deleted since.'),
  refused: Type.Array(closed({ index: Count, code: Type.String(), message: Type.String() })),
  keys: Type.Optional(Type.Array(Type.String({ description: 'Empty for a capture that was not stored.' }))),
});

const RecordsOutcome = named('RecordsAdded', {
  missing: Indexes('P frames whose contents have to be sent. If there are any, nothing was added.'),
  report: Type.Optional(
    closed({
      records: Count,
      captures: Count,
      capturesKnown: Count,
      capturesDeleted: Count,
      capturesBarred: Count,
      unresolved: Count,
      undated: Count,
      filesKnown: Count,
      deletedSince: Count,
      duplicates: Type.Optional(Count),
      duplicateBytes: Type.Optional(Count),
    }),
  ),
});

const Received = named('ContentReceived', {
  received: Type.Optional(countOf('Bytes that have arrived, as they were sent. Without it all have.')),
});

const EXTENSIONS = ['.warc.gz', '.warc', '.warc.zst', '.arc', '.arc.gz', '.wacz'] as const;
const MEDIA_TYPE = /^[\w.+!#$&^-]+\/[\w.+!#$&^-]+ *(;[\x20-\x7e]*)?$/;
const HEAD = /^HTTP\/[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n$/;

const ByKey = closed({ key: Type.String({ minLength: 1, maxLength: 300 }) });
const ByDigest = closed({ digest: Digest });

type Services = Pick<ApiServices, 'archive' | 'staged' | 'tokens' | 'stopwatch'>;

export function contentsRoutes(services: Services): ApiRoute[] {
  const { archive, staged, stopwatch } = services;
  const checkQuestion = checkFor(Question, 'body');
  const checkCaptures = checkFor(Captures, 'body');
  const captureSlots = new Slots(CAPTURES_MAX);
  const recordSlots = new Slots(RECORDS_MAX);
  return [
    route({
      method: 'POST',
      path: '/api/contents/missing',
      right: 'some',
      audit: 'none',
      isLimited: true,
      tag: TAG,
      summary: 'Which contents the client has to send',
      description:
        'A content that the client may not learn of is missing. The body may be compressed with gzip or zstd.',
      bodyInDocument: Question,
      rawBody: { mime: 'application/json', description: 'Digests.' },
      reply: {
        status: 200,
        schema: closed({ missing: Indexes('Indexes into the digests.') }),
        description: 'What is missing.',
      },
      problems: [413, 415],
      handle: async ({ request, reply, access }) =>
        evenly(access, stopwatch, async () => {
          const { digests } = await jsonBody<typeof Question>(request, checkQuestion);
          const keys = digests.map((digest) => ({ digest: fromHex(digest)!, overflow: 0 }));
          const blocks = await archive.held.find(keys, await readableBy(archive, access));
          const missing = digests.flatMap((_, index) => (blocks[index] ? [] : [index]));
          return compressed(request, reply, { missing });
        }),
    }),
    route({
      method: 'POST',
      path: '/api/contents/captures',
      right: 'add',
      audit: 'add',
      isLimited: true,
      tag: TAG,
      summary: 'Store captures that refer to contents by their digests',
      description:
        'A capture with `url` and `head` is an HTTP response, with `url` alone a resource, without `url` a content for itself. A capture without `id` has its index as id. The body may be compressed with gzip or zstd.',
      bodyInDocument: Captures,
      rawBody: { mime: 'application/json', description: 'Captures.' },
      reply: { status: 200, schema: Outcome, description: 'What was stored is durable.' },
      problems: [413, 415, 429, 507],
      handle: async ({ request, reply, access, note }) =>
        captureSlots.run(() =>
          evenly(access, stopwatch, async () => {
            const batch = await jsonBody<typeof Captures>(request, checkCaptures);
            const { id, collection = 'default', captures } = batch;
            note({ collection, captures: captures.length });
            requireCollection(access, collection);
            const items = captures.map((capture, index) => itemOf(capture, batch.time, id, index));
            const { keys, ...outcome } = await storeCaptures(services, access, { collection, items });
            note({ stored: outcome.stored, known: outcome.known });
            return compressed(request, reply, { ...outcome, ...(batch.keys && { keys }) });
          }),
        ),
    }),
    route({
      method: 'POST',
      path: '/api/contents/records',
      right: 'add',
      audit: 'add',
      isLimited: true,
      tag: TAG,
      summary: 'Add records of a file, those of held contents without their payloads',
      query: closed({
        collection: Type.Optional(NewCollection),
        extension: Type.Optional(Type.Enum([...EXTENSIONS], { description: 'The kind of the file.' })),
      }),
      rawBody: {
        mime: 'application/x-pinakes-frames',
        description: 'Frames of records; docs/contents.md describes them.',
      },
      reply: { status: 200, schema: RecordsOutcome, description: 'What was added is durable.' },
      problems: [413, 415, 422, 429, 507],
      handle: async ({
        query: { collection = 'default', extension = '.warc.gz' },
        request,
        reply,
        access,
        note,
        signal,
      }) =>
        recordSlots.run(() =>
          evenly(access, stopwatch, async () => {
            requireCollection(access, collection);
            const frames = decodedBody(request.raw, codingOf(request), RECORDS_BYTES_MAX);
            const outcome = await addRecords(services, access, { collection, extension, frames, signal });
            note({ collection, ...('missing' in outcome ? {} : { records: outcome.report.records }) });
            return compressed(request, reply, recordsReply(outcome, access));
          }),
        ),
    }),
    route({
      method: 'GET',
      path: '/api/contents/:key',
      right: 'read',
      isLimited: true,
      tag: TAG,
      summary: 'A content, by its key or the SHA-256 of it',
      description:
        'The digest is compared before the last byte is sent, also of a range. HEAD tells whether there is one.',
      params: ByKey,
      reply: { status: 200, mime: 'application/octet-stream', description: 'The content, or a range with status 206.' },
      problems: [404, 416, 502],
      handle: async ({ params, request, reply, access }) =>
        evenly(access, stopwatch, async () => {
          const key = keyOf(params.key);
          const [block] = await archive.held.find([key], await readableBy(archive, access));
          const text = formatContentKey('', key).slice(1);
          if (!block) throw new PinakesError('CONTENT_MISSING', { where: text });
          const hex = toHex(key.digest);
          return download(request, reply, {
            filename: hex,
            mime: 'application/octet-stream',
            bytes: block.size,
            tag: key.overflow > 0 ? `${hex}~${key.overflow}` : hex,
            read: (from, to) => part(contentOf(archive, text), from, to),
          });
        }),
    }),
    route({
      method: 'GET',
      path: '/api/contents/:digest/upload',
      right: 'add',
      isLimited: true,
      tag: TAG,
      summary: 'How much of a content that is being sent has arrived',
      params: ByDigest,
      reply: { status: 200, schema: Received, description: 'Where to continue.' },
      handle: async ({ params, access }) => {
        const received = await staged.received(ownerOf(access), params.digest);
        return received === undefined ? {} : { received };
      },
    }),
    route({
      method: 'PUT',
      path: '/api/contents/:digest',
      right: 'add',
      audit: 'none',
      isLimited: true,
      tag: TAG,
      summary: 'Send a content that is missing',
      description:
        'Content-Encoding may be gzip or zstd. After a cut, the rest is sent with `offset`. The content is kept for a day; only a capture that refers to it stores it.',
      params: ByDigest,
      query: closed({
        size: countOf('The size of the content.'),
        bytes: Type.Optional(countOf('The length of what is sent in all, if it is compressed.')),
        offset: Type.Optional(countOf('Where in what is sent this body begins.')),
      }),
      rawBody: { mime: 'application/octet-stream', description: 'The content, or the rest of it.' },
      reply: { status: 200, schema: Received, description: 'What has arrived.' },
      problems: [409, 413, 415, 422, 429, 507],
      handle: async ({ params, query, request, access, signal }) => {
        const { size, bytes = size, offset = 0 } = query;
        await requireQuota(services, access, size);
        const sent = { digest: params.digest, size, bytes, offset, coding: codingOf(request) };
        const received = await staged.receive(ownerOf(access), sent, request.raw, signal);
        return received === undefined ? {} : { received };
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/contents/:key',
      right: 'delete',
      audit: 'delete',
      isLimited: true,
      tag: TAG,
      summary: 'Give back one reference of a content',
      description:
        'Deletes the newest capture of the content that was stored without a URL. The same `request` again, within 30 days, deletes nothing more.',
      params: ByKey,
      query: closed({ request: Type.Optional(ClientId) }),
      reply: {
        status: 200,
        schema: closed({ captures: Count, contents: Type.Optional(countOf('Contents that no capture has any more.')) }),
        description: 'What was deleted.',
      },
      problems: [404, 409],
      handle: async ({ params, query, access, note }) =>
        evenly(access, stopwatch, async () => {
          const key = formatContentKey('', keyOf(params.key)).slice(1);
          const collections = await collectionsOf(archive, access);
          const request = query.request === undefined ? {} : { request: `${ownerOf(access)}:${query.request}` };
          const { captures, contents } = await archive.release(key, { ...request, collections });
          note({ captures, collections: access.collections });
          // The number of contents would tell whether another collection has the content.
          return { captures, ...(!access.collections && { contents }) };
        }),
    }),
  ];
}

type Batch = Static<typeof Captures>;

function itemOf(
  capture: Batch['captures'][number],
  time: string | undefined,
  batch: string,
  index: number,
): CaptureItem {
  const { digest, url, head, request, mime, ip } = capture;
  const at = `body/captures/${index}`;
  const parsed = parseW3cDate(capture.time ?? time ?? '');
  if (parsed === undefined)
    throw badRequest('a capture has no time', 'Give `time` in the batch or in each capture.', at);
  // Fields of a record end at a line break.
  if (url !== undefined && (!URL.canParse(url) || /[\s\p{Cc}]/u.test(url)))
    throw badRequest('the URL is not valid', 'Escape blanks and control characters.', `${at}/url`);
  if (mime !== undefined && !MEDIA_TYPE.test(mime))
    throw badRequest('the media type is not valid', 'A media type looks like text/html.', `${at}/mime`);
  if (ip !== undefined && isIP(ip) === 0)
    throw badRequest('the address is not valid', 'Give an IP address.', `${at}/ip`);
  if (url === undefined && (head ?? request ?? ip) !== undefined)
    throw badRequest('the capture has no URL', 'Give `url` with `head`, `request` and `ip`.', at);
  if (head !== undefined && (!HEAD.test(head) || /^transfer-encoding:/im.test(head)))
    throw badRequest(
      'the HTTP head is not valid',
      'Give the status line, the fields and one empty line. Leave out Transfer-Encoding, since contents do not have it.',
      `${at}/head`,
    );
  return {
    digest,
    id: `${batch}\n${capture.id ?? index}`,
    time: parsed,
    url,
    mime,
    ip,
    ...(head !== undefined && { head: Buffer.from(head, 'latin1') }),
    ...(request !== undefined && { request: Buffer.from(request, 'latin1') }),
  };
}

function recordsReply(outcome: Awaited<ReturnType<typeof addRecords>>, access: Access): object {
  if ('missing' in outcome) return { missing: outcome.missing };
  const { failures, files: _, filesOwn: __, duplicates, duplicateBytes, ...report } = outcome.report;
  if (failures[0]) {
    const { status, code, advice } = problemFromError(failures[0]).problem;
    // The message of the error names a file of the server.
    throw new HttpProblem({ status, code, message: 'the records cannot be read', advice });
  }
  // How many contents were held tells what other collections hold.
  const more = access.collections ? {} : { duplicates, duplicateBytes };
  return { missing: [], report: { ...report, ...more } };
}

async function requireQuota({ tokens }: Services, { token }: Access, size: number): Promise<void> {
  if (token?.quotaBytes === undefined || (await tokens.usedBytes(token)) + size <= token.quotaBytes) return;
  throw new HttpProblem({
    status: 507,
    code: 'QUOTA_FULL',
    message: 'the quota of the token is used up',
    advice: 'Ask the operator for a token with a larger quota.',
  });
}

function keyOf(text: string) {
  return parseContentKey(/^[0-9a-f]{64}$/i.test(text) ? `sha256:${text}` : text);
}

async function* contentOf(archive: Services['archive'], key: string): AsyncGenerator<Uint8Array> {
  const content = await archive.content(key, { checksDigest: true });
  yield* soundPayload({ ...content, isSound: false, damage: () => content.damage() });
}

/** A part of a content. All of the content is read, and the last piece is sent when its digest is known to be right. */
async function* part(pieces: AsyncIterable<Uint8Array>, from: number, to: number): AsyncGenerator<Uint8Array> {
  let at = 0;
  let last: Uint8Array | undefined;
  for await (const piece of pieces) {
    const wanted = piece.subarray(Math.max(0, from - at), Math.max(0, to - at));
    at += piece.length;
    if (wanted.length === 0) continue;
    if (last) yield last;
    last = Buffer.from(wanted);
  }
  if (last) yield last;
}

function codingOf(request: FastifyRequest) {
  return codingOfBody(request.headers['content-encoding']);
}

async function jsonBody<Schema extends TSchema>(
  request: FastifyRequest,
  check: ReturnType<typeof checkFor>,
): Promise<Static<Schema>> {
  const bytes = await wholeBody(request.raw as Readable, codingOf(request), JSON_BYTES_MAX);
  let given: unknown;
  try {
    given = JSON.parse(bytes.toString());
  } catch {
    throw badRequest('the body is not JSON', 'The API is described at /api/openapi.json.', 'body');
  }
  const checked = check(given);
  if ('error' in checked) throw checked.error;
  return checked.value as Static<Schema>;
}

/** A reply that is compressed when that is worth it. */
function compressed(request: FastifyRequest, reply: FastifyReply, value: object): object {
  const text = JSON.stringify(value);
  if (text.length < REPLY_BYTES_MIN || !acceptsGzip(request.raw)) return value;
  reply.headers({
    'content-type': 'application/json; charset=utf-8',
    'content-encoding': 'gzip',
    vary: 'accept-encoding',
  });
  return gzipSync(text);
}

/** Bounds how many requests are served at one time. Others are asked to come back. */
class Slots {
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0)
      throw new HttpProblem({
        status: 429,
        code: 'SERVER_BUSY',
        message: 'the server is storing as much as it can',
        advice: 'Repeat the request after the time in Retry-After.',
        fields: { 'retry-after': '1' },
      });
    this.#free--;
    try {
      return await work();
    } finally {
      this.#free++;
    }
  }
}
