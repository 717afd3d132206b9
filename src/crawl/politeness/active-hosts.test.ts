import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Frontier } from '../frontier/frontier.ts';
import { SqliteState } from '../frontier/sqlite/sqlite-state.ts';
import { zeroCounts } from '../report.ts';
import { CRAWL_DEFAULTS } from '../settings.ts';
import { ActiveHosts } from './active-hosts.ts';
import { HostDelays } from './host-delays.ts';

const COUNT = 16_384 + 256;
const MINUTE_MS = 60_000;

/** A frontier with one URL on each of `count` hosts. */
async function frontierOf(t: TestContext, count: number): Promise<Frontier> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-hosts-'));
  const state = new SqliteState(directory, () => 0);
  t.after(async () => {
    await state.close();
    rmSync(directory, { recursive: true });
  });
  const run = await state.begin({ kind: 'first', seeds: [], movedSeeds: [], settings: CRAWL_DEFAULTS });
  const frontier = await state.frontier(run, false);
  await frontier.write({
    visits: [],
    urls: Array.from({ length: count }, (_, number) => ({
      offer: { url: `http://${number}.test/`, role: 'page', depth: 0, hops: 0 },
      orGone: false,
    })),
    tries: [],
    facts: new Map(),
    cookies: [],
    movedSeeds: undefined,
    onlyNew: false,
    offersOf: () => [],
    counts: () => zeroCounts(),
  });
  return frontier;
}

test('when more hosts wait than have room, each is visited after its pause', async (t) => {
  const frontier = await frontierOf(t, COUNT);
  let now = 0;
  const hosts = new ActiveHosts(frontier, CRAWL_DEFAULTS.hostConcurrency, new HostDelays(CRAWL_DEFAULTS, () => now));
  const asked = new Set<string>();
  const askAll = async () => {
    asked.clear();
    while ((await hosts.fill(now)) || asked.size === 0)
      for (const host of hosts.inRotation()) {
        if (host.readyAt <= now) {
          asked.add(host.name);
          host.delay.noteRefusal(now, MINUTE_MS);
        }
        hosts.letWait(host, now);
      }
    return asked.size;
  };
  assert.equal(await askAll(), COUNT);
  now += 2 * MINUTE_MS;
  assert.equal(await askAll(), COUNT);
});

test('any number of hosts without an address give up their places', async (t) => {
  const frontier = await frontierOf(t, COUNT);
  const hosts = new ActiveHosts(frontier, CRAWL_DEFAULTS.hostConcurrency, new HostDelays(CRAWL_DEFAULTS, () => 0));
  while (await hosts.fill(0))
    for (const host of hosts.inRotation()) {
      host.delay.noteMissingName(0);
      hosts.postpone(host);
    }
  const left = [...hosts.inRotation()];
  assert.ok(left.length > 0 && left.every(({ delay }) => !delay.isPostponed), 'without room they are looked up again');
  for (const { delay } of left) delay.noteMissingName(0);
  assert.ok(left.every(({ delay }) => delay.isNameMissing && delay.isGivenUp));
});

test('a postponed host that answered another request is visited again', async (t) => {
  const hosts = new ActiveHosts(
    await frontierOf(t, 1),
    CRAWL_DEFAULTS.hostConcurrency,
    new HostDelays(CRAWL_DEFAULTS, () => 0),
  );
  await hosts.fill(0);
  const [host] = hosts.inRotation();
  host!.delay.noteMissingName(0);
  hosts.postpone(host!);
  assert.ok(!(await hosts.hasWork(0)));
  host!.delay.noteAnswer('http://0.test');
  assert.ok((await hosts.hasWork(10_000)) && [...hosts.inRotation()].includes(host!));
});
