/**
 * Applies a selection to records while a segment is read. Records that are not captures do not have a status or a media
 * type, so a selection with these or with a query excludes them.
 *
 * A record is checked twice: when its head is known, and when the HTTP head in it is known. Only the size of its
 * payload is looked up in the catalog, since a revisit does not contain its payload.
 */
import type { CaptureKind, CatalogView, Segment } from '../../catalog/index.ts';
import { CAPTURE_ID_FIELD, recordHash } from '../../ledger/index.ts';
import { isInRanges, urlKey } from '../../url/index.ts';
import type { RecordHead } from '../../warc/index.ts';
import { isCaptureType } from '../read/concurrent-records.ts';
import { keyRanges, type Selection } from '../selection.ts';
import type { StreamedRecord } from './streamed-record.ts';

export class HeadFilter {
  readonly #catalog: CatalogView;
  readonly #selection: Selection;
  /** The ranges of URL keys that match. Undefined when any URL matches. */
  readonly #ranges: { from: string; to: string }[] | undefined;

  constructor(catalog: CatalogView, selection: Selection) {
    this.#catalog = catalog;
    this.#selection = selection;
    const bounds = keyRanges(selection);
    const ranges = bounds.flatMap(({ keyFrom, keyTo }) =>
      keyFrom === undefined || keyTo === undefined ? [] : [{ from: keyFrom, to: keyTo }],
    );
    this.#ranges = ranges.length === bounds.length ? ranges : undefined;
  }

  passes(head: RecordHead): boolean {
    const { from, to, types, status, mime, query } = this.#selection;
    if (types !== undefined && !types.includes(head.type)) return false;
    const isOfCaptures = status !== undefined || mime !== undefined || query !== undefined;
    if (isOfCaptures && !isCaptureType(head.type)) return false;
    if (from !== undefined || to !== undefined) {
      const { time } = head;
      if (time === undefined || time < (from ?? time) || time > (to ?? time)) return false;
    }
    if (!this.#ranges) return true;
    return head.targetUri !== undefined && isInRanges(urlKey(head.targetUri), this.#ranges);
  }

  async passesMessage(record: StreamedRecord): Promise<boolean> {
    const { status, mime, query } = this.#selection;
    if (status !== undefined && record.status !== status) return false;
    if (mime !== undefined && record.mime !== mime) return false;
    if (query === undefined) return true;
    const { head, segment } = record;
    if (head.targetUri === undefined || head.time === undefined) return false;
    const facts = {
      urlKey: urlKey(head.targetUri),
      time: head.time,
      kind: head.type as CaptureKind,
      collection: segment.collection,
      status: record.status,
      mime: record.mime,
    };
    if (!query.isMet(facts, false)) return false;
    return !query.asksForSize || query.isMet({ ...facts, size: await this.#sizeOf(head, segment, facts) });
  }

  async #sizeOf(
    head: RecordHead,
    segment: Segment,
    { urlKey: key, time }: { urlKey: ReturnType<typeof urlKey>; time: number },
  ): Promise<number | undefined> {
    const id = head.get(CAPTURE_ID_FIELD) ?? head.recordId;
    const meant =
      id === undefined ? { at: { segment: segment.number, offset: head.offset } } : { ofHash: recordHash(id) };
    const [found] = await this.#catalog.findCaptures([{ urlKey: key, time, ...meant }]);
    const capture = found!.find(({ collection }) => collection === segment.collection);
    const [block] = capture?.block ? await this.#catalog.getBlocks([capture.block]) : [];
    return block?.size;
  }
}
