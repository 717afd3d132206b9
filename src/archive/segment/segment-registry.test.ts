import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Segment } from '../../catalog/index.ts';
import { SegmentRegistry, type SharedRows } from './segment-registry.ts';

function segment(number: number, fields: Partial<Segment> = {}): Segment {
  const name = `c/c-${number}.warc.gz`;
  return { number, name, volume: 'v', collection: 1, state: 'open', bytes: 1, records: 1, deadBytes: 0, ...fields };
}

/** A catalog that other processes write to, and the number of times it was asked. */
class OtherRows implements SharedRows {
  readonly rows = new Map<number, Segment>();
  asked = 0;
  put(row: Segment): void {
    this.rows.set(row.number, row);
  }
  async segment(number: number): Promise<Segment | undefined> {
    this.asked++;
    return this.rows.get(number);
  }
  async segmentByName(name: string): Promise<Segment | undefined> {
    this.asked++;
    return [...this.rows.values()].find((row) => row.name === name);
  }
  async segments(): Promise<Segment[]> {
    this.asked++;
    return [...this.rows.values()];
  }
}

test('the owner of a catalog finds its segments by number and by name, and no others', async () => {
  const registry = new SegmentRegistry(() => 0);
  registry.load([segment(2), segment(1)]);
  registry.put(segment(3));
  registry.forget(2);
  assert.deepEqual(await registry.all(), [segment(1), segment(3)]);
  assert.deepEqual(await registry.find(3), segment(3));
  assert.deepEqual(await registry.byName('c/c-1.warc.gz'), segment(1));
  assert.equal(await registry.find(2), undefined);
  assert.equal(await registry.byName('c/c-2.warc.gz'), undefined);
  await assert.rejects(registry.get(2), { code: 'CONTENT_MISSING' });
});

test('segments of other processes are found, and a row that is known is not read again at once', async () => {
  const other = new OtherRows();
  const registry = new SegmentRegistry(() => 0, other);
  registry.load([]);
  other.put(segment(7));
  const all = await Promise.all([registry.get(7), registry.get(7), registry.find(7)]);
  assert.deepEqual(all, [segment(7), segment(7), segment(7)]);
  assert.deepEqual(await registry.byName('c/c-7.warc.gz'), segment(7));
  assert.equal(other.asked, 1);
  other.put(segment(8));
  assert.deepEqual(await registry.byName('c/c-8.warc.gz'), segment(8));
  assert.deepEqual(await registry.find(8), segment(8));
  assert.equal(other.asked, 2);
});

test('changes that other processes made are seen within a second, also after the clock was set back', async () => {
  const other = new OtherRows();
  let now = 5000;
  const registry = new SegmentRegistry(() => now, other);
  other.put(segment(1));
  await registry.get(1);
  other.put(segment(1, { bytes: 9, volume: 'w' }));
  other.put(segment(2));
  now += 1000;
  assert.equal((await registry.get(1)).bytes, 9);
  other.rows.delete(1);
  now = 0;
  assert.equal(await registry.find(1), undefined);
  assert.equal(await registry.byName('c/c-1.warc.gz'), undefined);
  assert.deepEqual(await registry.all(), [segment(2)]);
});

test('an answer from before a change of this process does not replace the change', async () => {
  const other = new OtherRows();
  const registry = new SegmentRegistry(() => 0, other);
  const answer = Promise.withResolvers<Segment>();
  other.segment = () => answer.promise;
  const asked = registry.find(1);
  registry.put(segment(1, { bytes: 2 }));
  answer.resolve(segment(1));
  await asked;
  assert.equal((await registry.get(1)).bytes, 2);
});
