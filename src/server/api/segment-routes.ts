/** Routes for segments: the list, and their bytes. Segments are looked up by name; a URL never becomes a path. */
import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { Archive } from '../../archive/index.ts';
import { PinakesError } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { download, downloadMime } from '../http/download.ts';
import { invalidCursor } from '../http/problem.ts';
import { Count, closed, countOf, limitOf, named, PageCursor } from '../schema.ts';
import { type ApiRoute, route } from './route.ts';

const TAG = 'segments';

const SegmentItem = named('Segment', {
  name: Type.String(),
  volume: Type.String(),
  collection: Type.String(),
  state: Type.Enum(['open', 'sealed']),
  bytes: countOf('Up to the last durable record.'),
  records: Count,
  deadBytes: countOf('Deleted, but not yet compacted.'),
  href: Type.String({ description: 'The address of its bytes.' }),
});

export function segmentRoutes(archive: Archive): ApiRoute[] {
  return [
    route({
      method: 'GET',
      right: 'read',
      path: '/api/segments',
      tag: TAG,
      summary: 'The WARC files of the archive, in order of creation',
      query: closed({
        collection: Type.Optional(Type.String({ maxLength: 100, description: 'Only segments of this collection.' })),
        after: Type.Optional(PageCursor),
        limit: limitOf(1000, 100),
      }),
      reply: {
        status: 200,
        schema: closed({ items: Type.Array(SegmentItem), next: Type.Optional(Type.String()) }),
        description: 'A page of segments.',
      },
      handle: async ({ query: { collection, after, limit = 100 } }) => {
        if (after !== undefined && !/^\d{1,15}$/.test(after)) throw invalidCursor();
        const wanted = collection === undefined ? undefined : ((await archive.collections.find(collection)) ?? -1);
        const rest = (await archive.segments()).filter(
          (one) => one.number > Number(after ?? -1) && (wanted === undefined || one.collection === wanted),
        );
        const page = rest.slice(0, limit);
        return {
          items: await Promise.all(page.map((segment) => segmentItem(archive, segment))),
          ...(rest.length > limit && { next: String(page.at(-1)!.number) }),
        };
      },
    }),
    route({
      method: 'GET',
      right: 'read',
      path: '/api/segments/:volume/*',
      tag: TAG,
      summary: 'The bytes of a segment',
      description:
        'A WARC file as stored in its volume, up to the last durable record. A request may name one range. The name may contain slashes.',
      params: Type.Object({ volume: Type.String() }),
      reply: { status: 200, mime: 'application/warc', description: 'The file, or a range of it with status 206.' },
      problems: [404, 416],
      handle: async ({ params, request, reply }) => {
        const { '*': wantedName = '' } = request.params as { '*'?: string };
        const segment = (await archive.segments()).find(
          ({ volume, name }) => volume === params.volume && name === wantedName,
        );
        if (!segment) throw new PinakesError('CONTENT_MISSING', { where: `segment ${wantedName.slice(0, 300)}` });
        return download(request, reply, {
          filename: segment.name.split('/').pop()!,
          mime: downloadMime(segment.name),
          bytes: segment.bytes,
          tag: entityTag(segment),
          read: (from, to) => archive.segmentBytes(segment.name, from, to),
        });
      },
    }),
  ];
}

/** Name and length identify the bytes: a segment only grows, and a rewritten segment gets a new name. */
function entityTag({ volume, name, bytes }: Segment): string {
  return createHash('sha256').update(`${volume}\n${name}\n${bytes}`).digest('base64url').slice(0, 27);
}

async function segmentItem(archive: Archive, segment: Segment) {
  const { name, volume, state, bytes, records, deadBytes } = segment;
  const collection = await archive.collections.name(segment.collection);
  const href = `/api/segments/${encodeURIComponent(volume)}/${name.split('/').map(encodeURIComponent).join('/')}`;
  return { name, volume, collection, state, bytes, records, deadBytes, href };
}
