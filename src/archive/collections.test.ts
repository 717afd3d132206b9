import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryCatalog } from '../catalog/index.ts';
import { Collections } from './collections.ts';

test('a new collection gets an unused number, however many collections there are', async () => {
  const catalog = new MemoryCatalog();
  const numbers = Array.from({ length: 200_000 }, (_, index) => index + 1);
  const putNotes = Object.fromEntries(numbers.map((number) => [`collection:c${number}`, String(number)]));
  await catalog.write({ putNotes });
  const collections = new Collections(catalog);
  await collections.load();
  assert.equal(await collections.number('new'), 200_001);
  assert.equal(await collections.number('newer'), 200_002);
  assert.equal(await collections.number('c7'), 7);
});
