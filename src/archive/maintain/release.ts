/**
 * Gives back one reference of a content, by the key of the content (D2): the newest capture that was stored without a
 * URL. A client that stored bytes knows nothing but the key, and gives back what it stored, one reference with each
 * call. The content stays until the last capture is deleted.
 *
 * Captures of URLs belong to the people who crawled or added them. Where only these are left, nothing is deleted, and
 * the error lists them.
 */
import { PinakesError } from '../../base/index.ts';
import { type BlockKey, type Capture, rangeOfKey } from '../../catalog/index.ts';
import { addressOfContent, chooseReference } from '../../ledger/index.ts';
import { urlKey } from '../../url/index.ts';
import { captureId } from '../capture-id.ts';
import { formatContent } from '../content-key.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { CaptureReader } from '../read/capture-reader.ts';
import { refreshSegments } from '../segment/listed-segment.ts';
import { selectCaptures } from '../selection.ts';
import type { DeleteReport } from './delete.ts';
import { deleterOf } from './deleter.ts';
import { finishSwaps } from './segment-swap.ts';

/** How many captures an error names. */
const LISTED_MAX = 10;

export type ReleaseOptions = {
  /**
   * The id of the request. A request that is made again with the same id, within 30 days, is carried out once: the
   * report has the number of captures of the first time, and no contents.
   */
  readonly request?: string;
  /**
   * Only captures of these collections, by number. The caller may not learn what other collections hold, so the error
   * does not list captures of URLs.
   */
  readonly collections?: ReadonlySet<number> | undefined;
};

/** The capture that is given back next. Throws where there is none. */
export async function referenceOf(
  reader: CaptureReader,
  key: BlockKey,
  { collections }: ReleaseOptions = {},
): Promise<Capture> {
  const chosen = await findReference(reader, key, collections);
  if (chosen) return chosen;
  if (collections) throw new PinakesError('CONTENT_MISSING', { where: formatContent(key) });
  const captures: Capture[] = [];
  for await (const page of selectCaptures(reader, { block: key })) {
    captures.push(...page.slice(0, LISTED_MAX + 1 - captures.length));
    if (captures.length > LISTED_MAX) break;
  }
  if (captures.length === 0) throw new PinakesError('CONTENT_MISSING', { where: formatContent(key) });
  const listed = captures.slice(0, LISTED_MAX).map((capture) => `${captureId(capture)} of ${capture.url}`);
  if (captures.length > LISTED_MAX) listed.push('and more');
  throw new PinakesError('CONTENT_HAS_URLS', { where: formatContent(key), detail: listed.join(', ') });
}

export function releaseContent(
  archive: OpenedArchive,
  key: BlockKey,
  options: ReleaseOptions = {},
): Promise<DeleteReport> {
  return archive.exclusive(async () => {
    await finishSwaps(archive);
    const changed = new Set<number>();
    const deleter = await deleterOf(archive, changed);
    const { request, collections } = options;
    const isOnce = request !== undefined;
    if (isOnce) await deleter.forgetOldRequests();
    const id = request ?? archive.newId();
    // A request that was carried out before finds its note, and not what is left since.
    const choose = async () => {
      const chosen = await findReference(archive.catalog, key, collections);
      return chosen ? [chosen] : [];
    };
    const report = await deleter.delete({ id, choose, isOnce });
    await refreshSegments(archive, changed);
    if (report.captures === 0) await referenceOf(archive.catalog, key, options);
    return { captures: report.captures, contents: report.contents ?? 0 };
  });
}

async function findReference(
  reader: Pick<CaptureReader, 'captures'>,
  key: BlockKey,
  collections: ReadonlySet<number> | undefined,
): Promise<Capture | undefined> {
  let chosen: Capture | undefined;
  for await (const page of reader.captures(rangeOfKey(urlKey(addressOfContent(key.digest))))) {
    const own = collections ? page.filter(({ collection }) => collections.has(collection)) : page;
    chosen = chooseReference(key, chosen ? [chosen, ...own] : own);
  }
  return chosen;
}
