/** Metadata records: what goes with a collection and is no capture, such as the report of a crawl. */
import { type EpochMs, formatW3cDate } from '../base/index.ts';
import { MemberEncoder, recordParts } from '../warc/index.ts';
import type { WritingParts } from './writing-parts.ts';

export type NewMetadata = {
  readonly url: string;
  readonly time: EpochMs;
  readonly mime: string;
  readonly body: Uint8Array;
};

/** Appends the record to the collection's segment, durably, and gives its id. */
export async function storeMetadata(
  parts: WritingParts,
  metadata: NewMetadata,
  options: { readonly collection?: string; readonly volume?: string } = {},
): Promise<string> {
  const recordId = parts.newId();
  const record = {
    type: 'metadata',
    recordId,
    date: formatW3cDate(metadata.time),
    targetUri: metadata.url,
    contentType: metadata.mime,
  } as const;
  const member = new MemberEncoder({ coding: 'gzip', level: 6 }).encode(recordParts(record, metadata.body));
  const collectionName = options.collection ?? 'default';
  await parts.exclusive(async () => {
    const collection = await parts.collections.number(collectionName);
    const volume = options.volume ?? (await parts.volumeChoice())(new Uint8Array(32));
    try {
      const open = await parts.segmentRegistry.openFor({ collection, collectionName, volume, coding: 'gzip' });
      parts.segmentRegistry.append(open, member);
      await parts.commit(parts.newDraft());
    } catch (error) {
      await parts.rollBack();
      throw error;
    }
  });
  return recordId;
}
