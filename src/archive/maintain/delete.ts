/**
 * Deleting: captures leave the catalog in the commit that enters a record of the deletion (D1). A content leaves the
 * catalog with its last reference. Compaction removes the bytes from the segments (I5, I6).
 *
 * A large deletion is made in steps. Each is carried out completely or not at all: after a crash, the next opening
 * carries out a step whose record is durable.
 */
import type { Capture } from '../../catalog/index.ts';
import type { UrlKey } from '../../url/index.ts';
import { sortLines } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { CaptureView } from '../read/capture-reader.ts';
import { blockId, parseBlockId } from '../revisit/catalog-draft.ts';
import { refreshSegments } from '../segment/listed-segment.ts';
import { type Selection, selectCaptures } from '../selection.ts';
import { deleterOf } from './deleter.ts';
import { finishSwaps } from './segment-swap.ts';

export type DeletePreview = {
  captures: number;
  /** URL keys of these captures. */
  addresses: number;
  /** Contents that nothing will refer to afterwards. */
  contents: number;
  /** Payload bytes of these contents, which compaction will free. */
  contentBytes: number;
  /** Contents that stay because other captures have them. */
  contentsKept: number;
  /** Examples: one URL of each of the first addresses. */
  readonly examples: string[];
  /** How many captures of each example would be deleted. */
  readonly exampleCaptures: number[];
};

export type DeleteReport = { readonly captures: number; readonly contents: number };

const EXAMPLES_MAX = 10;
const STEP_CAPTURES = 2000;

/** Counts what a deletion would remove from the captures of `view`. */
export async function previewDelete(
  scratch: string,
  selection: Selection,
  view: CaptureView,
  options: Omit<DeleteOptions, 'seen'> = {},
): Promise<DeletePreview> {
  const preview: DeletePreview = {
    captures: 0,
    addresses: 0,
    contents: 0,
    contentBytes: 0,
    contentsKept: 0,
    examples: [],
    exampleCaptures: [],
  };
  async function* contents(): AsyncGenerator<string> {
    let key: UrlKey | undefined;
    for await (const page of selectCaptures(view, selection)) {
      for (const { url, urlKey, block } of page) {
        preview.captures++;
        // Captures are in the order of their keys, so one address follows another.
        if (urlKey !== key) {
          preview.addresses++;
          if (preview.addresses <= EXAMPLES_MAX) {
            preview.examples.push(url);
            preview.exampleCaptures.push(0);
          }
        }
        key = urlKey;
        if (preview.addresses <= EXAMPLES_MAX) preview.exampleCaptures[preview.addresses - 1]!++;
        if (block) yield blockId(block);
      }
      options.signal?.throwIfAborted();
      options.onProgress?.(preview.captures);
    }
  }
  // Captures of one content are scattered. Sorting outside of memory brings them together (I9).
  let touched: Touched[] = [];
  for await (const id of sortLines(contents(), { directory: scratch })) {
    const last = touched.at(-1);
    if (last?.id === id) {
      last.captures++;
      continue;
    }
    if (touched.length >= STEP_CAPTURES) {
      await countContents(view, touched, preview);
      touched = [];
    }
    touched.push({ id, captures: 1 });
  }
  await countContents(view, touched, preview);
  return preview;
}

/** A content, and how many of the captures to delete have it. */
type Touched = { readonly id: string; captures: number };

async function countContents(view: CaptureView, touched: readonly Touched[], preview: DeletePreview): Promise<void> {
  const keys = touched.map(({ id }) => parseBlockId(id)!);
  const blocks = await view.getBlocks(keys);
  const references = await view.countReferences(keys);
  for (const [index, block] of blocks.entries()) {
    if (!block) continue;
    if (references[index]! > touched[index]!.captures) preview.contentsKept++;
    else {
      preview.contents++;
      preview.contentBytes += block.size;
    }
  }
}

export type DeleteOptions = {
  readonly signal?: AbortSignal;
  /** The view in which the captures were seen. Captures that were stored since are not deleted. */
  readonly seen?: CaptureView;
  /** Called with the number of captures so far. */
  readonly onProgress?: (captures: number) => void;
};

/** Deletes the selected captures. */
export async function deleteCaptures(
  archive: OpenedArchive,
  selection: Selection,
  options: DeleteOptions = {},
): Promise<DeleteReport> {
  const request = archive.newId();
  let captures = 0;
  let contents = 0;
  for await (const page of selectCaptures(options.seen ?? archive.catalog, selection)) {
    for (let at = 0; at < page.length; at += STEP_CAPTURES) {
      options.signal?.throwIfAborted();
      const step = page.slice(at, at + STEP_CAPTURES);
      const done = await archive.exclusive(() => deleteStep(archive, step, request));
      captures += done.captures;
      contents += done.contents;
      options.onProgress?.(captures);
    }
  }
  return { captures, contents };
}

async function deleteStep(archive: OpenedArchive, seen: readonly Capture[], request: string): Promise<DeleteReport> {
  // Pending replacements are swapped in before. Otherwise their copies of the deleted records would stay.
  await finishSwaps(archive);
  const changed = new Set<number>();
  const deleter = await deleterOf(archive, changed);
  const { captures, contents = 0 } = await deleter.deleteCaptures(seen, request);
  await refreshSegments(archive, changed);
  return { captures, contents };
}
