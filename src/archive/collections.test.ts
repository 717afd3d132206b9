import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryCatalog } from '../catalog/index.ts';
import { Collections } from './collections.ts';

test('the catalog deals the numbers of collections, so that two processes never give one number to two', async () => {
  const catalog = new MemoryCatalog({ clock: () => 0 });
  const [one, two] = [new Collections(catalog), new Collections(catalog)];
  await Promise.all([one.load(), two.load()]);
  const numbers = await Promise.all([one.number('new'), two.number('newer'), two.number('new')]);
  assert.equal(numbers[0], numbers[2]);
  assert.notEqual(numbers[0], numbers[1]);
  assert.equal(two.name(numbers[0]), 'new');
});

test('collections that another process makes are found, by name and by number', async () => {
  const catalog = new MemoryCatalog({ clock: () => 0, isShared: true });
  const [one, two] = [new Collections(catalog), new Collections(catalog)];
  await two.load();
  const first = await one.number('first');
  assert.equal(await two.find('first'), first);
  const second = await one.number('second');
  assert.equal(await two.name(second), 'second');
  await one.number('third');
  assert.deepEqual(
    (await two.all()).map(({ name }) => name),
    ['first', 'second', 'third'],
  );
  assert.equal(await two.find('fourth'), undefined);
});
