import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenInLink } from './token-link.ts';

test('the token of a link is what was put into it, whatever characters it has', () => {
  const tokens = ['k3Jw', '100%', '50%25&more', 'a&b=c#d', '\u00fc/?', '%E0%A4%A'];
  for (const token of tokens)
    assert.equal(tokenInLink(`http://localhost:8080/#token=${encodeURIComponent(token)}`), token);
});

test('a token that was not escaped is taken as it stands, and a link without one has none', () => {
  assert.equal(tokenInLink('#token=100%'), '100%');
  assert.equal(tokenInLink('#token=a&b'), 'a&b');
  assert.equal(tokenInLink('#main'), undefined);
});
