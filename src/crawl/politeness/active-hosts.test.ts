import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Frontier } from '../frontier/frontier.ts';
import { CrawlState } from '../frontier/state.ts';
import { CRAWL_DEFAULTS } from '../settings.ts';
import { ActiveHosts } from './active-hosts.ts';
import { HostDelays } from './host-delays.ts';

const COUNT = 16_384 + 256;
const MINUTE_MS = 60_000;

/** A frontier with one URL on each of `count` hosts. */
function frontierOf(t: TestContext, count: number): Frontier {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-hosts-'));
  const state = CrawlState.open(directory);
  t.after(() => {
    state.close();
    rmSync(directory, { recursive: true });
  });
  const frontier = new Frontier(state, { collection: 'default', run: 1, urlsPerHostMax: 1000 });
  const names = Array.from({ length: count }, (_, number) => `${number}.test`);
  frontier.transaction(() => {
    for (const name of names) frontier.offer({ url: `http://${name}/`, role: 'page', depth: 0, hops: 0 }, false);
  });
  return frontier;
}

test('when more hosts wait than have room, each is visited after its pause', (t) => {
  const frontier = frontierOf(t, COUNT);
  let now = 0;
  const hosts = new ActiveHosts(frontier, CRAWL_DEFAULTS.hostConcurrency, new HostDelays(CRAWL_DEFAULTS, () => now));
  const asked = new Set<string>();
  const askAll = () => {
    asked.clear();
    while (hosts.fill(now) || asked.size === 0)
      for (const host of hosts.inRotation()) {
        if (host.readyAt <= now) {
          asked.add(host.name);
          host.delay.noteRefusal(now, MINUTE_MS);
        }
        hosts.letWait(host, now);
      }
    return asked.size;
  };
  assert.equal(askAll(), COUNT);
  now += 2 * MINUTE_MS;
  assert.equal(askAll(), COUNT);
});

test('any number of hosts without an address give up their places', (t) => {
  const frontier = frontierOf(t, COUNT);
  const hosts = new ActiveHosts(frontier, CRAWL_DEFAULTS.hostConcurrency, new HostDelays(CRAWL_DEFAULTS, () => 0));
  while (hosts.fill(0))
    for (const host of hosts.inRotation()) {
      host.delay.noteMissingName(0);
      hosts.postpone(host);
    }
  const left = [...hosts.inRotation()];
  assert.ok(left.length > 0 && left.every(({ delay }) => !delay.isPostponed), 'without room they are looked up again');
  for (const { delay } of left) delay.noteMissingName(0);
  assert.ok(left.every(({ delay }) => delay.isNameMissing && delay.isGivenUp));
});

test('a postponed host that answered another request is visited again', (t) => {
  const hosts = new ActiveHosts(
    frontierOf(t, 1),
    CRAWL_DEFAULTS.hostConcurrency,
    new HostDelays(CRAWL_DEFAULTS, () => 0),
  );
  hosts.fill(0);
  const [host] = hosts.inRotation();
  host!.delay.noteMissingName(0);
  hosts.postpone(host!);
  assert.ok(!hosts.hasWork(0));
  host!.delay.noteAnswer('http://0.test');
  assert.ok(hosts.hasWork(10_000) && [...hosts.inRotation()].includes(host!));
});
