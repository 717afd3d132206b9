/** Routes for takedowns: a preview, jobs, the list of what is barred, the signed log, and receipts. */
import { Type } from 'typebox';
import type { TakedownRecord } from '../../archive/index.ts';
import { takedownCheckKind, takedownKind } from '../jobs/maintenance-kinds.ts';
import { Count, closed, countOf, named, TakedownGround, TakedownInput } from '../schema.ts';
import type { ApiServices } from './api-services.ts';
import { JobItem } from './job-item.ts';
import { startJob } from './job-routes.ts';
import { type ApiRoute, route } from './route.ts';

const TAG = 'jobs';

const Preview = named('TakedownPreview', {
  captures: countOf('Captures that would be deleted.'),
  contents: countOf('Contents that would be barred.'),
  urls: countOf('URLs that would be barred.'),
  examples: Type.Array(Type.String(), { description: 'URLs of some of the captures.' }),
});

const Barred = named('Takedowns', {
  contents: Type.Array(Type.String(), { description: 'SHA-256 of the contents, in hexadecimal.' }),
  urls: Type.Array(Type.String(), { description: 'The keys of the URLs.' }),
  captures: countOf('Captures of what is barred. There are none, unless a takedown was interrupted.'),
  unsealed: Type.Array(Type.String(), { description: 'Segments that may have the bytes and still grow.' }),
  uncompacted: Type.Array(Type.String(), { description: 'Segments that have the bytes until they are compacted.' }),
  isGone: Type.Boolean({ description: 'Whether no segment has bytes of what is barred.' }),
});

const Place = closed({ place: Type.String(), files: Count, records: Count, bytes: Count });

const Search = named('TakedownSearch', {
  id: countOf('The number of the signed statement in the log.'),
  time: Type.String(),
  by: Type.String(),
  digest: Type.String({ description: 'SHA-256 of the statement.' }),
  found: countOf('Places with bytes of it.'),
  unsearched: countOf('Places and files that could not be searched.'),
  places: Type.Array(Place),
  isGone: Type.Boolean({ description: 'Whether everything was searched and nothing was found.' }),
});

const ENTRY = {
  id: countOf('The number of its entry in the log.'),
  time: Type.String(),
  by: Type.String(),
  reason: Type.String(),
  contents: Type.Array(Type.String(), { description: 'What is barred: `sha256:<hex>`.' }),
  urls: Type.Array(Type.String(), { description: 'The keys of the URLs that are barred.' }),
  captures: countOf('Captures that were found before it.'),
  collections: Type.Array(Type.String()),
  segments: Type.Array(Type.String(), { description: 'Segments that had the records or the contents.' }),
  isDone: Type.Boolean({ description: 'False: it was interrupted, and can be asked for again.' }),
  digest: Type.String({ description: 'SHA-256 of the entry.' }),
  key: Type.Union([Type.String(), Type.Null()], { description: 'Fingerprint of the key that signed it.' }),
  problem: Type.Union([Type.String(), Type.Null()], { description: 'Why the entry is not what the archive wrote.' }),
  search: Type.Union([Search, Type.Null()], { description: 'The last search for its bytes.' }),
};
const Entry = named('TakedownEntry', ENTRY);

const Details = named('TakedownDetails', {
  ...ENTRY,
  listed: Type.Array(
    closed({
      url: Type.String(),
      time: Type.String(),
      collection: Type.String(),
      segment: Type.String(),
      content: Type.Optional(Type.String()),
    }),
    { description: 'The first captures.' },
  ),
  kept: Type.Array(closed({ content: Type.String(), captures: Count }), {
    description: 'Contents of these captures that other captures keep.',
  }),
});

const Log = named('TakedownLog', {
  takedowns: Type.Array(Entry),
  problems: Type.Array(Type.String(), { description: 'What was changed or is missing in the log.' }),
  keys: Type.Array(closed({ fingerprint: Type.String(), from: Count })),
});

const ById = closed({ id: Type.Integer({ minimum: 1, maximum: 999_999_999 }) });

type Services = Pick<ApiServices, 'archive' | 'auditor' | 'files' | 'jobs'>;

export function takedownRoutes(services: Services): ApiRoute[] {
  const { archive } = services;
  return [
    route({
      method: 'GET',
      right: 'admin',
      path: '/api/takedowns',
      tag: TAG,
      summary: 'What is barred, and where its bytes still are',
      reply: { status: 200, schema: Barred, description: 'All contents and URLs that are barred.' },
      handle: async () => archive.takedowns(),
    }),
    route({
      method: 'POST',
      right: 'admin',
      audit: 'none',
      path: '/api/takedowns/preview',
      tag: TAG,
      summary: 'What a takedown would bar and delete',
      body: TakedownInput,
      reply: { status: 200, schema: Preview, description: 'What would be barred and deleted.' },
      handle: async ({ body }) => archive.previewTakedown(body),
    }),
    route({
      method: 'POST',
      right: 'admin',
      audit: 'takedown',
      path: '/api/takedowns',
      tag: TAG,
      summary: 'Bar contents and URLs for good, and delete their captures',
      description:
        'Refused unless as many captures are deleted as the preview said. `compact` then removes the bytes from the segments.',
      body: closed({ ...TakedownInput.properties, ...TakedownGround.properties, captures: Count }),
      reply: { status: 202, schema: JobItem, description: 'The job, which waits or runs.' },
      problems: [409, 429],
      handle: async ({ body, access }) => startJob(services, access, takedownKind, body),
    }),
    route({
      method: 'GET',
      path: '/api/takedowns/log',
      tag: TAG,
      summary: 'The signed log of takedowns',
      reply: { status: 200, schema: Log, description: 'All takedowns, oldest first.' },
      right: 'admin',
      handle: async () => {
        const { takedowns, problems, keys } = await archive.takedownLog.read();
        return { takedowns: takedowns.map(entryOf), problems, keys };
      },
    }),
    route({
      method: 'GET',
      path: '/api/takedowns/:id',
      tag: TAG,
      summary: 'One takedown',
      params: ById,
      reply: { status: 200, schema: Details, description: 'The takedown, with its captures.' },
      problems: [404],
      right: 'admin',
      handle: async ({ params }) => {
        const takedown = await archive.takedownLog.find(params.id);
        return { ...entryOf(takedown), listed: takedown.listed, kept: takedown.kept };
      },
    }),
    route({
      method: 'GET',
      path: '/api/takedowns/:id/receipt',
      tag: TAG,
      summary: 'The receipt of a takedown, to print',
      params: ById,
      reply: { status: 200, mime: 'text/html', description: 'One page without scripts.' },
      problems: [404],
      right: 'admin',
      handle: async ({ params, reply }) => {
        const page = await archive.takedownLog.receipt(params.id);
        reply.header('content-disposition', `attachment; filename="takedown-${params.id}.html"`);
        return reply.type('text/html; charset=utf-8').send(page);
      },
    }),
    route({
      method: 'POST',
      audit: 'takedown',
      path: '/api/takedowns/check',
      tag: TAG,
      summary: 'Search every file for bytes of what takedowns bar',
      description: 'The result is signed, and is the `search` of each takedown that it was for.',
      body: takedownCheckKind.input,
      reply: { status: 202, schema: JobItem, description: 'The job, which waits or runs.' },
      problems: [429],
      right: 'admin',
      handle: async ({ body, access }) => startJob(services, access, takedownCheckKind, body),
    }),
  ];
}

function entryOf({ end, search, key, problem, ...takedown }: TakedownRecord) {
  const { id, time, by, reason, contents, urls, captures, collections, segments, digest } = takedown;
  return {
    ...{ id, time, by, reason, contents, urls, captures, collections, segments, digest },
    isDone: end !== undefined,
    key: key ?? null,
    problem: problem ?? null,
    search: search ? searchOf(search) : null,
  };
}

function searchOf(search: NonNullable<TakedownRecord['search']>) {
  const { id, time, by, digest, found, unsearched, places, isGone } = search;
  return { id, time, by, digest, found, unsearched: unsearched.length, places, isGone };
}
