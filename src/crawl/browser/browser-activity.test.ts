import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PageActivity } from './browser-activity.ts';

function trial() {
  let now = 1000;
  const activity = new PageActivity(() => now);
  const pass = (ms: number) => {
    now += ms;
  };
  return { activity, pass };
}

test('a page is idle IDLE_MS after its last awaited request has ended', () => {
  const { activity, pass } = trial();
  assert.equal(activity.isIdle, false);
  const end = activity.begin('http://a.test/a.gif', false);
  pass(60_000);
  assert.equal(activity.isIdle, false);
  end();
  assert.equal(activity.isIdle, false);
  pass(500);
  assert.equal(activity.isIdle, true);
});

test('a repeated request does not keep a page busy, unless it has another body', () => {
  const { activity, pass } = trial();
  activity.begin('http://a.test/poll', true)();
  pass(500);
  activity.begin('http://a.test/poll', true);
  assert.equal(activity.isIdle, true);
  activity.begin('http://a.test/poll', true, 'POST 1');
  assert.equal(activity.isIdle, false);
});

test('after OF_KIND_MAX requests of one kind, further ones do not keep a page busy', () => {
  const { activity, pass } = trial();
  for (let round = 0; round < 60; round++) activity.begin(`http://a.test/poll?${round}`, true)();
  pass(500);
  activity.begin('http://a.test/poll?60', true);
  assert.equal(activity.isIdle, true);
  activity.begin('http://a.test/other', true);
  assert.equal(activity.isIdle, false);
});
