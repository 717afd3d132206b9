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

test('a page is idle a moment after everything that it waits for has arrived', () => {
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

test('a script that repeats a request does not keep a page busy, and one that sends another body does', () => {
  const { idle, pass } = trial();
  idle.begin('http://a.test/poll', true)();
  pass(500);
  idle.begin('http://a.test/poll', true);
  assert.equal(idle.isIdle, true);
  idle.begin('http://a.test/poll', true, 'POST 1');
  assert.equal(idle.isIdle, false);
});

test('requests of one kind keep a page busy only a limited number of times', () => {
  const { idle, pass } = trial();
  for (let round = 0; round < 60; round++) idle.begin(`http://a.test/poll?${round}`, true)();
  pass(500);
  idle.begin('http://a.test/poll?60', true);
  assert.equal(idle.isIdle, true);
  idle.begin('http://a.test/other', true);
  assert.equal(idle.isIdle, false);
});
