import assert from 'node:assert/strict';
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openArchive } from '../../src/archive/index.ts';
import type { Catalog } from '../../src/catalog/index.ts';
import { countersOf, LEASE_LIFE_MS, type LedgerCounts } from '../../src/ledger/index.ts';
import { contentOf, makeArchive, page, trialOptions } from '../archive/trial-archive.ts';
import { storeGroups } from '../simulation/ledger-writer.ts';
import { SmallArchive } from './small-archive.ts';

const c = (id: string, content = 'x') => ({ id, content });

/** The counters that are not 0. */
function counted(catalog: Catalog): Partial<LedgerCounts> {
  return Object.fromEntries(Object.entries(countersOf(catalog).counts).filter(([, count]) => count > 0));
}

/** A handle on the catalog whose look-ups of contents are answered by `findBlocks`. */
function withLookUp(catalog: Catalog, findBlocks: Catalog['findBlocks']): Catalog {
  return new Proxy(catalog, {
    get(target, name) {
      if (name === 'findBlocks') return findBlocks;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function store(archive: SmallArchive, name: string, catalog: Catalog, id: string): Promise<void> {
  await storeGroups(archive.machine(name, catalog), await archive.writer(name, catalog), [[c(id)]]);
}

test('commits and sealed segments are counted, with a line for each', async () => {
  const archive = new SmallArchive();
  const lines: string[] = [];
  countersOf(archive.catalog).observer = (line) => lines.push(line);
  const name = await archive.sealed('W', [c('a'), c('b'), c('z', 'y')]);
  assert.deepEqual(
    counted(archive.catalog),
    { commits: 3, sealedSegments: 1, takenLeases: 1 },
    'two commits seal a segment',
  );
  assert.deepEqual(lines, [
    'taken leases +1: W',
    'commits +1: blocks 2, captures 3, segments 1',
    'commits +1: segments 1',
    'commits +1: segments 1',
    `sealed segments +1: ${name}`,
  ]);
});

test('a content that another writer stored first is a lost race and a surplus record', async () => {
  const archive = new SmallArchive();
  await store(archive, 'A', archive.catalog, 'a');
  const late = withLookUp(archive.catalog, async (digests) => digests.map(() => []));
  await store(archive, 'B', late, 'b');
  assert.deepEqual(counted(late), { commits: 1, lostRaces: 1, surplusRecords: 1, takenLeases: 1 });
});

test('a group that refers to a content deleted meanwhile is stale, and is made again', async () => {
  const archive = new SmallArchive();
  await store(archive, 'A', archive.catalog, 'a');
  const deleter = await archive.deleter('D');
  let isDeleted = false;
  const outdated = withLookUp(archive.catalog, async (digests) => {
    const found = await archive.catalog.findBlocks(digests);
    if (!isDeleted) await deleter.deleteCaptures([(await archive.capture('a'))!], 'request 1');
    isDeleted = true;
    return found;
  });
  await store(archive, 'B', outdated, 'b');
  assert.deepEqual(counted(outdated), { commits: 1, staleGroups: 1, takenLeases: 1 });
  assert.ok(await archive.capture('b'));
});

test('a writer whose lease was taken over is fenced', async () => {
  const archive = new SmallArchive();
  const writer = await archive.writer('A');
  archive.now += 2 * LEASE_LIFE_MS;
  assert.ok(await archive.catalog.takeLease('A', 'healer', LEASE_LIFE_MS));
  await assert.rejects(storeGroups(archive.machine('A'), writer, [[c('a')]]), { code: 'LEASE_LOST' });
  const other = await archive.writer('B');
  await storeGroups(archive.machine('B'), other, [[c('b')]]);
  archive.now += 2 * LEASE_LIFE_MS;
  await storeGroups(archive.machine('B'), other, [[c('c')]]);
  assert.equal(countersOf(archive.catalog).counts.fencedWriters, 1);
});

test('healing counts the records that it enters and the tails that it cuts off', async (t) => {
  const archive = await makeArchive(t);
  const { directory } = archive;
  await archive.store(page('http://a.test/', Date.UTC(2024), contentOf('a')));
  await archive.close();
  const folder = join(directory, 'volumes/main/default');
  const [name] = readdirSync(folder);
  const path = join(folder, name!);
  const bytes = readFileSync(path);
  const last = bytes.lastIndexOf(Buffer.from([0x1f, 0x8b, 0x08]));
  appendFileSync(path, Buffer.concat([bytes.subarray(last), Buffer.from('torn')]));
  const lines: string[] = [];
  const options = trialOptions({ seed: 2, onLedgerEvent: (line) => lines.push(line) });
  const healed = await openArchive(directory, options);
  t.after(() => healed.close());
  const { adoptedRecords, healedTails } = healed.ledgerCounts;
  assert.deepEqual({ adoptedRecords, healedTails }, { adoptedRecords: 1, healedTails: 1 });
  assert.ok(
    lines.some((line) => /^healed tails \+1: default\/.*, 4 bytes$/.test(line)),
    lines.join('\n'),
  );
});
