/** How the owner of an embedded catalog heals: it enters what the catalog lacks, and cuts off only torn bytes. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { MemoryCatalog, type Segment } from '../../src/catalog/index.ts';
import { type BesideRecords, type HealedSegment, type HealingOptions, healSegment } from '../../src/ledger/index.ts';
import { healingOf } from '../simulation/ledger-healer.ts';
import { VOLUME } from '../simulation/world.ts';
import { SmallArchive } from './small-archive.ts';

const c = (id: string, content = 'x') => ({ id, content });

/** An archive on one disk whose catalog was lost. The next owner finds its segments by their names. */
class Reopened {
  readonly archive = new SmallArchive('disk');
  readonly catalog = new MemoryCatalog({ clock: () => this.archive.now });

  async heal(name: string, options: Partial<HealingOptions> = {}, beside: BesideRecords = {}): Promise<HealedSegment> {
    const row = await this.catalog.listSegment({ volume: VOLUME, name, collection: 1 });
    const machine = this.archive.machine('R', this.catalog);
    const embedded = { lease: undefined, isEmbedded: true, refusedAre: 'bury', unresolved: 'enter' } as const;
    const kept = { duplicatesAre: 'spare', keepsUnreferenced: true, beside: async () => beside } as const;
    return healSegment({ ...healingOf(machine, 'disk'), ...embedded, ...kept, ...options }, row as Segment);
  }

  async urls(): Promise<string[]> {
    const urls: string[] = [];
    for await (const page of this.catalog.captures({})) urls.push(...page.map(({ urlKey }) => urlKey));
    return urls;
  }

  /** How many captures have a content. */
  async resolved(): Promise<number> {
    let count = 0;
    for await (const page of this.catalog.captures({})) count += page.filter(({ block }) => block).length;
    return count;
  }
}

suite('Healing by the owner of an embedded catalog', () => {
  test('a revisit is entered before the content that it names', async () => {
    const reopened = new Reopened();
    const full = await reopened.archive.sealed('A', [c('a')]);
    const revisits = await reopened.archive.sealed('B', [c('b'), c('d')]);
    assert.equal((await reopened.heal(revisits)).kind, 'sealed');
    assert.equal((await reopened.urls()).length, 2);
    assert.equal(await reopened.resolved(), 0);
    await reopened.heal(full);
    assert.equal(await reopened.resolved(), 1, 'the archive resolves the others afterwards');
  });

  test('a capture that is in two segments is entered once, and costs none of those behind it', async () => {
    const reopened = new Reopened();
    const one = await reopened.archive.sealed('A', [c('a'), c('b', 'y')]);
    const objects = reopened.archive.disk.objects;
    objects.set('sim/copy.warc.gz', objects.get(one)!);
    await reopened.heal(one);
    const healed = await reopened.heal('sim/copy.warc.gz');
    assert.equal(healed.kind, 'sealed');
    assert.equal((await reopened.urls()).length, 2);
    assert.equal((await reopened.catalog.deadRecords(healed.row!.number)).length, 2);
  });

  test('I10 Dirty input is data: a record that is twice in files of others is two captures', async () => {
    const reopened = new Reopened();
    const one = await reopened.archive.sealed('A', [c('a'), c('b', 'y')]);
    const objects = reopened.archive.disk.objects;
    objects.set('sim/copy.warc.gz', objects.get(one)!);
    await reopened.heal(one, {}, { isOfOthers: true });
    const healed = await reopened.heal('sim/copy.warc.gz', {}, { isOfOthers: true });
    assert.equal((await reopened.urls()).length, 4);
    assert.deepEqual(await reopened.catalog.surplusRecords(healed.row!.number), []);
  });

  test('the record of a capture that tombstones deleted still holds its content', async () => {
    const reopened = new Reopened();
    const name = await reopened.archive.sealed('A', [c('a'), c('b')]);
    const first = (await reopened.archive.capture('a'))!;
    const healed = await reopened.heal(name, {}, { dead: new Set([first.place.offset]) });
    assert.deepEqual((await reopened.urls()).length, 1);
    assert.equal(await reopened.resolved(), 1);
    const dead = await reopened.catalog.deadRecords(healed.row!.number);
    assert.deepEqual(
      dead.map(({ offset }) => offset),
      [first.place.offset],
    );
    assert.ok((await reopened.catalog.notes('unswept')).unswept, 'contents without a capture are looked for later');
  });

  test('H4 A file of others is never removed, even without a capture, and it deletes nothing', async () => {
    const reopened = new Reopened();
    await reopened.archive.sealed('A', [c('a')]);
    const deleter = await reopened.archive.deleter('D');
    await deleter.deleteCaptures([(await reopened.archive.capture('a'))!], 'request');
    const objects = reopened.archive.disk.objects;
    const [names] = [[...objects.keys()]];
    const deletions = names!.find((name) => name.startsWith('_deletions/'))!;
    const full = names!.find((name) => !name.startsWith('_'))!;
    objects.set('sim/of-others.warc.gz', objects.get(deletions)!);
    await reopened.heal(full);
    const healed = await reopened.heal('sim/of-others.warc.gz', {}, { isOfOthers: true });
    assert.equal(healed.kind, 'open');
    assert.equal((await reopened.urls()).length, 1);
    assert.ok(objects.has('sim/of-others.warc.gz'));
  });

  test('I3 Torn tails heal: torn bytes are cut off, and damage before a whole record is not', async () => {
    const reopened = new Reopened();
    const { archive } = reopened;
    const name = await archive.sealed('A', [c('a'), c('b', 'y'), c('d', 'z')]);
    const object = archive.disk.objects.get(name)!;
    const middle = (await archive.capture('b'))!.place;
    const bytes = Buffer.from(object.buffer.slice(0, object.bytes));
    bytes.fill(0x55, middle.offset + 5, middle.offset + 20);
    const begun = 'sim/begun.warc.gz';
    await archive.store.begin(begun);
    await archive.store.append(begun, 0, [bytes, bytes.subarray(middle.offset, middle.offset + 40)], 1);
    const findings: string[] = [];
    const healed = await reopened.heal(begun, { onFinding: ({ code }) => findings.push(code) });
    assert.equal(healed.kind, 'open');
    assert.equal((await archive.store.find(begun)).object?.bytes, bytes.length);
    assert.equal((await reopened.urls()).length, 2);
    assert.ok(findings.includes('member-damaged'));
  });
});
