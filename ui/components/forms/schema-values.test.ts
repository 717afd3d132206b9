import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schema } from './form-schema.ts';
import { choicesOf, defaultsOf, fieldKindOf, filledIn } from './schema-values.ts';

const SCHEMA: Schema = {
  type: 'object',
  properties: {
    paths: { type: 'array', items: { type: 'string' } },
    depth: { enum: ['quick', 'full'], default: 'full' },
    inPlace: { type: 'boolean' },
    obey: { type: 'boolean', default: true },
    limit: { type: 'integer', minimum: 1 },
    selection: { type: 'object', properties: { url: { type: 'string' } } },
    odd: { type: 'array', items: { type: 'object' } },
  },
};

test('a required choice begins with its first value', () => {
  const format: Schema = { enum: ['wacz', 'warc'] };
  assert.deepEqual(defaultsOf({ properties: { format }, required: ['format'] }), { format: 'wacz' });
  assert.deepEqual(defaultsOf({ properties: { format } }), { format: '' });
});

test('each type of value gets its kind of field', () => {
  const kinds = Object.values(SCHEMA.properties!).map(fieldKindOf);
  assert.deepEqual(kinds, ['lines', 'choice', 'switch', 'switch', 'number', 'group', 'none']);
  assert.deepEqual(choicesOf({ anyOf: [{ const: 'a' }, { const: 'b' }] }), ['a', 'b']);
  assert.deepEqual(choicesOf({ anyOf: [{ const: 'a' }, { type: 'string' }] }), []);
});

test('only filled-in fields are sent, so that the defaults of the server apply', () => {
  assert.deepEqual(filledIn(SCHEMA, { ...defaultsOf(SCHEMA), depth: '' }), {});
  assert.deepEqual(
    filledIn(SCHEMA, {
      paths: ' /a \n\n/b',
      depth: 'quick',
      inPlace: true,
      obey: false,
      limit: '7',
      selection: { url: 'http://example.org/' },
    }),
    {
      paths: ['/a', '/b'],
      depth: 'quick',
      inPlace: true,
      obey: false,
      limit: 7,
      selection: { url: 'http://example.org/' },
    },
  );
});

test('a number is typed in the unit of the form and sent in the unit of the server', () => {
  const schema: Schema = { properties: { delayMs: { type: 'integer', unit: 1000 } } };
  assert.deepEqual(filledIn(schema, { delayMs: '1.5' }), { delayMs: 1500 });
  assert.deepEqual(filledIn(schema, { delayMs: '' }), {});
});
