/**
 * Deleting: captures leave the catalog, their records get tombstones, reference counts fall; a content that nothing refers to any more leaves with
 * the last of them. Bytes leave the segments when they are compacted (I5, I6).
 *
 * Tombstones are durable before the catalog forgets: after a crash in between, the captures are still there, and the next opening takes them
 * out (see finish-delete.ts), so that a deletion is never half done in the answers the archive gives.
 */
import type { Capture } from '../catalog/index.ts';
import { finishAdoptions } from './adopt.ts';
import type { ArchiveParts } from './archive-parts.ts';
import { blockId } from './catalog-draft.ts';
import { type Selection, selectCaptures } from './selection.ts';
import { appliedNote, type TombstoneMark, tombstoneOf } from './tombstones.ts';

export type DeletePreview = {
  captures: number;
  /** Contents that nothing will refer to any more. */
  contents: number;
  /** Their payload bytes, which compaction will free. */
  contentBytes: number;
  /** Contents that other captures share, and that therefore stay. */
  contentsKept: number;
  /** Some of what would go, for the eye. */
  readonly examples: string[];
};

export type DeleteReport = { readonly captures: number; readonly contents: number };

const EXAMPLES_MAX = 10;
const STEP_CAPTURES = 2000;

/** What a deletion would take, without taking it. */
export async function previewDelete(archive: ArchiveParts, selection: Selection): Promise<DeletePreview> {
  const preview: DeletePreview = { captures: 0, contents: 0, contentBytes: 0, contentsKept: 0, examples: [] };
  const counts = new Map<string, { capture: Capture; count: number }>();
  for await (const page of selectCaptures(archive.catalog, selection)) {
    for (const capture of page) {
      preview.captures++;
      if (preview.examples.length < EXAMPLES_MAX) preview.examples.push(capture.url);
      if (!capture.block) continue;
      const id = blockId(capture.block);
      const seen = counts.get(id);
      if (seen) seen.count++;
      else counts.set(id, { capture, count: 1 });
    }
  }
  const touched = [...counts.values()];
  for (let at = 0; at < touched.length; at += STEP_CAPTURES) {
    const part = touched.slice(at, at + STEP_CAPTURES);
    const blocks = await archive.catalog.getBlocks(part.map(({ capture }) => capture.block!));
    for (const [index, block] of blocks.entries()) {
      if (!block) continue;
      if (block.references > part[index]!.count) preview.contentsKept++;
      else {
        preview.contents++;
        preview.contentBytes += block.size;
      }
    }
  }
  return preview;
}

/** Deletes the captures that the selection means. */
export async function deleteCaptures(
  archive: ArchiveParts,
  selection: Selection,
  options: { signal?: AbortSignal } = {},
): Promise<DeleteReport> {
  let captures = 0;
  let contents = 0;
  for await (const page of selectCaptures(archive.catalog, selection)) {
    for (let at = 0; at < page.length; at += STEP_CAPTURES) {
      options.signal?.throwIfAborted();
      const step = page.slice(at, at + STEP_CAPTURES);
      const done = await archive.exclusive(() => deleteStep(archive, step));
      captures += done.captures;
      contents += done.contents;
    }
  }
  return { captures, contents };
}

async function deleteStep(archive: ArchiveParts, wanted: readonly Capture[]): Promise<DeleteReport> {
  // A segment that is taking another's place must have taken it, or its copy of what is deleted now would get no tombstone.
  await finishAdoptions(archive);
  const captures = await asTheyAreNow(archive, wanted);
  const bySegment = new Map<number, Capture[]>();
  for (const capture of captures) {
    const list = bySegment.get(capture.place.segment) ?? [];
    list.push(capture);
    bySegment.set(capture.place.segment, list);
  }
  const draft = archive.newDraft();
  await draft.load(captures.flatMap((capture) => (capture.block ? [capture.block.digest] : [])));
  const marks: TombstoneMark[] = [];
  try {
    for (const [number, list] of bySegment) {
      const segment = archive.shelf.get(number);
      const mark = await archive.tombstones.add(segment, list.map(tombstoneOf));
      marks.push(mark);
      draft.putNote(appliedNote(mark.volume, segment.name), String(mark.after));
      const deadBytes = segment.deadBytes + list.reduce((sum, capture) => sum + capture.place.length, 0);
      draft.putSegment({ ...segment, deadBytes });
      for (const capture of list) draft.removeCapture(capture);
    }
    await archive.catalog.write(draft.batch());
  } catch (error) {
    for (const mark of marks) await archive.tombstones.takeBack(mark);
    throw error;
  }
  archive.shelf.settle([...bySegment.keys()].map((number) => draft.segment(number)!));
  return { captures: captures.length, contents: draft.removedBlocks };
}

/** The captures as the catalog knows them at this moment: some may have moved, some may be gone. */
async function asTheyAreNow(archive: ArchiveParts, wanted: readonly Capture[]): Promise<Capture[]> {
  const found = await archive.catalog.findCaptures(wanted);
  const current = new Map<string, Capture>();
  for (const [index, capture] of wanted.entries()) {
    for (const now of found[index]!) {
      if (now.hash === capture.hash && now.collection === capture.collection)
        current.set(`${now.place.segment}:${now.place.offset}`, now);
    }
  }
  return [...current.values()];
}
