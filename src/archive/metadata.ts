/** Metadata records: data of a collection that is not a capture, such as the report of a crawl. */
import { type EpochMs, formatW3cDate } from '../base/index.ts';
import { commitUntilTaken } from '../ledger/index.ts';
import { MemberEncoder, recordParts } from '../warc/index.ts';
import type { OpenedArchive } from './opened-archive.ts';
import { volumeChoice } from './segment/volume-choice.ts';

export type NewMetadata = {
  readonly url: string;
  readonly time: EpochMs;
  readonly mime: string;
  readonly body: Uint8Array;
};

/** Appends the record to a segment of the collection, durably. Returns its id. */
export async function storeMetadata(
  archive: OpenedArchive,
  metadata: NewMetadata,
  options: { readonly collection?: string; readonly volume?: string } = {},
): Promise<string> {
  const recordId = archive.newId();
  const record = {
    type: 'metadata',
    recordId,
    date: formatW3cDate(metadata.time),
    targetUri: metadata.url,
    contentType: metadata.mime,
  } as const;
  const member = new MemberEncoder({ coding: 'gzip', level: 6 }).encode(recordParts(record, metadata.body));
  const collectionName = options.collection ?? 'default';
  await archive.growing(async () => {
    const collection = await archive.collections.number(collectionName);
    const wanted = options.volume && archive.volumes.named(options.volume).name;
    const volume = wanted ?? (await volumeChoice(archive))(new Uint8Array(32));
    try {
      await commitUntilTaken(async () => {
        const open = await archive.segmentWriter.openFor({ collection, collectionName, volume, coding: 'gzip' });
        archive.segmentWriter.append(open, member);
        return archive.commit(archive.newDraft());
      });
    } catch (error) {
      await archive.segmentWriter.rollBack();
      throw error;
    }
  });
  return recordId;
}
