/** Removes contents to which nothing refers, after records were entered that might have referred to them. */
import type { BlockKey, Catalog, Lease } from '../../catalog/index.ts';
import { type AskAgain, askAgain } from '../ask-again.ts';
import { commitCounted } from '../counters.ts';

/** This note is in the catalog while there may be contents to which nothing refers. */
export const UNSWEPT_NOTE = 'unswept';
const SWEPT_AT_ONCE = 1000;

export type SweepOptions = {
  readonly catalog: Catalog;
  /** Undefined under an embedded catalog. */
  readonly lease?: Lease | undefined;
  readonly again?: AskAgain | undefined;
};

/** False: the lease was lost. */
export async function sweepContents({ catalog, lease, again }: SweepOptions): Promise<boolean> {
  const commit = async (changes: { readonly sweep: readonly BlockKey[] } | { readonly removeNotes: string[] }) => {
    const outcome = await askAgain(() => commitCounted(catalog, { lease, ...changes }), again);
    return outcome.kind === 'committed';
  };
  let unreferenced: BlockKey[] = [];
  for await (const page of catalog.blocks()) {
    unreferenced.push(...page.flatMap(({ key, references }) => (references === 0 ? [key] : [])));
    if (unreferenced.length < SWEPT_AT_ONCE) continue;
    if (!(await commit({ sweep: unreferenced }))) return false;
    unreferenced = [];
  }
  if (unreferenced.length > 0 && !(await commit({ sweep: unreferenced }))) return false;
  return commit({ removeNotes: [UNSWEPT_NOTE] });
}

/** Whether there may be contents to which nothing refers. */
export async function isUnswept(catalog: Pick<Catalog, 'notes'>): Promise<boolean> {
  return UNSWEPT_NOTE in (await catalog.notes(UNSWEPT_NOTE));
}
