/** The catalog loses any number of its last commits, while the volume keeps what came of them (R2, H2). */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { SavedCatalog } from '../../src/catalog/index.ts';
import { adoptAll } from '../../src/ledger/index.ts';
import { compact } from '../simulation/ledger-compactor.ts';
import { healingOf } from '../simulation/ledger-healer.ts';
import { CONTENTS, storesOf, type VolumeKind, writerOf } from '../simulation/ledger-machine.ts';
import { relocate } from '../simulation/ledger-relocator.ts';
import { SmallArchive } from './small-archive.ts';

const c = (id: string, content = id) => ({ id, content });

type Story = (archive: SmallArchive) => Promise<void>;

async function compactLater(archive: SmallArchive, rounds: number, merges = false): Promise<void> {
  archive.now += 1000;
  await compact(archive.machine('K'), { volume: archive.kind, rounds, merges });
  archive.now += 1000;
}

async function moveAway(archive: SmallArchive, capture: string): Promise<void> {
  await relocate(archive.machine('K'), { volume: archive.kind, capture });
  await compactLater(archive, 2);
}

async function remove(archive: SmallArchive, id: string): Promise<void> {
  await (await archive.deleter(`D${id}`)).deleteCaptures([(await archive.capture(id))!], 'request');
  archive.book.deletionTried.add(id);
}

async function sealDeletions(archive: SmallArchive): Promise<void> {
  for (const row of await archive.catalog.segments()) {
    if (row.state !== 'open' || !row.lease) continue;
    const writer = writerOf(archive.machine(row.lease.name), { lease: row.lease, volume: archive.kind });
    writer.resume(row, CONTENTS);
    await writer.seal(writer.openSegments()[0]!);
  }
}

/** What is done to an archive with three captures, of which the first and the last have the same content. */
const STORIES: Readonly<Record<string, Story>> = {
  'of a relocation': (archive) => moveAway(archive, 'p1'),
  'of the relocation of a revisit': (archive) => moveAway(archive, 'p3'),
  'of two relocations of a record': async (archive) => {
    await moveAway(archive, 'p1');
    await moveAway(archive, 'p1');
  },
  'of two compactions of a segment': async (archive) => {
    for (const id of ['p2', 'p1']) {
      await remove(archive, id);
      await compactLater(archive, 3);
    }
  },
  'of a relocation and a deletion': async (archive) => {
    await moveAway(archive, 'p1');
    await moveAway(archive, 'p2');
    await remove(archive, 'p1');
    await compactLater(archive, 3);
  },
  'of deletions whose segments were merged': async (archive) => {
    for (const id of ['p2', 'p3']) await remove(archive, id);
    await sealDeletions(archive);
    await compactLater(archive, 20, true);
  },
};

/** The archive after its story, with the state of the catalog before each of its changes. */
async function archiveAfter(kind: VolumeKind, story: Story) {
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

async function goBack(archive: SmallArchive, state: SavedCatalog, incarnation: number): Promise<void> {
  const { catalog, kind } = archive;
  catalog.restore(state);
  for (const lease of catalog.livingLeases()) catalog.expireLease(lease);
  await catalog.beginIncarnation(incarnation);
  const machine = archive.machine('A');
  assert.ok(await adoptAll({ ...healingOf(machine, kind), stores: storesOf(machine, kind) }, 'A'));
}

async function assertSound(archive: SmallArchive, when: string): Promise<void> {
  assert.deepEqual(await archive.judge(), [], `${when}, adopted`);
  await compact(archive.machine('L'), { volume: archive.kind, rounds: 20, merges: true, relocates: true });
  assert.deepEqual(await archive.judge(), [], `${when}, compacted`);
}

for (const kind of ['bucket', 'disk'] as const)
  suite(`On a ${kind}, an adoption loses nothing after any number of the last changes was lost`, () => {
    for (const [name, story] of Object.entries(STORIES))
      test(name, async () => {
        for (let lost = 1, changes = 1; lost <= changes; lost++) {
          const { archive, states } = await archiveAfter(kind, story);
          changes = states.length;
          assert.ok(changes > 8);
          await goBack(archive, states[changes - lost]!, 2);
          await assertSound(archive, `${lost} of ${changes} changes were lost`);
        }
      });
  });

test('An adoption loses nothing when the catalog goes back into the adoption before it', async () => {
  const story: Story = async (archive) => {
    await moveAway(archive, 'p1');
    await remove(archive, 'p2');
    await compactLater(archive, 3);
  };
  for (let lost = 3, changes = lost; lost <= changes; lost += 4)
    for (let again = 1, steps = 2; again < steps; again += 3) {
      const { archive, states } = await archiveAfter('bucket', story);
      changes = states.length;
      await goBack(archive, states[changes - lost]!, 2);
      steps = states.length - changes;
      await goBack(archive, states[changes + again]!, 3);
      await assertSound(archive, `${lost} of ${changes} changes were lost, and all after ${again} of ${steps} others`);
    }
});
