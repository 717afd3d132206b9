/**
 * Twelve months of a real site, recrawled every month: every month replays exactly, and each content is stored once.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Archive, Capture } from '../../src/archive/index.ts';
import { toHex } from '../../src/base/index.ts';
import { crawl, recrawl } from '../../src/crawl/index.ts';
import { ContentDecoders } from '../../src/warc/index.ts';
import { allCaptures, makeArchive } from '../archive/trial-archive.ts';

const shared = (path: string) => fileURLToPath(new URL(`../../../shared/${path}`, import.meta.url));
const BUNDLE = shared('sites/git-htmldocs.bundle');
const SERVER = shared('tools/site-server.mjs');
const isThere = existsSync(BUNDLE) && existsSync(SERVER);

const MONTH_MS = 30 * 24 * 3600_000;
const SETTINGS = {
  collection: 'git',
  allowPrivate: true,
  delayMs: 0,
  hostConcurrency: 8,
  // The sources of the pages only make the test longer, and all requests must stay on this machine.
  exclude: ['\\.(adoc|txt)$', '^https?://(?!127\\.0\\.0\\.1[:/])'],
};

async function startSite(t: TestContext): Promise<string> {
  const child = spawn(process.execPath, [SERVER, BUNDLE, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return line.split(' ', 1)[0]!;
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The status and content that a reader sees of URLs at given times. Each content is read once. */
class Replayed {
  readonly #archive: Archive;
  readonly #contents = new Map<string, { status: number | undefined; sha256: string }>();

  constructor(archive: Archive) {
    this.#archive = archive;
  }

  async at(url: string, time: number): Promise<string> {
    const capture = await this.#archive.findCapture(url, time, 'notAfter');
    if (!capture) return 'nothing';
    const id = toHex(capture.block!.digest);
    const content = this.#contents.get(id) ?? (await this.#read(capture));
    this.#contents.set(id, content);
    return `${capture.status === 304 ? content.status : capture.status} ${content.sha256}`;
  }

  async #read(capture: Capture): Promise<{ status: number | undefined; sha256: string }> {
    const { payload, holderHttp, http } = await this.#archive.open(capture);
    const hash = createHash('sha256');
    const decoders = new ContentDecoders((holderHttp ?? http)?.contentCodings ?? [], (bytes) => hash.update(bytes));
    for await (const piece of payload) decoders.push(piece);
    decoders.end();
    return { status: holderHttp?.status, sha256: hash.digest('hex') };
  }
}

test('twelve monthly snapshots of a site replay exactly, and take only the room of their new contents', {
  skip: isThere ? false : 'the bundle of the site is not there',
}, async (t) => {
  const site = await startSite(t);
  const months = (await (await fetch(`${site}__revs`)).json()) as string[];
  let shiftMs = 0;
  const archive = await makeArchive(t, { clock: () => Date.now() + shiftMs });
  const asServed: { month: string; time: number; pages: Map<string, string> }[] = [];
  let known = 0;
  for (const [index, month] of months.entries()) {
    await fetch(`${site}__rev?to=${month}`, { method: 'POST' });
    shiftMs = index * MONTH_MS;
    const report = index === 0 ? await crawl(archive, [site], SETTINGS) : await recrawl(archive, 'git');
    assert.equal(report.outcome, 'done');
    assert.equal(report.counts.failed, 0);
    const urls = new Set((await allCaptures(archive)).map(({ url }) => url));
    const pages = new Map<string, string>();
    for (const url of urls) {
      const response = await fetch(url, { redirect: 'manual' });
      pages.set(url, `${response.status} ${sha256(new Uint8Array(await response.arrayBuffer()))}`);
    }
    asServed.push({ month, time: Date.now() + shiftMs, pages });
    if (index > 0) {
      const { unchanged, notModified, new: fresh, duplicate } = report.counts;
      assert.ok(notModified > 0 && notModified <= unchanged, `${month}: ${notModified} not modified`);
      t.diagnostic(
        `${month}: ${report.counts.captures} captures, ${fresh} new, ${notModified} not modified, ${duplicate} held already`,
      );
    }
    assert.ok(urls.size >= known, 'nothing is forgotten');
    known = urls.size;
  }

  await t.test('every month replays as it was served, page by page', async () => {
    const replayed = new Replayed(archive);
    let compared = 0;
    for (const { month, time, pages } of asServed) {
      for (const [url, expected] of pages) {
        // A page that was gone is not requested again; its last capture counts.
        if (expected.startsWith('404') && (await replayed.at(url, time)).startsWith('404')) continue;
        assert.equal(await replayed.at(url, time), expected, `${url} in ${month}`);
        compared++;
      }
    }
    t.diagnostic(`${compared} pages compared`);
  });

  await t.test('each content is stored once, and an unchanged page is a small record', async () => {
    const captures = await allCaptures(archive);
    const holders = new Map<string, number>();
    let bytes = 0;
    for await (const blocks of archive.blocks()) for (const block of blocks) bytes += block.size;
    for (const capture of captures) {
      const digest = toHex(capture.block!.digest);
      if (capture.kind === 'response') holders.set(digest, (holders.get(digest) ?? 0) + 1);
      if (capture.status === 304)
        assert.ok(capture.place.length < 800, `${capture.url} took ${capture.place.length} bytes`);
    }
    const { uniquePayloadBytes, blocks } = await archive.totals();
    assert.equal(holders.size, blocks);
    assert.equal(uniquePayloadBytes, bytes);
    // Contents smaller than a revisit are stored repeatedly on purpose.
    const small = new Set<string>();
    for await (const page of archive.blocks())
      for (const { key, size } of page) if (size < 1024) small.add(toHex(key.digest));
    const twice = [...holders].filter(([digest, count]) => count > 1 && !small.has(digest));
    assert.deepEqual(twice, []);
  });

  await t.test('the archive passes verification', async () => {
    assert.equal((await archive.verify()).errors, 0);
  });
});
