/** The route of the nodes: the volumes with their room and with what each does at present. */
import { Type } from 'typebox';
import type { Archive, NodeStatus } from '../../archive/index.ts';
import { formatW3cDate } from '../../base/index.ts';
import { Count, closed, countOf, named, W3cDate } from '../schema.ts';
import { type ApiRoute, route } from './route.ts';

const Node = named('Node', {
  name: Type.String(),
  kind: Type.Enum(['directory', 'linked', 's3']),
  path: Type.String({ description: 'The directory, the list of linked files, or `s3://bucket/prefix`.' }),
  endpoint: Type.Optional(Type.String({ description: 'The address of the server of a bucket.' })),
  writable: Type.Boolean(),
  state: Type.Enum(['idle', 'storing', 'streaming', 'rebalancing', 'read-only', 'missing'], {
    title: 'NodeState',
    description: 'The first that is true: missing, rebalancing, storing, streaming, read-only, idle.',
  }),
  segments: Count,
  bytes: countOf('Size of its segments.'),
  deadBytes: countOf('Bytes of deleted records, which compaction would free.'),
  freeBytes: Type.Optional(countOf('Absent when the volume does not say it, as buckets do.')),
  totalBytes: Type.Optional(countOf('The size of its disk.')),
  pending: closed(
    { read: Count, stream: Count, write: Count, sync: Count, list: Count },
    'Requests of this server under way, by kind.',
  ),
  lastMinute: closed({ requests: Count, readBytes: Count, writtenBytes: Count }, 'What ended in the last minute.'),
  lastError: Type.Optional(
    closed({ time: W3cDate, code: Type.String(), message: Type.String() }, 'The last request that failed.'),
  ),
  failure: Type.Optional(
    closed({ code: Type.String(), message: Type.String(), advice: Type.String() }, 'Why it is missing.'),
  ),
  bucket: Type.Optional(
    closed(
      {
        ...{ puts: Count, gets: Count, heads: Count, lists: Count, deletes: Count },
        ...{ bytesRead: Count, bytesWritten: Count },
        retries: countOf('Requests that were sent again.'),
        pending: closed({ put: Count, get: Count, head: Count, list: Count, delete: Count }),
        lastError: Type.Optional(Type.String({ description: 'Also when a later try succeeded.' })),
      },
      'Requests to the server of a bucket since the volume was opened.',
    ),
  ),
});

const Nodes = named('Nodes', { time: W3cDate, nodes: Type.Array(Node) });

export function nodeRoutes(archive: Archive): ApiRoute[] {
  return [
    route({
      method: 'GET',
      path: '/api/nodes',
      tag: 'archive',
      summary: 'The volumes, and what each does at present',
      description: 'The activity is that of this server. A bucket is asked for one object, to find out if it answers.',
      reply: { status: 200, schema: Nodes, description: 'All volumes.' },
      right: 'admin',
      handle: async () => ({ time: formatW3cDate(archive.clock()), nodes: (await archive.nodes()).map(nodeItem) }),
    }),
  ];
}

function nodeItem(node: NodeStatus) {
  const { name, kind, path, endpoint, writable, state, segments, bytes, deadBytes, freeBytes, totalBytes } = node;
  const { pending, lastMinute, lastError, failure, bucket } = node;
  const { lastError: bucketError, ...bucketCounts } = bucket ?? {};
  return {
    ...{ name, kind, path, writable, state, segments, bytes, deadBytes, pending, lastMinute },
    ...(endpoint !== undefined && { endpoint }),
    ...(freeBytes !== undefined && { freeBytes }),
    ...(totalBytes !== undefined && { totalBytes }),
    ...(lastError && { lastError: { ...lastError, time: formatW3cDate(lastError.time) } }),
    ...(failure && { failure: { code: failure.code, message: failure.message, advice: failure.advice } }),
    ...(bucket && { bucket: { ...bucketCounts, ...(bucketError !== undefined && { lastError: bucketError }) } }),
  };
}
