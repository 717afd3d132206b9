import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whenAborted } from './abort.ts';

test('a callback is called when the signal aborts, at once or later', () => {
  const controller = new AbortController();
  let calls = 0;
  whenAborted(controller.signal, () => calls++);
  assert.equal(calls, 0);
  controller.abort();
  assert.equal(calls, 1);
  whenAborted(controller.signal, () => calls++);
  assert.equal(calls, 2);
});

test('a callback is not called any more after its block', () => {
  const controller = new AbortController();
  let calls = 0;
  {
    using _ = whenAborted(controller.signal, () => calls++);
  }
  controller.abort();
  assert.equal(calls, 0);
});
