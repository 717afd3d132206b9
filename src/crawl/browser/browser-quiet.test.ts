import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Quiet } from './browser-quiet.ts';

function trial() {
  let now = 1000;
  const quiet = new Quiet(() => now);
  const pass = (ms: number) => {
    now += ms;
  };
  return { quiet, pass };
}

test('a page is at rest a moment after all that it waits for has come', () => {
  const { quiet, pass } = trial();
  assert.equal(quiet.isAtRest, false);
  const end = quiet.begin('http://a.test/a.gif', false);
  pass(60_000);
  assert.equal(quiet.isAtRest, false);
  end();
  assert.equal(quiet.isAtRest, false);
  pass(500);
  assert.equal(quiet.isAtRest, true);
});

test('scripts that repeat themselves keep no page awake, and those that send something else do', () => {
  const { quiet, pass } = trial();
  quiet.begin('http://a.test/poll', true)();
  pass(500);
  quiet.begin('http://a.test/poll', true);
  assert.equal(quiet.isAtRest, true);
  quiet.begin('http://a.test/poll', true, 'POST 1');
  assert.equal(quiet.isAtRest, false);
});

test('scripts that ask for ever new things of one kind are waited for only so often', () => {
  const { quiet, pass } = trial();
  for (let round = 0; round < 60; round++) quiet.begin(`http://a.test/poll?${round}`, true)();
  pass(500);
  quiet.begin('http://a.test/poll?60', true);
  assert.equal(quiet.isAtRest, true);
  quiet.begin('http://a.test/other', true);
  assert.equal(quiet.isAtRest, false);
});
