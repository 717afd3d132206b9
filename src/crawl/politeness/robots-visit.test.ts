import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createArchive, openArchive } from '../../archive/index.ts';
import { seededIds, seededRandom } from '../../base/index.ts';
import { CrawlCaptures } from '../crawl-captures.ts';
import { HttpFetcher } from '../fetch/http-fetcher.ts';
import { FETCH_DEFAULTS } from '../fetch-settings.ts';
import { CRAWL_DEFAULTS } from '../settings.ts';
import { RobotsVisitor } from './robots-visit.ts';

test('when two robots.txt redirect to one file that fails, a host with tries left tries again', async (t) => {
  const servers = [1, 2, 3].map(() => createServer());
  const [one, two, shared] = await Promise.all(
    servers.map(async (server) => {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    }),
  );
  for (const server of servers.slice(0, 2))
    server.on('request', (_, response) => response.writeHead(302, { location: `${shared}/robots.txt` }).end());
  servers[2]!.on('request', (_, response) => response.writeHead(503).end());
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-robots-'));
  const options = { clock: Date.now, newId: seededIds(seededRandom(1)) };
  await createArchive(directory);
  const archive = await openArchive(directory, options);
  const settings = { ...FETCH_DEFAULTS, clock: Date.now, allowPrivate: true, anyCertificate: false, userAgent: 'x' };
  const fetcher = new HttpFetcher(settings);
  t.after(async () => {
    await fetcher.close();
    for (const server of servers) server.close();
    await archive.close();
    await rm(directory, { recursive: true });
  });
  // The turn at the shared file is given after both visits were redirected to it.
  const areRedirected = Promise.withResolvers<void>();
  let redirected = 0;
  const onReceived = (exchange: unknown) => {
    if (exchange === undefined && ++redirected === 2) areRedirected.resolve();
  };
  const captures = new CrawlCaptures(archive, CRAWL_DEFAULTS, 0);
  const turnAt = async () => {
    await areRedirected.promise;
    return { end() {}, noteRefusal() {} };
  };
  const visitor = new RobotsVisitor({ archive, fetcher, captures, turnAt });
  const [last, first] = await Promise.all([
    visitor.visit(one!, { isLastTry: true, mayBeDoneBy: undefined, onReceived }),
    visitor.visit(two!, { isLastTry: false, mayBeDoneBy: undefined, onReceived }),
  ]);
  assert.equal(last.kind === 'robots' && last.verdict, 'forbid');
  assert.equal(first.kind, 'retry');
});
