/**
 * Deleted records that revisits may still name. While a compaction is under way, and after an interrupted one, such a
 * record may have lost its content to another holder before the revisits name the new one. It is in its segment until
 * they do.
 */
import { PinakesError } from '../../base/index.ts';
import type { CatalogView } from '../../catalog/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { blockId } from '../revisit/catalog-draft.ts';
import { deletedRecords } from '../segment/deleted-records.ts';
import type { SegmentWatch } from './segment-watch.ts';

const SEGMENT_MS_MAX = 10;

export class DeletedReferents {
  readonly #visits = new Set<string>();
  /** Contents of deleted records that could not be read, which may be the named ones. */
  readonly #unread = new Set<string>();

  /** The deleted records with one of these contents. */
  static async load(
    archive: OpenedArchive,
    view: CatalogView,
    watch: SegmentWatch,
    contents: ReadonlySet<string>,
  ): Promise<DeletedReferents> {
    const referents = new DeletedReferents();
    for (const segment of await archive.segmentRegistry.all()) {
      if (segment.deadBytes === 0) continue;
      for (const { offset, block } of await deletedRecords(archive, segment, { onMissing: () => {}, view })) {
        const content = block && blockId(block);
        if (!content || !contents.has(content)) continue;
        const place = { segment: segment.number, offset, length: Math.max(0, segment.bytes - offset) };
        const [head] = await archive.access.heads([place]).catch((error: unknown) => {
          // The segment was replaced since.
          if (error instanceof PinakesError) return [];
          throw error;
        });
        if (!head) referents.#unread.add(content);
        else for (const date of [head.date, head.standardDate]) referents.#visits.add(`${date} ${head.targetUri}`);
      }
      await watch.rest(SEGMENT_MS_MAX);
    }
    return referents;
  }

  has(content: string, uri: string, date: string): boolean {
    return this.#visits.has(`${date} ${uri}`) || this.#unread.has(content);
  }
}
