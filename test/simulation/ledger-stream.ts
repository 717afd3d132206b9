/**
 * Streams the records of a snapshot, with a cursor that is a root place (R4, I8), while segments are sealed, replaced
 * and removed. Every step begins with nothing but the snapshot and the cursor, as after a restart.
 */
import type { CatalogView, Segment } from '../../src/catalog/index.ts';
import {
  boundsOfRows,
  compareRoots,
  droppedSegments,
  endIn,
  isInBounds,
  isMissing,
  RootPlaces,
  type RootWithSegments,
  type SnapshotBounds,
  segmentRecords,
} from '../../src/ledger/index.ts';
import { type Delivery, idOf } from './book.ts';
import { storesOf, type VolumeKind } from './ledger-machine.ts';
import { isGivenUp } from './ledger-writer.ts';
import type { Machine, Work } from './machine.ts';

/** Steps in succession that may find their segment replaced. */
const TRIES = 8;
/** Seconds that a stream waits for one adoption, longer than the pauses of those that adopt. */
const WAITS = 120;

/** The record that was read last. */
type Cursor = { readonly root: { readonly name: string; readonly sequence: number }; readonly offset: number };

/** A stream that has no answer for too long ends, and says nothing of the rest. */
export function ledgerStream(volume: VolumeKind = 'bucket'): Work {
  return async (machine) => {
    try {
      await deliver(machine, volume);
    } catch (error) {
      if (!isGivenUp(error)) throw error;
    }
  };
}

async function deliver(machine: Machine, volume: VolumeKind): Promise<void> {
  const { catalog, book, name, world } = machine;
  const livesLost = () => {
    const lost = world.setbacks + Number(world.isLost);
    machine.process.saw(lost);
    return lost;
  };
  const before = livesLost();
  const { bounds, wanted } = await viewed(catalog, async (view) => {
    const taken = boundsOfRows(await view.segments(), await droppedSegments(view));
    return { bounds: taken, wanted: await capturesIn(view, taken) };
  });
  // A view of a catalog that went back is no snapshot.
  if (await catalog.isAdopting()) return;
  const delivery: Delivery = { name, wanted, delivered: [], isComplete: false };
  book.deliveries.push(delivery);
  let cursor: Cursor | undefined;
  for (let tried = 0, waited = 0; tried < TRIES; ) {
    // Asked before the step and after it: while what is in the volumes is adopted, records are missing that they have.
    const step = (await catalog.isAdopting()) ? 'adopting' : await deliverNext(machine, volume, bounds, cursor);
    if (step === 'adopting' || (await catalog.isAdopting())) {
      if (waited++ === WAITS) return;
      await machine.sleep(1000);
      continue;
    }
    waited = 0;
    if (step === 'again') {
      tried++;
      continue;
    }
    delivery.isOfEarlierLife = livesLost() > before;
    if (step === 'end') {
      delivery.isComplete = true;
      return;
    }
    tried = 0;
    cursor = step.cursor;
    if (step.delivered !== undefined) delivery.delivered.push(step.delivered);
  }
  book.complaints.push(`I8 the stream ${name} does not come to its end`);
}

/** The captures whose records are in the snapshot, at the instant of the snapshot. */
async function capturesIn(view: CatalogView, bounds: SnapshotBounds): Promise<string[]> {
  const places = await RootPlaces.load(view);
  const found: string[] = [];
  for await (const page of view.captures({}))
    for (const { url, place } of page) {
      const root = await places.rootOf(place);
      if (root && isInBounds(bounds, root)) found.push(idOf(url));
    }
  return found;
}

type Step = { readonly cursor: Cursor; readonly delivered: string | undefined } | 'again' | 'end';

/** The first record after the cursor. `again`: its segment was replaced meanwhile. */
async function deliverNext(
  machine: Machine,
  volume: VolumeKind,
  bounds: SnapshotBounds,
  cursor: Cursor | undefined,
): Promise<Step> {
  const places = await viewed(machine.catalog, (view) => RootPlaces.load(view));
  for (const root of places.roots()) {
    if (cursor && compareRoots(root, cursor.root) < 0) continue;
    const last = cursor?.root.name === root.name ? cursor.offset : undefined;
    const step = await firstOf(machine, volume, root, last, endIn(bounds, root));
    if (step) return step;
  }
  return 'end';
}

async function firstOf(
  machine: Machine,
  volume: VolumeKind,
  root: RootWithSegments,
  last: number | undefined,
  end: number,
): Promise<Step | undefined> {
  const { catalog } = machine;
  const [segment] = root.segments as [Segment];
  try {
    const offset = await viewed(catalog, async (view) => {
      const places = await RootPlaces.load(view);
      const found = await places.currentOf(root.name, last ?? 0);
      return found.find((place) => place.segment.number === segment.number)?.offset;
    });
    if (offset === undefined) return (await isThere(machine, segment)) ? undefined : 'again';
    const store = storesOf(machine, volume).get(segment.volume);
    for await (const { facts } of segmentRecords(store, segment, offset, segment.bytes)) {
      if (facts.kind === undefined) continue;
      // Of one instant, in which the record may have been moved elsewhere already.
      const found = await viewed(catalog, async (view) => {
        const places = await RootPlaces.load(view);
        const at = await places.rootOf({ segment: segment.number, offset: facts.offset });
        const { urlKey, time } = facts;
        const [capture] = at ? await places.capturesOf([{ urlKey, time: time!, root: at }]) : [];
        return { at, capture };
      });
      if (!found.at) return 'again';
      if (found.at.root !== root.name || found.at.offset >= end) return undefined;
      if (found.at.offset === last) continue;
      const cursor = { root, offset: found.at.offset };
      return { cursor, delivered: found.capture && idOf(found.capture.url) };
    }
    return undefined;
  } catch (error) {
    if (isMissing(error)) return 'again';
    throw error;
  }
}

async function isThere({ catalog }: Machine, { number }: Segment): Promise<boolean> {
  return (await catalog.segment(number)) !== undefined;
}

async function viewed<Answer>(
  catalog: Machine['catalog'],
  ask: (view: CatalogView) => Promise<Answer>,
): Promise<Answer> {
  await using view = await catalog.view();
  return await ask(view);
}
