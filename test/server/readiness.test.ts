/** What a server says of itself to the proxy or scheduler in front of it. */
import assert from 'node:assert/strict';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { MemoryCatalog } from '../../src/catalog/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';
import { ask, makeServer } from './trial-server.ts';

test('a server is not ready while a volume is away, for a second at most after it is back, and stays alive', async (t) => {
  let now = 0;
  const { archive, server } = await makeServer(t, { stopwatch: () => now });
  const ready = async (query = '') => {
    const { status, text, headers } = await ask(server.uiAddress, `/readyz${query}`);
    assert.equal(headers['cache-control'], 'no-store');
    return [status, JSON.parse(text)] as const;
  };
  assert.deepEqual(await ready(), [200, { status: 'ready', reasons: [] }]);
  const main = join(archive.directory, 'volumes/main');
  await rename(main, `${main}-unplugged`);
  assert.equal((await ready())[0], 200, 'an answer counts for a second');
  now += 1000;
  const [status, reply] = await ready();
  assert.equal(status, 503);
  assert.deepEqual(
    reply.reasons.map(({ part, code }: { part: string; code: string }) => [part, code]),
    [['volume', 'VOLUME_MISSING']],
  );
  assert.ok(!JSON.stringify(reply).includes(archive.directory), 'everyone may ask');
  assert.equal((await ready('?exclude=volumes'))[0], 200);
  assert.equal((await ask(server.uiAddress, '/healthz')).status, 200);
  await rename(`${main}-unplugged`, main);
  assert.equal((await ready())[0], 503);
  now += 1000;
  assert.equal((await ready())[0], 200);
});

/** A catalog whose database stops answering. */
class SilentCatalog extends MemoryCatalog {
  questions = 0;
  isSilent = false;

  override async isAdopting(): Promise<boolean> {
    this.questions++;
    if (this.isSilent) await new Promise(() => {});
    return super.isAdopting();
  }
}

test('many probes ask the catalog once, and a catalog that does not answer within 3 seconds makes a server unready', async (t) => {
  let now = 0;
  const catalog = new SilentCatalog({ clock: () => now });
  const archive = await makeArchive(t, { catalog });
  const { server } = await makeServer(t, { archive, stopwatch: () => now });
  const probe = async () => (await ask(server.uiAddress, '/readyz')).text;
  catalog.questions = 0;
  await Promise.all(Array.from({ length: 20 }, probe));
  assert.equal(catalog.questions, 1);
  catalog.isSilent = true;
  now += 1000;
  const begun = performance.now();
  const replies = await Promise.all(Array.from({ length: 20 }, probe));
  assert.ok(performance.now() - begun < 6000);
  assert.equal(catalog.questions, 2);
  assert.ok(
    replies.every((text) => JSON.parse(text).reasons[0].code === 'CATALOG_UNREACHABLE'),
    replies[0],
  );
});
