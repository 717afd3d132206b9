import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { REPLY_TYPES_PATH, replyTypes } from './reply-types.ts';

test('the types of the UI for replies equal those of the OpenAPI document', async () => {
  const advice = 'run node scripts/reply-types.ts';
  assert.equal(readFileSync(REPLY_TYPES_PATH, 'utf8'), await replyTypes(), advice);
});
