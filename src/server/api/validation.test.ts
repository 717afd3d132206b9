import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { closed, NewCollection } from '../schema.ts';
import { checkFor } from './validation.ts';

const check = checkFor(closed({ url: Type.String(), order: Type.Optional(Type.Enum(['asc', 'desc'])) }), 'querystring');

function refusal(given: object): string | undefined {
  const checked = check(given);
  return 'error' in checked ? checked.error.message : undefined;
}

test('the message about a malformed text describes the right form in words', () => {
  const checked = checkFor(
    closed({ input: closed({ collection: NewCollection }) }),
    'body',
  )({
    input: { collection: 'my crawl' },
  });
  assert.ok('error' in checked);
  assert.match(checked.error.message, /^body\/input\/collection must have at most 100 letters .*without blanks/);
  assert.doesNotMatch(checked.error.message, /[\^$[\]]/);
});

test('messages name the field of the request and what is wrong with it', () => {
  assert.equal(refusal({ url: 'a', order: 'asc' }), undefined);
  assert.equal(refusal({ urll: 'a' }), 'query/urll is unknown', 'the misspelling, not the missing name');
  assert.equal(refusal({}), 'query must have url');
  assert.equal(refusal({ url: 'a', order: 'up' }), 'query/order must be one of asc, desc');
});
