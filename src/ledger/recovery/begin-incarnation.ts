/**
 * Begins another incarnation of an embedded catalog that was made again from the volumes (R2). Its owner is the only
 * process, so everything is entered first, and the incarnation begins when it is listed: a list in each writable
 * volume, then three commits that nothing comes between.
 *
 * A list whose incarnation did not begin only makes the next one higher.
 */
import { ADOPTION_LEASE, type Catalog } from '../../catalog/index.ts';
import { HeldLease } from '../lease.ts';
import { parseReplacedName } from '../replaced-notes.ts';
import type { SegmentStore, SegmentStores } from '../segment-store.ts';
import { incarnationOf } from './incarnation.ts';
import { formatList, listName, parseListName } from './incarnation-list.ts';

const OWN_FOLDER = '_pinakes/';

type Begun = { readonly catalog: Catalog; readonly stores: Pick<SegmentStores, 'available' | 'writable'> };

/** Returns the number of the incarnation. Called with a catalog in which everything is entered. */
export async function beginIncarnation({ catalog, stores }: Begun, holder: string): Promise<number> {
  const rows = await catalog.segments();
  const names = new Set(rows.map(({ name }) => name));
  const notes = new Map<SegmentStore, ReadonlySet<string>>();
  let highest = await catalog.incarnation();
  for (const row of rows) highest = Math.max(highest, incarnationOf(row.name, row) ?? 0);
  for (const store of stores.available()) {
    const found = new Set<string>();
    for await (const page of store.list(OWN_FOLDER))
      for (const { name } of page) {
        const note = parseReplacedName(name);
        highest = Math.max(highest, (parseListName(name) ?? note)?.incarnation ?? 0);
        if (note && !names.has(note.old)) found.add(name);
      }
    notes.set(store, found);
  }
  const incarnation = highest + 1;
  for (const store of stores.writable()) {
    // The owner goes on with open segments, so they are counted too.
    const own = rows.filter((row) => row.volume === store.volume && row.bytes > 0);
    const list = { incarnation, segments: new Set(own.map(({ name }) => name)), notes: notes.get(store)! };
    await store.writeObject(listName(incarnation, store.ownerNumber ?? 1), formatList(list));
  }
  await catalog.beginIncarnation(incarnation);
  await endBegunIncarnation(catalog, holder);
  return incarnation;
}

/** Completes the beginning of an incarnation, also one that a killed owner began. */
export async function endBegunIncarnation(catalog: Catalog, holder: string): Promise<void> {
  if (!(await catalog.isAdopting())) return;
  const held = await HeldLease.take(catalog, ADOPTION_LEASE, holder);
  if (held) await catalog.endAdoption(held.lease);
  await held?.end();
}
