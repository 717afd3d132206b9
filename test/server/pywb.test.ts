/**
 * pywb as a client of the server in three ways: the index with captures by replay, the index with records by range, and
 * Memento. Skipped when pywb is not installed; PYWB_WAYBACK names its program.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { contentOf, makeArchive, page, temporaryDirectory } from '../archive/trial-archive.ts';
import { ask, makeServer, type Reply } from './trial-server.ts';

const WAYBACK = process.env.PYWB_WAYBACK ?? 'wayback';
const isAbsent = spawnSync(WAYBACK, ['--version']).status !== 0;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function startPywb(t: TestContext, config: string): Promise<string> {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'config.yaml'), config);
  const port = await freePort();
  const child: ChildProcess = spawn(WAYBACK, ['-p', String(port), '-b', '127.0.0.1'], {
    cwd: directory,
    stdio: 'ignore',
  });
  t.after(() => child.kill('SIGKILL'));
  const address = `http://127.0.0.1:${port}`;
  for (let attempt = 0; ; attempt++) {
    const reply = await ask(address, '/').catch(() => undefined);
    if (reply) return address;
    if (child.exitCode !== null || attempt > 200) throw new Error('pywb did not start');
    await wait(100);
  }
}

/** Follows redirects on pywb itself. */
async function follow(address: string, target: string): Promise<Reply> {
  let reply = await ask(address, target);
  for (let hop = 0; hop < 5 && reply.headers.location; hop++) {
    const { pathname, search } = new URL(reply.headers.location, address);
    reply = await ask(address, pathname + search);
  }
  return reply;
}

test('pywb replays captures and revisits of this archive', {
  skip: isAbsent && 'pywb is not installed',
}, async (t) => {
  const archive = await makeArchive(t);
  const url = 'http://site.test/page';
  const [march, april] = [Date.UTC(2024, 2, 1, 10), Date.UTC(2024, 3, 1, 10)];
  await archive.store(page(url, march, contentOf('the same')));
  await archive.store(page(url, april, contentOf('the same')));
  const { server } = await makeServer(t, { archive });
  const { uiAddress, replayAddress } = server;
  const address = await startPywb(
    t,
    `collections:
  replay:
    index: cdx+${uiAddress}/web-cdx
  records:
    index:
      type: cdx
      api_url: ${uiAddress}/cdx/pywb?url={url}&closest={closest}&sort=closest
      replay_url: ${replayAddress}/web/{timestamp}id_/{url}
    archive_paths: ${uiAddress}/warc/
  memento:
    index: memento+${uiAddress}/web/
`,
  );
  for (const collection of ['replay', 'records', 'memento']) {
    for (const stamp of ['20240301100000', '20240401100000']) {
      const reply = await follow(address, `/${collection}/${stamp}mp_/${url}`);
      assert.equal(reply.status, 200, `${collection} ${stamp}`);
      assert.match(reply.text, /<!-- the same -->/, `${collection} ${stamp}`);
    }
  }
  const metrics = (await ask(uiAddress, '/metrics')).text;
  assert.match(metrics, /pinakes_http_requests_total\{route="segments",status="206"\} [1-9]/);
});
