/**
 * Routes about segments: which there are, and their bytes. Segments are looked up in the catalog; no path is ever made
 * of what a URL says.
 */

import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { Archive } from '../../archive/index.ts';
import { PinakesError } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { download, downloadMime } from '../http/download.ts';
import { badRequest } from '../http/problem.ts';
import { After, Count, closed, limitOf, named } from '../shape.ts';
import type { ApiTools } from './api-tools.ts';
import { type ApiRoute, route } from './route.ts';

const TAG = 'segments';

const SegmentItem = named('Segment', {
  name: Type.String(),
  volume: Type.String(),
  collection: Type.String(),
  state: Type.Enum(['open', 'sealed']),
  bytes: Type.Integer({ minimum: 0, description: 'Up to the last record that is durable.' }),
  records: Count,
  deadBytes: Type.Integer({ minimum: 0, description: 'Deleted, not yet compacted away.' }),
  href: Type.String({ description: 'Where its bytes are.' }),
});

export function segmentRoutes({ archive }: ApiTools): ApiRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/segments',
      tag: TAG,
      summary: 'The WARC files of the archive, in the order they were made',
      query: closed({
        collection: Type.Optional(Type.String({ maxLength: 100, description: 'Only those of this collection.' })),
        after: Type.Optional(After),
        limit: limitOf(1000, 100),
      }),
      reply: {
        status: 200,
        schema: closed({ items: Type.Array(SegmentItem), next: Type.Optional(Type.String()) }),
        says: 'A page of segments.',
      },
      handle: async ({ query: { collection, after, limit = 100 } }) => {
        if (after !== undefined && !/^\d{1,15}$/.test(after))
          throw badRequest('this is no place to go on from', 'Send the `next` of the page before.', 'query/after');
        const wanted = collection === undefined ? undefined : (archive.collections.find(collection) ?? -1);
        const rest = archive
          .segments()
          .filter((one) => one.number > Number(after ?? -1) && (wanted === undefined || one.collection === wanted));
        const page = rest.slice(0, limit);
        return {
          items: page.map((segment) => segmentItem(archive, segment)),
          ...(rest.length > limit && { next: String(page.at(-1)!.number) }),
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/segments/:volume/*',
      tag: TAG,
      summary: 'The bytes of a segment',
      says: 'A WARC file as it lies in its volume, up to the last record that is durable. Range requests for one range; the name may hold slashes.',
      params: Type.Object({ volume: Type.String() }),
      reply: { status: 200, mime: 'application/warc', says: 'The file, or with status 206 a range of it.' },
      problems: [404, 416],
      handle: async ({ params, request, reply }) => {
        const { '*': asked = '' } = request.params as { '*'?: string };
        const segment = archive.segments().find(({ volume, name }) => volume === params.volume && name === asked);
        if (!segment) throw new PinakesError('CONTENT_MISSING', { where: `segment ${asked.slice(0, 300)}` });
        return download(request, reply, {
          filename: segment.name.split('/').pop()!,
          mime: downloadMime(segment.name),
          bytes: segment.bytes,
          tag: tagOf(segment),
          read: (from, to) => archive.segmentBytes(segment.name, from, to),
        });
      },
    }),
  ];
}

/**
 * Segments only grow, and one that is rewritten gets another name: so its name and its length say which bytes it has.
 */
function tagOf({ volume, name, bytes }: Segment): string {
  return createHash('sha256').update(`${volume}\n${name}\n${bytes}`).digest('base64url').slice(0, 27);
}

function segmentItem(archive: Archive, { name, volume, collection, state, bytes, records, deadBytes }: Segment) {
  const href = `/api/segments/${encodeURIComponent(volume)}/${name.split('/').map(encodeURIComponent).join('/')}`;
  return { name, volume, collection: archive.collections.name(collection), state, bytes, records, deadBytes, href };
}
