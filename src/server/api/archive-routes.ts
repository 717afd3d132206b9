/** Routes for the archive as a whole: facts, figures, collections and volumes. */
import type { IncomingMessage } from 'node:http';
import { Type } from 'typebox';
import type { CollectionStats } from '../../archive/index.ts';
import { ERROR_CATALOGUE, formatW3cDate, PinakesError } from '../../base/index.ts';
import type { IndexingStatus } from '../indexing.ts';
import { Count, closed, countOf, named, W3cDate } from '../schema.ts';
import type { ApiServices } from './api-services.ts';
import type { CollectionFigures } from './collection-figures.ts';
import { type ApiRoute, route } from './route.ts';
import type { PeopleFacts } from './session-routes.ts';

const TAG = 'archive';

const Info = named('Info', {
  name: Type.String(),
  version: Type.String({ description: 'The version of Pinakes.' }),
  program: Type.String({ description: 'How to type the command line on the machine of the server.' }),
  replayOrigin: Type.String({ description: 'The origin of archived pages.' }),
  capabilities: closed({ crawl: Type.Boolean(), search: Type.Boolean() }),
  indexing: closed({
    state: Type.Enum(['off', 'waiting', 'working', 'failed'], {
      title: 'IndexingState',
      description: 'Of the search index: not updated by this server, waiting for changes, being updated, or failed.',
    }),
    message: Type.String({ description: 'The state in words.' }),
    caughtUpAt: Type.Optional(W3cDate),
    problem: Type.Optional(closed({ code: Type.String(), message: Type.String(), advice: Type.String() })),
  }),
  jobKinds: Type.Array(Type.String()),
});

const COLLECTION_STATS = {
  urls: Count,
  contents: countOf('Captures whose content is known.'),
  duplicates: countOf('Captures of known content, without one capture for each distinct content.'),
  duplicatesOfPrevious: Type.Optional(countOf('Duplicates whose content is also in the previous collection.')),
  persistentUrls: Type.Optional(countOf('URLs that are also in the previous collection.')),
};

const Stats = named('Stats', {
  captures: Count,
  blocks: countOf('Distinct contents.'),
  revisits: Count,
  unresolvedRevisits: countOf('Revisits whose content is not in the archive.'),
  oddRecords: countOf('Records that violate the standard, in separate segments.'),
  undatedRecords: countOf('Records without a valid date, which are not indexed.'),
  payloadBytes: countOf('Of all captures, duplicates included.'),
  uniquePayloadBytes: countOf('Of distinct contents.'),
  storedPayloadBytes: countOf('Payloads stored in segments.'),
  storedBytes: countOf('Size of the segments in the volumes.'),
  deadBytes: countOf('Deleted, but not yet compacted.'),
  savedByDeduplicationBytes: Count,
  savedByCompressionBytes: Type.Integer({
    description: 'Negative when record heads take more than compression saves.',
  }),
  segments: Count,
  catalogBytes: Count,
  collections: Type.Array(
    named('CollectionStats', {
      collection: Type.String(),
      firstTime: W3cDate,
      lastTime: W3cDate,
      captures: Count,
      ...COLLECTION_STATS,
    }),
  ),
  computedAt: W3cDate,
});

const Collection = named('Collection', {
  name: Type.String(),
  captures: Count,
  revisits: Count,
  payloadBytes: countOf('Of all captures, duplicates included.'),
  uniquePayloadBytes: countOf('Of distinct contents of the collection.'),
  storedBytes: countOf('Size in the segments of the records of its captures.'),
  duplicateShare: Type.Number({
    minimum: 0,
    maximum: 1,
    description: 'Share of duplicates in the captures of known content.',
  }),
  first: W3cDate,
  last: W3cDate,
  ...COLLECTION_STATS,
});

const Growth = named('Growth', {
  name: Type.String(),
  computedAt: W3cDate,
  points: Type.Array(
    named('GrowthPoint', {
      month: Type.String({ pattern: '^\\d{4}-\\d{2}$' }),
      captures: Count,
      payloadBytes: Count,
      newBytes: countOf('Of contents without an earlier capture in the archive.'),
      duplicateCaptures: countOf('Captures whose content has an earlier capture.'),
    }),
  ),
});

const Volume = named('Volume', {
  name: Type.String(),
  kind: Type.Enum(['directory', 'linked', 's3']),
  state: Type.Enum(['writable', 'read-only', 'linked', 'missing']),
  segments: Count,
  bytes: Count,
  deadBytes: Count,
  freeBytes: Type.Union([Count, Type.Null()]),
  totalBytes: Type.Union([Count, Type.Null()]),
  problem: Type.Optional(Type.String({ description: 'Why the volume is missing.' })),
});

const Fresh = closed({
  fresh: Type.Optional(Type.Boolean({ description: 'Wait for new figures if the archive has changed.' })),
});

/** The facts about the server that /api/info and /api/session report. */
export type ServerFacts = PeopleFacts & {
  readonly version: string;
  /** How the command line is typed on the machine of the server. */
  readonly program: string;
  /** The origin of archived pages under the host name of a request. */
  readonly replayOriginFor: (request: IncomingMessage) => string;
};

type Services = Pick<ApiServices, 'archive' | 'kinds' | 'stats' | 'collections' | 'search' | 'indexing'>;

export function archiveRoutes(services: Services, { version, program, replayOriginFor }: ServerFacts): ApiRoute[] {
  const { archive, kinds, stats, collections, search, indexing } = services;
  const collectionItems = async (isFresh: boolean) => {
    const [{ value: figures }, { value }] = await Promise.all([collections.get(isFresh), stats.get(isFresh)]);
    return figures.map((figure) => collectionItem(figure, value.collections));
  };
  return [
    route({
      method: 'GET',
      right: 'open',
      path: '/api/info',
      tag: TAG,
      summary: 'What this server is and can do',
      reply: { status: 200, schema: Info, description: 'The archive and its server.' },
      handle: async ({ request }) => {
        const jobKinds = kinds.map(({ name }) => name).sort();
        return {
          name: archive.connector.name,
          version,
          program,
          replayOrigin: replayOriginFor(request.raw),
          capabilities: { crawl: jobKinds.includes('crawl'), search: await search.isAvailable() },
          indexing: indexingItem(indexing()),
          jobKinds,
        };
      },
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/stats',
      tag: TAG,
      summary: 'Contents, size and savings of the archive',
      description: 'Computed in the background after the archive changed, at `computedAt`.',
      query: Fresh,
      reply: { status: 200, schema: Stats, description: 'The figures that `pinakes stats --json` prints.' },
      handle: async ({ query }) => {
        const { value, computedAt } = await stats.get(query.fresh === true);
        const rows = value.collections.map((one) => ({
          ...one,
          firstTime: formatW3cDate(one.firstTime),
          lastTime: formatW3cDate(one.lastTime),
        }));
        return { ...value, collections: rows, computedAt: formatW3cDate(computedAt) };
      },
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/collections',
      tag: TAG,
      summary: 'The collections, in order of their first captures',
      query: Fresh,
      reply: { status: 200, schema: closed({ items: Type.Array(Collection) }), description: 'The collections.' },
      handle: async ({ query }) => ({ items: await collectionItems(query.fresh === true) }),
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/collections/:name/growth',
      tag: TAG,
      summary: 'Growth of a collection by month',
      params: closed({ name: Type.String() }),
      query: Fresh,
      reply: { status: 200, schema: Growth, description: 'A point for each month with captures.' },
      problems: [404],
      handle: async ({ params, query }) => {
        const { value, computedAt } = await collections.get(query.fresh === true);
        const figure = value.find(({ name }) => name === params.name);
        if (!figure) {
          const detail = 'there is no such collection, or it has no captures yet';
          throw new PinakesError('CONTENT_MISSING', { where: `collection ${params.name.slice(0, 100)}`, detail });
        }
        const points = [...figure.months.values()].sort((a, b) => (a.month < b.month ? -1 : 1));
        return { name: figure.name, computedAt: formatW3cDate(computedAt), points };
      },
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/volumes',
      tag: TAG,
      summary: 'The volumes, which contain the segments',
      reply: { status: 200, schema: closed({ items: Type.Array(Volume) }), description: 'The volumes.' },
      handle: async () => {
        const items = (await archive.listVolumes()).map(({ failure, path: _, writable, ...rest }) => ({
          ...rest,
          state: failure ? 'missing' : rest.kind === 'linked' ? 'linked' : writable ? 'writable' : 'read-only',
          freeBytes: rest.freeBytes ?? null,
          totalBytes: rest.totalBytes ?? null,
          ...(failure && { problem: ERROR_CATALOGUE[failure.code].says }),
        }));
        return { items };
      },
    }),
  ];
}

function collectionItem(figure: CollectionFigures, rows: readonly CollectionStats[]) {
  const { months: _, first, last, ...figures } = figure;
  const row = rows.find(({ collection }) => collection === figure.name);
  const { urls = 0, contents = 0, duplicates = 0, duplicatesOfPrevious, persistentUrls } = row ?? {};
  return {
    ...figures,
    first: formatW3cDate(first),
    last: formatW3cDate(last),
    urls,
    contents,
    duplicates,
    duplicateShare: contents === 0 ? 0 : duplicates / contents,
    ...(duplicatesOfPrevious !== undefined && { duplicatesOfPrevious }),
    ...(persistentUrls !== undefined && { persistentUrls }),
  };
}

function indexingItem({ caughtUpAt, ...status }: IndexingStatus): object {
  return { ...status, ...(caughtUpAt !== undefined && { caughtUpAt: formatW3cDate(caughtUpAt) }) };
}
