import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatPageToken, parsePageToken, searchDigest } from './page-token.ts';

test('a token keeps the batch and the results that were shown', () => {
  const seed = 12;
  const question = searchDigest(['words', 'relevance']);
  fc.assert(
    fc.property(fc.nat(), fc.uniqueArray(fc.maxSafeNat().map((n) => n % 2 ** 52)), (batch, shown) => {
      const token = { batch, shown: new Set(shown) };
      const parsed = parsePageToken(formatPageToken(question, token), question);
      assert.equal(parsed.batch, batch);
      assert.deepEqual([...parsed.shown].sort(), [...token.shown].sort());
    }),
    { seed },
  );
});

test('a token of another search, and a text that is not a token, are refused', () => {
  const token = formatPageToken(searchDigest(['a']), { batch: 1, shown: new Set([1]) });
  assert.throws(() => parsePageToken(token, searchDigest(['b'])), { code: 'BAD_ARGUMENT' });
  for (const text of ['', 'x', '!!!', token.slice(0, 4)]) {
    assert.throws(() => parsePageToken(text, searchDigest(['a'])), { code: 'BAD_ARGUMENT' });
  }
});
