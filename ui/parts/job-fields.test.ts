import assert from 'node:assert/strict';
import { test } from 'node:test';
import { presented } from './job-fields.ts';

test('known kinds ask for the important things first, and for nothing less than the server takes', () => {
  const properties = { robots: {}, seeds: { type: 'array' }, scope: {}, unheard: { type: 'string' }, collection: {} };
  const { first, rest } = presented('crawl', { type: 'object', properties });
  assert.deepEqual(Object.keys(first.properties!), ['seeds', 'collection', 'scope']);
  assert.deepEqual(Object.keys(rest.properties!), ['robots', 'unheard']);
  assert.equal(first.properties!.seeds!.type, 'array');
  assert.equal(first.properties!.seeds!.title, 'Begin with');
});

test('what the server needs is never folded away', () => {
  const { first } = presented('crawl', { properties: { novel: { type: 'string' } }, required: ['novel'] });
  assert.deepEqual(Object.keys(first.properties!), ['novel']);
});

test('kinds that the page does not know are shown whole', () => {
  const { first, rest } = presented('gather', { properties: { a: {}, b: {} } });
  assert.deepEqual([Object.keys(first.properties!), Object.keys(rest.properties!)], [['a', 'b'], []]);
});
