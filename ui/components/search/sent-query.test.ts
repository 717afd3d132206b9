import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuery } from '../../../src/search/index.ts';
import { markedParts, queryWithin, sentQuery } from './sent-query.ts';

test('filters follow the typed query, and apply to all of it', () => {
  const input = { query: 'flood OR drought', sort: 'relevance', filters: { site: 'a.test', year: '2024' } } as const;
  const { text, typedAt } = sentQuery(input);
  assert.equal(text, '(flood OR drought) site:"a.test" from:"2024" to:"2024"');
  assert.equal(text.indexOf(input.query), typedAt);
  const plain = sentQuery({ query: 'size>big', sort: 'date', filters: { collection: 'a b' } });
  assert.deepEqual(plain, { text: 'size>big collection:"a b"', typedAt: 0 });
  assert.deepEqual(sentQuery({ query: 'x', sort: 'date', filters: {} }), { text: 'x', typedAt: 0 });
});

test('the query parser accepts every query that is built here', () => {
  const filters = { site: 'a.test', type: 'text/html', language: 'de', year: '2024', collection: 'spring' };
  for (const query of ['a', 'a OR b', '"a b" -c', '(a | b) c']) {
    for (const given of [{}, filters]) {
      const input = { query, sort: 'relevance', filters: given } as const;
      for (const text of [sentQuery(input).text, queryWithin(input, 'http://a.test/(x)?"y" z')]) {
        const parsed = parseQuery(text);
        assert.ok(!('problem' in parsed), `${text}: ${JSON.stringify(parsed)}`);
      }
    }
  }
});

test('a text is split at its highlighted ranges, without losing a character', () => {
  const parts = markedParts('one two three', [
    [4, 7],
    [5, 6],
    [8, 13],
    [12, 99],
  ]);
  assert.deepEqual(
    parts.map(({ text, isMarked }) => (isMarked ? `[${text}]` : text)),
    ['one ', '[two]', ' ', '[three]'],
  );
  assert.equal(parts.map(({ text }) => text).join(''), 'one two three');
});
