import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuery } from './query-parser.ts';
import { planQuery } from './query-plan.ts';

test('a word that a query repeats hundreds of times is searched for once', () => {
  for (const sign of [' ', ' OR ']) {
    const parsed = parseQuery(Array.from({ length: 600 }, () => 'a').join(sign));
    assert.ok('query' in parsed);
    const plan = planQuery(parsed.query, 'version', { targetsOf: () => [] });
    assert.deepEqual([plan.match, plan.matchParts], ['"a"', ['"a"']]);
  }
});
