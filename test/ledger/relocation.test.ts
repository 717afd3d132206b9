/** The catalog goes back to before each change of a relocation, while the volume keeps what came of it. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { SavedCatalog } from '../../src/catalog/index.ts';
import { adoptAll } from '../../src/ledger/index.ts';
import { compact } from '../simulation/ledger-compactor.ts';
import { healingOf } from '../simulation/ledger-healer.ts';
import { storesOf, type VolumeKind } from '../simulation/ledger-machine.ts';
import { relocate } from '../simulation/ledger-relocator.ts';
import { SmallArchive } from './small-archive.ts';

const c = (id: string, content = id) => ({ id, content });

async function compactLater(archive: SmallArchive, rounds: number): Promise<void> {
  archive.now += 1000;
  await compact(archive.machine('K'), { volume: archive.kind, rounds });
  archive.now += 1000;
}

async function moveAway(archive: SmallArchive, capture: string): Promise<void> {
  await relocate(archive.machine('K'), { volume: archive.kind, capture });
  await compactLater(archive, 2);
}

async function remove(archive: SmallArchive, id: string): Promise<void> {
  await (await archive.deleter(`D${id}`)).deleteCaptures([(await archive.capture(id))!], 'request');
  archive.book.deletionTried.add(id);
  await compactLater(archive, 3);
}

/** What is done to an archive with three captures, of which the first and the last have the same content. */
const STORIES: Readonly<Record<string, (archive: SmallArchive) => Promise<void>>> = {
  'one record': (archive) => moveAway(archive, 'p1'),
  'a revisit': (archive) => moveAway(archive, 'p3'),
  'one record, twice': async (archive) => {
    await moveAway(archive, 'p1');
    await moveAway(archive, 'p1');
  },
  'no record, while a segment is compacted twice': async (archive) => {
    await remove(archive, 'p2');
    await remove(archive, 'p1');
  },
  'two records, and a capture is deleted': async (archive) => {
    await moveAway(archive, 'p1');
    await moveAway(archive, 'p2');
    await remove(archive, 'p1');
  },
};

/** The archive after its story, with the state of the catalog before each of its changes. */
async function archiveAfter(kind: VolumeKind, story: (archive: SmallArchive) => Promise<void>) {
  const archive = new SmallArchive(kind);
  await archive.sealed('P', [c('p1'), c('p2'), c('p3', 'p1')]);
  const states: SavedCatalog[] = [];
  const { catalog } = archive;
  for (const name of ['commit', 'listSegment', 'takeLease'] as const) {
    const change = catalog[name].bind(catalog) as (...given: unknown[]) => unknown;
    Object.assign(catalog, {
      [name]: (...given: unknown[]) => {
        states.push(catalog.save());
        return change(...given);
      },
    });
  }
  await story(archive);
  return { archive, states };
}

for (const kind of ['bucket', 'disk'] as const)
  suite(`A relocation on a ${kind} is found again by an adoption, however many commits the catalog lost`, () => {
    for (const [name, story] of Object.entries(STORIES))
      test(name, async () => {
        for (let lost = 1, changes = 1; lost <= changes; lost++) {
          const { archive, states } = await archiveAfter(kind, story);
          assert.deepEqual(await archive.judge(), []);
          changes = states.length;
          assert.ok(changes > 8);
          const { catalog } = archive;
          catalog.restore(states[changes - lost]!);
          for (const lease of catalog.livingLeases()) catalog.expireLease(lease);
          await catalog.beginIncarnation(2);
          const machine = archive.machine('A');
          const options = { ...healingOf(machine, kind), stores: storesOf(machine, kind) };
          assert.ok(await adoptAll(options, 'A'), `${lost} of ${changes} changes were lost`);
          assert.deepEqual(await archive.judge(), [], `${lost} of ${changes} changes were lost, adopted`);
          await compact(archive.machine('L'), { volume: kind, rounds: 20, merges: true, relocates: true });
          assert.deepEqual(await archive.judge(), [], `${lost} of ${changes} changes were lost, compacted`);
        }
      });
  });
