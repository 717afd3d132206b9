/**
 * A revisit as a full record: its own head and the payload of the record that it refers to, with another id and with
 * WARC-Previous-Record-ID. The HTTP head is the revisit's own except for the codings: the transfer coding is removed,
 * and the content coding is that of the payload. A revisit with an HTTP head becomes a response, whatever the type of
 * the other record.
 */
import { createHash } from 'node:crypto';
import { EMPTY } from '../../base/index.ts';
import type { Block } from '../../catalog/index.ts';
import { urlKey } from '../../url/index.ts';
import {
  fieldsOf,
  headBytes,
  type NewRecord,
  recordStream,
  revisitProfileOf,
  type StreamedBlock,
} from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { type OpenedRecord, releasePayload } from '../read/record-access.ts';
import { fullRecord, messageBlock, withCodingsOf } from '../revisit/promoted.ts';
import type { StreamedRecord } from './streamed-record.ts';

export function expandedRecord(
  own: OpenedRecord,
  holder: OpenedRecord,
  block: Block,
  recordId: string,
): { record: NewRecord; block: StreamedBlock } {
  const http = own.http ?? holder.http;
  // A resource does not have codings. The payload has the codings of the revisit's own head.
  const message = http && withCodingsOf(http.bytes, (holder.http ?? http).fields);
  const record = fullRecord(own.head, holder.head, block.key, recordId, message !== undefined);
  const truncated = holder.head.get('warc-truncated');
  const fields = truncated === undefined ? [] : [{ name: 'WARC-Truncated', value: truncated }];
  return {
    record: { ...record, fields: [...record.fields!, ...fields] },
    block: messageBlock(message ?? EMPTY, holder.payload, block.size),
  };
}

/**
 * The bytes of the full record for a revisit in a stream. Undefined when it has to stay a revisit: its content is
 * damaged or not in the archive, or it is a server's "not modified", and such a response cannot have a body. Its id is
 * derived from the revisit's, so that a resumed stream has the same bytes.
 */
export async function expandRevisit(
  archive: Pick<OpenedArchive, 'access' | 'catalog'>,
  { head, segment }: StreamedRecord,
): Promise<StreamedBlock | undefined> {
  if (head.targetUri === undefined || head.time === undefined || head.recordId === undefined) return undefined;
  const at = { segment: segment.number, offset: head.offset };
  const [found] = await archive.catalog.findCaptures([{ urlKey: urlKey(head.targetUri), time: head.time, at }]);
  const [capture] = found!;
  const [block] = capture?.block ? await archive.catalog.getBlocks([capture.block]) : [];
  if (!capture || !block) return undefined;
  const own = await archive.access.open(capture.place);
  await releasePayload(own.payload);
  const profile = revisitProfileOf(own.head.get('warc-profile') ?? '');
  if (profile === 'server-not-modified' && own.http?.status === 304) return undefined;
  const holder = await archive.access.openSound(block.holder, capture.url);
  if (!('payload' in holder)) return undefined;
  const { record, block: content } = expandedRecord(own, holder, block, derivedId(head.recordId));
  return recordStream(headBytes(fieldsOf(record, content.length)), content);
}

/** A name-based UUID (RFC 9562, version 8) of the full record that a revisit becomes. */
function derivedId(recordId: string): string {
  const hex = createHash('sha256').update(`resolved ${recordId}`).digest('hex');
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return `<urn:uuid:${[...parts, hex.slice(20, 32)].join('-')}>`;
}
