/**
 * The captures of a slice as index lines, CDXJ or CDX, sorted in byte order. The lines point into the segments of the
 * archive, whose file names are unique. The digests are the archive's own, SHA-256 of the payload, unless SHA-1 is
 * requested (see capture-sha1.ts).
 */
import { basename } from 'node:path';
import { formatTimestamp, toHex } from '../../base/index.ts';
import type { Capture } from '../../catalog/index.ts';
import { type CdxEntry, formatCdxjLine, NO_EXTRA, sortLines } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { type Selection, selectCaptures } from '../selection.ts';
import { sha1sOf } from './capture-sha1.ts';

export type CdxjExportOptions = {
  /**
   * `declared-sha1`: the SHA-1 that the record declares, or none. `computed-sha1`: if the record declares none, the
   * payload is read to compute its SHA-1.
   */
  readonly digests?: 'own' | 'declared-sha1' | 'computed-sha1';
  readonly signal?: AbortSignal;
  /** Called with the number of captures collected before the first line. */
  readonly onProgress?: (captures: number) => void;
};

/** The lines, without line ends. */
export async function* exportCdxj(
  archive: OpenedArchive,
  selection: Selection,
  format: (entry: CdxEntry) => string = formatCdxjLine,
  options: CdxjExportOptions = {},
): AsyncGenerator<string> {
  const { digests = 'own' } = options;
  async function* lines(): AsyncGenerator<string> {
    await using view = await archive.catalog.longView();
    let captures = 0;
    for await (const page of selectCaptures(view, selection)) {
      options.signal?.throwIfAborted();
      const sha1s = digests === 'own' ? undefined : await sha1sOf(archive, page, digests === 'computed-sha1');
      for (const [index, capture] of page.entries()) {
        const entry = await cdxEntryOf(archive, capture);
        yield format(sha1s ? { ...entry, digest: sha1s[index] } : entry);
      }
      captures += page.length;
      options.onProgress?.(captures);
    }
  }
  yield* sortLines(lines(), { directory: archive.scratch });
}

async function cdxEntryOf(archive: OpenedArchive, capture: Capture): Promise<CdxEntry> {
  const { place, block, status } = capture;
  const segment = await archive.segmentRegistry.find(place.segment);
  return {
    urlKey: capture.urlKey,
    timestamp: formatTimestamp(capture.time),
    url: capture.url.replaceAll(' ', '%20'),
    mime: capture.kind === 'revisit' ? 'warc/revisit' : capture.mime || undefined,
    status: status === 0 ? undefined : String(status),
    digest: block && `sha256:${toHex(block.digest)}`,
    redirect: undefined,
    robotFlags: undefined,
    length: place.length,
    offset: place.offset,
    filename: segment && basename(segment.name),
    extra: NO_EXTRA,
  };
}
