/** Gives a catalog of many writers the `write` of a catalog with one owner, for the contract that both keep. */
import assert from 'node:assert/strict';
import type { Catalog, CatalogBatch, SharedCatalog } from '../../src/catalog/index.ts';

export function withWrite(catalog: SharedCatalog): SharedCatalog & Catalog {
  return Object.assign(catalog, {
    async write(batch: CatalogBatch): Promise<void> {
      assert.ok(!batch.putSegments && !batch.removeSegments, 'segments are listed, not written');
      const outcome = await catalog.commit({
        removeCaptures: batch.removeCaptures ?? [],
        captures: (batch.putCaptures ?? []).map((capture) => ({ capture })),
        blocks: batch.putBlocks ?? [],
        sweep: batch.removeBlocks ?? [],
        keepsUnreferenced: batch.removeBlocks === undefined,
        aliases: batch.putAliases ?? [],
        removeAliases: batch.removeAliases ?? [],
        putNotes: batch.putNotes ?? {},
        removeNotes: batch.removeNotes ?? [],
      });
      assert.equal(outcome.kind, 'committed');
    },
  });
}
