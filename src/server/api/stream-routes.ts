/** The route for streams of the whole archive or a selection, as WARC, JSON lines or Parquet; see docs/stream.md. */
import { type Static, Type } from 'typebox';
import { type Archive, ScanHub, type StreamFormat, type StreamQuery } from '../../archive/index.ts';
import { pageExtension, RankingStore, type StreamPageFields } from '../../search/index.ts';
import { disconnectSignal } from '../http/client-disconnect.ts';
import { HttpProblem } from '../http/problem.ts';
import { sendStreamBody } from '../http/stream-body.ts';
import { closed, SelectionInput } from '../schema.ts';
import { selectionOf } from '../selection-input.ts';
import { sendTable } from '../stream-table.ts';
import { ANSWERED, type ApiRoute, route } from './route.ts';
import type { SearchService } from './search-service.ts';

/** Each stream may hold a chunk in memory. */
const STREAMS_MAX = 128;
const TABLES_MAX = 2;
const ROWS_MAX = 50_000;

const Flag = (description: string) => Type.Optional(Type.Boolean({ default: false, description }));

const StreamQuestion = closed({
  ...SelectionInput.properties,
  query: Type.Optional(
    Type.String({ minLength: 1, maxLength: 4000, description: 'A query on captures: status:200 site:example.org' }),
  ),
  format: Type.Optional(Type.Enum(['warc', 'jsonl', 'parquet'], { default: 'warc' })),
  order: Type.Optional(
    Type.Enum(['storage', 'time', 'url', 'inlinks', 'rank'], {
      default: 'storage',
      description: '`inlinks` and `rank` come from the search index; pages with the most links to them come first.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 60_000,
      description: 'The position where an earlier reply to the same query ended.',
    }),
  ),
  snapshot: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'A named snapshot, instead of the present state.' }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, description: 'End after the record in which this many bytes are exceeded.' }),
  ),
  rows: Type.Optional(
    Type.Integer({ minimum: 1, maximum: ROWS_MAX, default: ROWS_MAX, description: 'Rows of one Parquet table.' }),
  ),
  share: Flag('Join a running stream of the same records at its position. The missed records come at the end.'),
  resolve: Flag('WARC: write revisits as full records.'),
  text: Flag('JSON lines: add the text of pages.'),
  links: Flag('JSON lines: add the links of pages.'),
  frames: Flag('Send frames, with cursors between them.'),
});

export function streamRoutes(archive: Archive, search: SearchService, stopping: AbortSignal): ApiRoute[] {
  const sharing = new ScanHub();
  const rankings = new RankingStore(archive);
  let tables = 0;
  return [
    route({
      method: 'GET',
      right: 'read',
      audit: 'export',
      path: '/api/stream',
      tag: 'stream',
      summary: 'Records of the archive, each exactly once',
      description:
        'From a fixed snapshot. X-Pinakes-Cursor in the trailer, or a cursor between lines or frames, is where a later call continues. A table has it in the header fields.',
      query: StreamQuestion,
      reply: {
        status: 200,
        mime: 'application/octet-stream',
        description:
          'application/warc with one gzip member for each record, application/x-ndjson, application/vnd.apache.parquet, or application/x-pinakes-frames.',
      },
      problems: [404, 410],
      beginsWork: true,
      handle: async ({ query: input, signal, reply }) => {
        const { format = 'warc', share = false, resolve, frames = false, limit, rows = ROWS_MAX } = input;
        const selection = await selectionOf(archive, input);
        const { order: orderName = 'storage', cursor, snapshot } = input;
        const order = orderName === 'inlinks' || orderName === 'rank' ? rankings.ranking(orderName) : orderName;
        const query: StreamQuery = { selection, order, cursor, snapshot };
        const refuse = (error: unknown) => {
          throw search.clientError(error);
        };
        const filename = `stream.${format === 'warc' ? 'warc.gz' : format}`;
        if (sharing.clients.size >= STREAMS_MAX || (format === 'parquet' && tables >= TABLES_MAX)) throw BUSY;
        if (format === 'parquet') {
          tables++;
          try {
            await sendTable(
              reply.raw,
              archive,
              { ...query, signal },
              { rows, filename, begin: () => void reply.hijack() },
            ).catch(refuse);
          } finally {
            tables--;
          }
          return ANSWERED;
        }
        const wanted = {
          format: formatOf(archive, format, input),
          query: { ...query, wholeSegments: true, resolve },
        };
        const joins = share && order === 'storage';
        // When the server stops, streams continue to their next cursor. Only a disconnect ends them at once.
        const disconnect = disconnectSignal(reply.raw);
        await using stream = await archive.subscribe(sharing, wanted, { joins, signal: disconnect }).catch(refuse);
        reply.hijack();
        await sendStreamBody(reply.raw, stream, {
          format,
          isFramed: frames,
          bytesMax: limit ?? Number.POSITIVE_INFINITY,
          stopping,
          filename,
        });
        return ANSWERED;
      },
    }),
  ];
}

function formatOf(
  archive: Archive,
  format: 'warc' | 'jsonl',
  { resolve = false, text = false, links = false }: Static<typeof StreamQuestion>,
): StreamFormat {
  if (format === 'warc')
    return { name: resolve ? 'warc resolved' : 'warc', open: (query) => archive.streamWarc(query) };
  const fields: StreamPageFields = { text, links };
  const extend = text || links ? pageExtension(fields, archive.documentMemory) : undefined;
  return { name: `jsonl ${JSON.stringify(fields)}`, open: (query) => archive.streamJson(query, extend) };
}

const BUSY = new HttpProblem({
  status: 503,
  code: 'STREAMS_BUSY',
  message: 'the maximum number of streams is running',
  advice: 'Try again when one of them has ended.',
  fields: { 'retry-after': '30' },
});
