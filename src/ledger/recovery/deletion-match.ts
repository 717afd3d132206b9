/**
 * Finds the captures that deletion records are about: those with a listed mark, those that are barred, and those of a
 * deleted collection in its snapshot (D2). Nothing is indexed by marks, so all captures are read. That is rare: only
 * healing, an adoption and a rebuild meet deletions that the catalog has not carried out.
 */
import { equal, toHex } from '../../base/index.ts';
import type { Bar, Capture, CatalogView, Mark } from '../../catalog/index.ts';
import type { Deletion } from '../deletion-record.ts';
import { marksOf } from '../mark.ts';
import { RootPlaces, type RootPlacesCatalog } from '../replacement/root-places.ts';
import { isInBounds } from '../snapshot-bounds.ts';

export type MatchingCatalog = Pick<CatalogView, 'captures'> & RootPlacesCatalog;

export type CollectionName = (collection: number) => string | Promise<string>;

export type MatchedCapture = { readonly capture: Capture; readonly mark: Mark };

/** All captures that the deletions are about, with the marks to delete them by. */
export async function* capturesOfDeletions(
  catalog: MatchingCatalog,
  deletions: readonly Deletion[],
  collectionName: CollectionName,
): AsyncGenerator<MatchedCapture> {
  const marks = new Set(deletions.flatMap((deletion) => deletion.marks.map(toHex)));
  const bars = deletions.flatMap((deletion) => deletion.bars);
  const collections = deletions.flatMap((deletion) => deletion.collection ?? []);
  const places = collections.length > 0 ? await RootPlaces.load(catalog) : undefined;
  for await (const page of catalog.captures({}))
    for (const capture of page) {
      const name = await collectionName(capture.collection);
      const own = marksOf(capture, name);
      let mark = own.find((one) => marks.has(toHex(one)));
      if (!mark && bars.some((bar) => isUnder(bar, capture))) mark = own[0];
      for (const { name: deleted, snapshot } of collections) {
        if (mark || deleted !== name) continue;
        const place = await places?.rootOf(capture.place);
        if (place && isInBounds(snapshot, place)) mark = own[0];
      }
      if (mark) yield { capture, mark };
    }
}

function isUnder(bar: Bar, { urlKey, block }: Capture): boolean {
  if (bar.kind === 'url') return bar.urlKey === urlKey;
  return block !== undefined && equal(bar.digest, block.digest);
}
