/** Fills catalogs in tests: changes that are made by a commit without checks. */
import assert from 'node:assert/strict';
import type { Alias, Block, BlockKey, Capture, Catalog } from '../../src/catalog/index.ts';

export type Changes = {
  readonly putCaptures?: readonly Capture[];
  readonly removeCaptures?: readonly Capture[];
  /** Blocks that are absent. Their references are counted by the catalog, whatever is given here. */
  readonly putBlocks?: readonly Block[];
  /** Blocks that are removed if no capture refers to them. All others stay, also those without references. */
  readonly removeBlocks?: readonly BlockKey[];
  readonly putAliases?: readonly Alias[];
  readonly removeAliases?: readonly Alias[];
  readonly putNotes?: Readonly<Record<string, string>>;
  readonly removeNotes?: readonly string[];
  readonly durable?: boolean;
};

export async function write(catalog: Pick<Catalog, 'commit'>, changes: Changes): Promise<void> {
  const outcome = await catalog.commit({
    removeCaptures: changes.removeCaptures ?? [],
    captures: (changes.putCaptures ?? []).map((capture) => ({ capture })),
    blocks: changes.putBlocks ?? [],
    sweep: changes.removeBlocks ?? [],
    keepsUnreferenced: changes.removeBlocks === undefined,
    aliases: changes.putAliases ?? [],
    removeAliases: changes.removeAliases ?? [],
    putNotes: changes.putNotes ?? {},
    removeNotes: changes.removeNotes ?? [],
    durable: changes.durable ?? false,
  });
  assert.equal(outcome.kind, 'committed');
}
