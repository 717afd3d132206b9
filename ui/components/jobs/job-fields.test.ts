import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formFields } from './job-fields.ts';

test('forms of known kinds begin with the important fields, and have every field that the server takes', () => {
  const properties = { robots: {}, seeds: { type: 'array' }, scope: {}, unheard: { type: 'string' }, collection: {} };
  const { first, rest } = formFields('crawl', { type: 'object', properties });
  assert.deepEqual(Object.keys(first.properties!), ['seeds', 'collection', 'scope']);
  assert.deepEqual(Object.keys(rest.properties!), ['robots', 'unheard']);
  assert.equal(first.properties!.seeds!.type, 'array');
  assert.equal(first.properties!.seeds!.title, 'Start pages');
});

test('a field that the server requires is never folded away', () => {
  const { first } = formFields('crawl', { properties: { novel: { type: 'string' } }, required: ['novel'] });
  assert.deepEqual(Object.keys(first.properties!), ['novel']);
});

test('all fields of an unknown kind are shown', () => {
  const { first, rest } = formFields('gather', { properties: { a: {}, b: {} } });
  assert.deepEqual([Object.keys(first.properties!), Object.keys(rest.properties!)], [['a', 'b'], []]);
});

test('the forms for export and verify have plain words, and a list of collections', () => {
  const server = {
    format: { enum: ['warc.gz', 'warc.zst', 'warc', 'wacz', 'cdxj', 'cdx', 'parquet'] },
    selection: { properties: { from: { description: 'A W3C date, or `2024`.' } } },
  };
  const { format, selection } = formFields('export', { properties: server }, ['spring']).first.properties!;
  assert.deepEqual(Object.keys(format!.names!), server.format.enum);
  assert.deepEqual(selection!.properties!.collection!.enum, ['spring']);
  assert.doesNotMatch(JSON.stringify(selection), /W3C|timestamp|`/);
  const depth = { enum: ['quick', 'full'], description: '`quick` does not hash payloads.' };
  const verify = formFields('verify', { properties: { depth } }).first.properties!;
  assert.deepEqual(Object.keys(verify.depth!.names!).sort(), depth.enum.toSorted());
  assert.doesNotMatch(JSON.stringify(verify), /`|hash/);
});
