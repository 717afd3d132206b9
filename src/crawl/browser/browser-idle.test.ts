import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PageIdle } from './browser-idle.ts';

function trial() {
  let now = 1000;
  const idle = new PageIdle(() => now);
  const pass = (ms: number) => {
    now += ms;
  };
  return { idle, pass };
}

test('a page is at waitUntilIdle a moment after all that it waits for has come', () => {
  const { idle, pass } = trial();
  assert.equal(idle.isIdle, false);
  const end = idle.begin('http://a.test/a.gif', false);
  pass(60_000);
  assert.equal(idle.isIdle, false);
  end();
  assert.equal(idle.isIdle, false);
  pass(500);
  assert.equal(idle.isIdle, true);
});

test('scripts that repeat themselves keep no page awake, and those that send something else do', () => {
  const { idle, pass } = trial();
  idle.begin('http://a.test/poll', true)();
  pass(500);
  idle.begin('http://a.test/poll', true);
  assert.equal(idle.isIdle, true);
  idle.begin('http://a.test/poll', true, 'POST 1');
  assert.equal(idle.isIdle, false);
});

test('scripts that ask for ever new things of one kind are waited for only so often', () => {
  const { idle, pass } = trial();
  for (let round = 0; round < 60; round++) idle.begin(`http://a.test/poll?${round}`, true)();
  pass(500);
  idle.begin('http://a.test/poll?60', true);
  assert.equal(idle.isIdle, true);
  idle.begin('http://a.test/other', true);
  assert.equal(idle.isIdle, false);
});
