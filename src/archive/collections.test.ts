import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedMemoryCatalog } from '../catalog/index.ts';
import { Collections } from './collections.ts';

test('the catalog deals the numbers of collections, so that two processes never give one number to two', async () => {
  const catalog = new SharedMemoryCatalog({ clock: () => 0 });
  const [one, two] = [new Collections(catalog), new Collections(catalog)];
  await Promise.all([one.load(), two.load()]);
  const numbers = await Promise.all([one.number('new'), two.number('newer'), two.number('new')]);
  assert.equal(numbers[0], numbers[2]);
  assert.notEqual(numbers[0], numbers[1]);
  assert.equal(two.name(numbers[0]), 'new');
});
