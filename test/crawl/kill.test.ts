/**
 * Kills a crawl at random moments and resumes it in the next process. Acknowledged captures are never requested again,
 * and no capture is missing at the end.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { type Archive, createArchive, openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import type { CrawlReport } from '../../src/crawl/index.ts';
import { allCaptures, audit, bytesOf, temporaryDirectory } from '../archive/trial-archive.ts';
import { html, TestWeb } from './test-web.ts';

const ROUNDS = 20;
const PAGES = 500;
const HOST = '127.0.0.1';

function pageOf(page: number): string {
  const others = [page * 3 + 1, page * 3 + 2, page * 3 + 3, (page * 17) % PAGES].filter((other) => other < PAGES);
  return html(`page ${page}`, others.map((other) => `<a href="/${other}">x</a>`).join(''));
}

/** Answers after a while, so that several requests run at any moment, and reports when enough have arrived. */
class Site {
  readonly web: TestWeb;
  #awaited: { count: number; resolve: () => void } | undefined;

  constructor(web: TestWeb) {
    this.web = web;
    for (let page = 0; page < PAGES; page++) {
      web.at(HOST, `/${page}`, (_, response, end) => {
        if (this.#awaited && web.requestLog.length >= this.#awaited.count) this.#awaited.resolve();
        setTimeout(() => {
          response.writeHead(200, { 'content-type': 'text/html' });
          end();
          response.end(pageOf(page));
        }, 5);
      });
    }
  }

  requests(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#awaited = { count, resolve };
    });
  }
}

async function open(directory: string, seed: number): Promise<Archive> {
  return openArchive(directory, { clock: Date.now, newId: seededIds(seededRandom(seed)) });
}

test(`a crawl killed ${ROUNDS} times ends like an undisturbed one, and requests nothing twice that was acknowledged`, async (t) => {
  const seed = Number(process.env.PINAKES_SEED ?? 20_261_115);
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const site = new Site(web);
  const directory = await temporaryDirectory(t);
  await createArchive(directory);
  const child = (round: number) =>
    spawn(
      process.execPath,
      [join(import.meta.dirname, 'crawling-child.ts'), directory, `http://${HOST}:${web.port}/0`, String(round)],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        // Starting the process takes most of the time of a round.
        env: {
          ...process.env,
          NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'pinakes-compile-cache'),
        },
      },
    );

  const heldBefore = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const before = web.requestLog.length;
    const enough = site.requests(before + 1 + Math.floor(random() * 25));
    const crawling = child(round);
    const said = text(crawling.stderr);
    const ended = once(crawling, 'exit');
    const delay = Math.floor(random() * 12);
    await Promise.race([enough.then(() => new Promise((resolve) => setTimeout(resolve, delay))), ended]);
    crawling.kill('SIGKILL');
    const [, signal] = await ended;
    assert.equal(signal, 'SIGKILL', `round ${round} ended by itself: ${await said}`);

    const requested = web.requestLog.slice(before).map(({ path }) => path);
    assert.equal(new Set(requested).size, requested.length, `round ${round} requested something twice`);
    const archive = await open(directory, seed + round);
    const held = new Set((await allCaptures(archive)).map(({ url }) => new URL(url).pathname));
    if (round % 5 === 4) assert.deepEqual(await audit(archive), []);
    await archive.close();
    for (const path of requested)
      assert.ok(!heldBefore.has(path), `round ${round} requested ${path} again, which was acknowledged`);
    for (const path of held) heldBefore.add(path);
  }

  const last = child(ROUNDS);
  const [out, err] = await Promise.all([text(last.stdout), text(last.stderr)]);
  assert.equal(err, '');
  const report = JSON.parse(out) as CrawlReport;
  assert.equal(report.outcome, 'done');
  const archive = await open(directory, seed + ROUNDS);
  t.after(() => archive.close());
  const captures = await allCaptures(archive);
  const found = await Promise.all(
    captures.map(async (capture) => {
      const payload = await bytesOf((await archive.open(capture)).payload);
      return `${capture.status} ${new URL(capture.url).pathname} ${createHash('sha256').update(payload).digest('hex')}`;
    }),
  );
  const pages = Array.from(
    { length: PAGES },
    (_, page) => `200 /${page} ${createHash('sha256').update(pageOf(page)).digest('hex')}`,
  );
  const robots = `404 /robots.txt ${createHash('sha256').update('not found').digest('hex')}`;
  assert.deepEqual(found.sort(), [...pages, robots].sort());
  assert.equal(report.counts.captures, PAGES + 1);
  assert.deepEqual(await audit(archive), []);
  assert.equal((await archive.verify()).errors, 0);
  t.diagnostic(
    `${web.requestLog.length} requests for ${PAGES + 1} captures, ${report.counts.recovered} recovered from the archive`,
  );
});
