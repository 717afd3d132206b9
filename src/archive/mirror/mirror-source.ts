/**
 * Members of damaged and lost records in mirrors. What a source returns was read to its end, and its digests are right
 * (I15).
 */
import { digestOf, equal, PinakesError, parseDigest, sameDigest } from '../../base/index.ts';
import type { Block, CatalogView, Place, Segment } from '../../catalog/index.ts';
import { urlKey } from '../../url/index.ts';
import { memberHasChecksum, type RecordHead } from '../../warc/index.ts';
import {
  type ContentCopies,
  dictionaryIn,
  payloadBytes,
  payloadDigest,
  type WholeRecord,
} from '../read/content-copies.ts';
import type { SegmentBackup } from './mirror-reader.ts';

/** A record that is damaged or gone, and the content that it has, unless it is a revisit. */
export type LostRecord = {
  readonly segment: Pick<Segment, 'name'>;
  readonly place: Place;
  readonly block: Block | undefined;
};

export type FoundMember = {
  readonly member: Uint8Array;
  /** The dictionary that it was compressed with. */
  readonly dictionary: Uint8Array | undefined;
};

export type RestoreSource = (lost: LostRecord) => Promise<FoundMember | undefined>;

/** The parts of an open archive by which a record is checked. */
export type CheckingArchive = {
  readonly access: { readonly copies: Pick<ContentCopies, 'decode'> };
  readonly catalog: Pick<CatalogView, 'findCaptures'>;
  readonly fingerprint: (digest: Uint8Array) => Uint8Array;
};

/** The same bytes of the same segment in a mirror. A mirror that fails counts as one without them. */
export function mirrorSource({ access, catalog, fingerprint }: CheckingArchive, mirror: SegmentBackup): RestoreSource {
  return async ({ segment: { name }, place, block }) => {
    try {
      const member = await mirror.read(name, place.offset, place.length);
      const dictionary = member && name.endsWith('.zst') ? await dictionaryFrom(mirror, name) : undefined;
      const record = member && access.copies.decode(member, dictionary);
      if (!record || !(isAsDeclared(record) ?? (block !== undefined || memberHasChecksum(member)))) return undefined;
      const isContent =
        !block || (payloadBytes(record) === block.size && equal(fingerprint(payloadDigest(record)), block.key.digest));
      if (!isContent) return undefined;
      // The capture of a record that holds a content may have been deleted.
      const isOwn = (await isCaptureAt(catalog, place, record.head)) || (block && isHolder(block, place));
      return isOwn ? { member, dictionary } : undefined;
    } catch (error) {
      if (error instanceof PinakesError) return undefined;
      throw error;
    }
  };
}

async function dictionaryFrom(mirror: SegmentBackup, name: string): Promise<Uint8Array | undefined> {
  const start = await mirror.read(name, 0, 8);
  const frame = start && (await mirror.read(name, 0, 8 + Buffer.from(start).readUInt32LE(4)));
  return frame && dictionaryIn(frame);
}

/** Whether a record has the digest that it declares. Undefined: it declares none. */
function isAsDeclared({ head, block }: WholeRecord): boolean | undefined {
  const declared = parseDigest(head.get('warc-block-digest') ?? '');
  return declared && sameDigest(declared, digestOf(declared.algorithm, block));
}

export function isHolder({ holder }: Block, { segment, offset }: Place): boolean {
  return holder.segment === segment && holder.offset === offset;
}

export async function isCaptureAt(
  catalog: CheckingArchive['catalog'],
  at: Place,
  { targetUri, time }: RecordHead,
): Promise<boolean> {
  if (targetUri === undefined || time === undefined) return false;
  const [found = []] = await catalog.findCaptures([{ urlKey: urlKey(targetUri), time, at }]);
  return found.length > 0;
}
