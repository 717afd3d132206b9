import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ActiveHosts } from './active-hosts.ts';
import { Frontier } from './frontier.ts';
import { Paces } from './paces.ts';
import { CRAWL_DEFAULTS } from './settings.ts';
import { CrawlState } from './state.ts';

const COUNT = 16_384 + 256;
const MINUTE_MS = 60_000;

test('of more hosts than can rest, each that may be asked again has its turn', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-hosts-'));
  const state = CrawlState.open(directory);
  t.after(() => {
    state.close();
    rmSync(directory, { recursive: true });
  });
  const frontier = new Frontier(state, 'default', 1, 1000);
  const names = Array.from({ length: COUNT }, (_, number) => `${number}.test`);
  frontier.transaction(() => {
    for (const name of names) frontier.offer({ url: `http://${name}/`, role: 'page', depth: 0, hops: 0 }, false);
  });
  let now = 0;
  const hosts = new ActiveHosts(frontier, CRAWL_DEFAULTS, new Paces(CRAWL_DEFAULTS, () => now));
  const asked = new Set<string>();
  const askAll = () => {
    asked.clear();
    while (hosts.fill(now) || asked.size === 0)
      for (const host of hosts.inTurn()) {
        if (host.readyAt <= now) {
          asked.add(host.name);
          host.pace.refuse(now, MINUTE_MS);
        }
        hosts.rest(host, now);
      }
    return asked.size;
  };
  assert.equal(askAll(), COUNT);
  now += 2 * MINUTE_MS;
  assert.equal(askAll(), COUNT);
});
