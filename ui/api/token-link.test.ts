import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenInLink } from './token-link.ts';

test('a token with any characters is read back from its link', () => {
  const tokens = ['k3Jw', '100%', '50%25&more', 'a&b=c#d', '\u00fc/?', '%E0%A4%A'];
  for (const token of tokens)
    assert.equal(tokenInLink(`http://localhost:8080/#token=${encodeURIComponent(token)}`), token);
});

test('a token that is not escaped is returned as it is, and a link without a token returns undefined', () => {
  assert.equal(tokenInLink('#token=100%'), '100%');
  assert.equal(tokenInLink('#token=a&b'), 'a&b');
  assert.equal(tokenInLink('#main'), undefined);
});
