/** A capture in the replies of the API. */
import { type Static, Type } from 'typebox';
import { type Archive, captureId, formatContentKey } from '../../archive/index.ts';
import { equal, formatTimestamp, formatW3cDate } from '../../base/index.ts';
import type { Capture } from '../../catalog/index.ts';
import { Count, countOf, named, Timestamp, W3cDate } from '../schema.ts';

export const CAPTURE_PROPERTIES = {
  id: Type.String({ description: 'Identifies the capture, even when its record is moved.' }),
  url: Type.String(),
  time: W3cDate,
  timestamp: Timestamp,
  status: Type.Integer({ description: 'HTTP status; 0 without one.' }),
  mime: Type.String({ description: 'Media type without parameters; empty when unknown.' }),
  kind: Type.Enum(['response', 'revisit', 'resource', 'conversion', 'metadata']),
  contentKey: Type.Union([Type.String(), Type.Null()], {
    description: 'Identifies the content. Null when it is not known, as for a revisit whose original was never added.',
  }),
  payloadBytes: Type.Union([Count, Type.Null()], { description: 'Size of the content.' }),
  storedBytes: countOf('Size of the record of this capture in its segment.'),
  collection: Type.String(),
  sameAsPrevious: Type.Boolean({ description: 'Whether the previous capture of this URL has the same content.' }),
};

export const CaptureItem = named('Capture', CAPTURE_PROPERTIES);
export type CaptureItem = Static<typeof CaptureItem>;

/** A capture, and the previous capture of its URL. */
export type WithPrevious = { readonly capture: Capture; readonly previous: Capture | undefined };

export async function captureItems(archive: Archive, list: readonly WithPrevious[]): Promise<CaptureItem[]> {
  const known = list.flatMap(({ capture }) => (capture.block ? [capture.block] : []));
  const held = (await archive.getBlocks(known))[Symbol.iterator]();
  const blocks = list.map(({ capture }) => (capture.block ? held.next().value : undefined));
  // A key names the volume where the content is, which may be another one than that of the capture's record.
  const places = list.map(({ capture }, index) => blocks[index]?.holder ?? capture.place);
  const locations = await archive.records.locate(places);
  const items = list.map(async ({ capture, previous }, index): Promise<CaptureItem> => {
    const collection = await archive.collections.name(capture.collection);
    const block = blocks[index];
    const volume = locations[index]?.volume;
    return {
      id: captureId(capture),
      url: capture.url,
      time: formatW3cDate(capture.time),
      timestamp: formatTimestamp(capture.time),
      status: capture.status,
      mime: capture.mime,
      kind: capture.kind,
      contentKey: capture.block && volume !== undefined ? formatContentKey(volume, capture.block) : null,
      payloadBytes: block?.size ?? null,
      storedBytes: capture.place.length,
      collection,
      sameAsPrevious: previous !== undefined && haveSameContent(capture, previous),
    };
  });
  return Promise.all(items);
}

/** Whether two captures have the same content. Unknown contents are never the same. */
export function haveSameContent({ block: a }: Capture, { block: b }: Capture): boolean {
  return a !== undefined && b !== undefined && a.overflow === b.overflow && equal(a.digest, b.digest);
}
