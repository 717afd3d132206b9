/** Routes about the archive as a whole: what it is, what it holds, its collections and volumes. */
import { Type } from 'typebox';
import type { CollectionStats } from '../../archive/index.ts';
import { ERROR_CATALOGUE, formatW3cDate, PinakesError } from '../../base/index.ts';
import type { IndexingStatus } from '../indexing.ts';
import { Count, closed, named, When } from '../shape.ts';
import type { ApiTools } from './api-tools.ts';
import type { CollectionFigures } from './collection-figures.ts';
import { type ApiRoute, route } from './route.ts';

const TAG = 'archive';

const Info = named('Info', {
  name: Type.String(),
  version: Type.String({ description: 'Of Pinakes.' }),
  program: Type.String({ description: 'How the command line is typed on the machine of the server.' }),
  replayOrigin: Type.String({ description: 'Where archived pages are shown from.' }),
  capabilities: closed({ crawl: Type.Boolean(), search: Type.Boolean() }),
  indexing: closed({
    state: Type.Enum(['off', 'waiting', 'working', 'failed'], {
      title: 'IndexingState',
      description: 'Of the search index: left as it is, waiting for changes, taking them in, or not kept up.',
    }),
    message: Type.String({ description: 'The same for people.' }),
    caughtUpAt: Type.Optional(When),
    problem: Type.Optional(closed({ code: Type.String(), message: Type.String(), advice: Type.String() })),
  }),
  jobKinds: Type.Array(Type.String()),
});

const COLLECTION_STATS = {
  urls: Count,
  contents: Type.Integer({ minimum: 0, description: 'Captures whose content is known.' }),
  duplicates: Type.Integer({ minimum: 0, description: 'Of these: all but one of each content.' }),
  duplicatesOfPrevious: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Of these: those whose content the collection before has.' }),
  ),
  persistentUrls: Type.Optional(Type.Integer({ minimum: 0, description: 'URLs that the collection before has.' })),
};

const Stats = named('Stats', {
  captures: Count,
  blocks: Type.Integer({ minimum: 0, description: 'Distinct contents.' }),
  revisits: Count,
  unresolvedRevisits: Type.Integer({ minimum: 0, description: 'Revisits whose content is not in the archive.' }),
  oddRecords: Type.Integer({
    minimum: 0,
    description: 'Records that break the standard, kept in segments of their own.',
  }),
  undatedRecords: Type.Integer({ minimum: 0, description: 'Records without a usable date, which are in no index.' }),
  payloadBytes: Type.Integer({ minimum: 0, description: 'As captured: every capture counts.' }),
  uniquePayloadBytes: Type.Integer({ minimum: 0, description: 'Of distinct contents.' }),
  storedPayloadBytes: Type.Integer({ minimum: 0, description: 'Payloads that stand in segments.' }),
  storedBytes: Type.Integer({ minimum: 0, description: 'Segments as they lie in the volumes.' }),
  deadBytes: Type.Integer({ minimum: 0, description: 'Of these: deleted, not yet compacted away.' }),
  savedByDeduplicationBytes: Count,
  savedByCompressionBytes: Type.Integer({ description: 'Negative when heads weigh more than compression saves.' }),
  segments: Count,
  catalogBytes: Count,
  collections: Type.Array(
    named('CollectionStats', {
      collection: Type.String(),
      firstTime: When,
      lastTime: When,
      captures: Count,
      ...COLLECTION_STATS,
    }),
  ),
  computedAt: When,
});

const Collection = named('Collection', {
  name: Type.String(),
  captures: Count,
  revisits: Count,
  payloadBytes: Type.Integer({ minimum: 0, description: 'As captured: every capture counts.' }),
  uniquePayloadBytes: Type.Integer({ minimum: 0, description: 'Of contents that are distinct within the collection.' }),
  storedBytes: Type.Integer({ minimum: 0, description: 'Records of its captures, as they lie in the segments.' }),
  duplicateShare: Type.Number({ minimum: 0, maximum: 1, description: 'Duplicates among captures of known content.' }),
  first: When,
  last: When,
  ...COLLECTION_STATS,
});

const Growth = named('Growth', {
  name: Type.String(),
  computedAt: When,
  points: Type.Array(
    named('GrowthPoint', {
      month: Type.String({ pattern: '^\\d{4}-\\d{2}$' }),
      captures: Count,
      payloadBytes: Count,
      newBytes: Type.Integer({ minimum: 0, description: 'Of contents that no earlier capture of the archive has.' }),
      duplicateCaptures: Type.Integer({ minimum: 0, description: 'Captures whose content an earlier one has.' }),
    }),
  ),
});

const Volume = named('Volume', {
  name: Type.String(),
  kind: Type.Enum(['directory', 'linked']),
  state: Type.Enum(['writable', 'read-only', 'linked', 'missing']),
  segments: Count,
  bytes: Count,
  deadBytes: Count,
  freeBytes: Type.Union([Count, Type.Null()]),
  totalBytes: Type.Union([Count, Type.Null()]),
  problem: Type.Optional(Type.String({ description: 'Why it is missing.' })),
});

const Fresh = Type.Object(
  {
    fresh: Type.Optional(Type.Boolean({ description: 'Wait until it is computed anew, if the archive has changed.' })),
  },
  { additionalProperties: false },
);

export function archiveRoutes({ parts, archive, kinds, stats, collections, search, indexing }: ApiTools): ApiRoute[] {
  const collectionItems = async (isFresh: boolean) => {
    const [{ value: figures }, { value }] = await Promise.all([collections.get(isFresh), stats.get(isFresh)]);
    return figures.map((figure) => collectionItem(figure, value.collections));
  };
  return [
    route({
      method: 'GET',
      path: '/api/info',
      tag: TAG,
      summary: 'What this server is and can do',
      reply: { status: 200, schema: Info, says: 'The archive and its server.' },
      handle: async ({ request }) => {
        const jobKinds = kinds.map(({ name }) => name).sort();
        return {
          name: archive.connector.name,
          version: parts.version,
          program: parts.program,
          replayOrigin: parts.originsFor(request.raw).replayOrigin,
          capabilities: { crawl: jobKinds.includes('crawl'), search: await search.isThere() },
          indexing: indexingItem(indexing()),
          jobKinds,
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/stats',
      tag: TAG,
      summary: 'What the archive holds, takes and saves',
      says: 'Computed in the background when the archive has changed; `computedAt` says when.',
      query: Fresh,
      reply: { status: 200, schema: Stats, says: 'As `pinakes stats --json` prints it.' },
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
      path: '/api/collections',
      tag: TAG,
      summary: 'The collections, in the order of their first captures',
      query: Fresh,
      reply: { status: 200, schema: closed({ items: Type.Array(Collection) }), says: 'The collections.' },
      handle: async ({ query }) => ({ items: await collectionItems(query.fresh === true) }),
    }),
    route({
      method: 'GET',
      path: '/api/collections/:name/growth',
      tag: TAG,
      summary: 'How a collection grew, by month',
      params: closed({ name: Type.String() }),
      query: Fresh,
      reply: { status: 200, schema: Growth, says: 'A point for each month that has captures.' },
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
      path: '/api/volumes',
      tag: TAG,
      summary: 'Where the segments lie',
      reply: { status: 200, schema: closed({ items: Type.Array(Volume) }), says: 'The volumes.' },
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
