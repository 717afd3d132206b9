/** Browsers that die, and crawlers that die while a browser is running. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createArchive, openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { crawl } from '../../src/crawl/index.ts';
import { allCaptures, audit, makeArchive, temporaryDirectory } from '../archive/trial-archive.ts';
import { browserSettings, GIF, picture, shell, until } from './browser-site.ts';
import { html, TestWeb } from './test-web.ts';

const skip = existsSync('/proc/self/stat') ? false : 'processes are found by way of /proc here';

/** The browsers that a process started. */
function browsersOf(parent: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => parentOf(pid) === parent && isBrowser(pid));
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}

function isBrowser(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--remote-debugging-pipe');
  } catch {
    return false;
  }
}

function killBrowsers(): void {
  for (const pid of browsersOf(process.pid)) process.kill(pid, 'SIGKILL');
}

test('a killed browser is replaced and its page tried again, and a page that kills every browser is reported', {
  skip,
}, async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const needs = (path: string) => shell(`document.body.append(Object.assign(new Image(), { src: '${path}' }))`);
  web.put('site.test', '/', html('home', '<a href="/once">1</a><a href="/always">2</a><a href="/last">3</a>'));
  web.put('site.test', '/once', needs('/once.gif'));
  web.put('site.test', '/last', needs('/last.gif'));
  web.put('site.test', '/last.gif', picture('last'), GIF);
  web.at('site.test', '/once.gif', (_, response, end) => {
    killBrowsers();
    response.writeHead(200, GIF);
    end();
    response.end(picture('once'));
  });
  web.put('site.test', '/always', shell(`for (let round = 0; round < 9; round++) await fetch('/deadly?' + round)`));
  web.at('site.test', '/deadly', (_, response, end) => {
    killBrowsers();
    response.writeHead(200, { 'content-type': 'text/plain' });
    end();
    response.end('deadly');
  });
  const report = await crawl(archive, [web.url('site.test')], await browserSettings(), { resolve: web.resolve });
  const { counts, outcome, partlyReadUrls } = report;
  assert.deepEqual([outcome, counts.pages, counts.rendered, counts.screenshots, counts.failed], ['done', 4, 3, 3, 0]);
  assert.deepEqual(partlyReadUrls, [
    { url: web.url('site.test', '/always'), reason: 'not rendered: the browser ended' },
  ]);
  for (const path of ['/once', '/once.gif', '/last.gif', '/always'])
    assert.equal(web.requests('site.test', path).length, 1, path);
  assert.deepEqual(await audit(archive), []);
  assert.deepEqual(browsersOf(process.pid), [], 'no browser is left');
});

test('a page that uses too much memory is given up with its browser and reported, and other pages are rendered', {
  skip,
}, async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  // These buffers are outside the heap of scripts, so the browser does not limit them.
  const greed = 'const all = []; setInterval(() => all.push(new Uint8Array(2e7).fill(1)), 1); await fetch("/last");';
  web.put('site.test', '/', html('home', '<a href="/greedy">1</a><a href="/modest">2</a>'));
  web.put('site.test', '/greedy', shell(greed));
  web.put('site.test', '/modest', html('modest', ''));
  web.at('site.test', '/last', (_, response, end) => {
    const browsers = browsersOf(process.pid);
    void until(() => !browsers.some(isBrowser)).then(() => {
      end();
      response.end('too late');
    });
  });
  const settings = { ...(await browserSettings()), browserBytesMax: 700 * 1024 ** 2, renderMsMax: 300_000 };
  const report = await crawl(archive, [web.url('site.test')], settings, { resolve: web.resolve });
  const { counts, partlyReadUrls } = report;
  assert.deepEqual([counts.pages, counts.rendered], [3, 2]);
  assert.deepEqual(partlyReadUrls, [
    { url: web.url('site.test', '/greedy'), reason: 'not rendered: it uses too much memory' },
  ]);
  assert.deepEqual(browsersOf(process.pid), [], 'no browser is left');
});

test('a crawler that is killed leaves no browser behind, and the next one continues', { skip }, async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const directory = await temporaryDirectory(t);
  await createArchive(directory);
  const host = '127.0.0.1';
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  web.put(
    host,
    '/',
    shell(`document.body.innerHTML += '<img src="/a.gif"><img src="/slow.gif"><a href="/next">next</a>'`),
  );
  web.put(host, '/a.gif', picture('a'), GIF);
  let isSlow = true;
  web.at(host, '/slow.gif', (_, response, end) => {
    reach();
    if (isSlow) return;
    response.writeHead(200, GIF);
    end();
    response.end(picture('slow'));
  });
  web.put(host, '/next', html('next', ''));
  const seed = `http://${host}:${web.port}/`;
  const settings = await browserSettings();
  const program = new URL('browser-crawling-child.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [program, directory, seed, JSON.stringify(settings)], {
    stdio: 'inherit',
    // A process that is killed leaves the profile of its browser behind.
    env: { ...process.env, TMPDIR: await temporaryDirectory(t) },
  });
  await reached;
  const browsers = browsersOf(child.pid!);
  assert.equal(browsers.length, 1);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await until(() => browsers.every((pid) => !isBrowser(pid)));

  isSlow = false;
  const archive = await openArchive(directory, { clock: Date.now, newId: seededIds(seededRandom(78)) });
  t.after(() => archive.close());
  const { outcome, counts } = await crawl(archive, [seed], settings);
  assert.deepEqual([outcome, counts.pages, counts.rendered], ['done', 2, 2]);
  assert.equal(web.requests(host, '/').length, 1, 'captured resources are not requested again');
  assert.equal(web.requests(host, '/slow.gif').length, 2);
  assert.equal(web.requests(host, '/next').length, 1);
  assert.ok((await allCaptures(archive)).some(({ url }) => url === `${seed}slow.gif`));
  assert.deepEqual(await audit(archive), []);
});

test('the next crawl removes exactly the temporary files that the browser of a killed crawler left', {
  skip,
}, async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const [directory, temporary] = [await temporaryDirectory(t), await temporaryDirectory(t)];
  await createArchive(directory);
  const host = '127.0.0.1';
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  web.put(host, '/', shell(`document.body.innerHTML += '<img src="/a.gif">'`));
  web.at(host, '/a.gif', () => reach());
  const program = new URL('browser-crawling-child.ts', import.meta.url).pathname;
  const settings = JSON.stringify(await browserSettings());
  const start = () =>
    spawn(process.execPath, [program, directory, `http://${host}:${web.port}/`, settings], {
      stdio: 'inherit',
      env: { ...process.env, TMPDIR: temporary },
    });
  const killed = start();
  await reached;
  const browsers = browsersOf(killed.pid!);
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  await until(() => browsers.every((pid) => !isBrowser(pid)));
  const left = readdirSync(temporary);
  assert.ok(left.some((name) => name.startsWith('playwright_chromiumdev_profile-')));

  const others = ['playwright_chromiumdev_profile-others', 'playwright-artifacts-others', 'unlike'];
  for (const name of others) mkdirSync(join(temporary, name));
  // Another running process has a profile in the temporary directory too.
  const mark = readdirSync(temporary).find((name) => name.startsWith('pinakes-browser-'))!;
  const running = mark.replace(String(killed.pid), String(process.pid));
  mkdirSync(join(temporary, running));
  mkdirSync(join(temporary, 'playwright_chromiumdev_profile-running', running), { recursive: true });
  web.put(host, '/a.gif', picture('a'), GIF);
  const next = start();
  assert.deepEqual(await once(next, 'exit'), [0, null]);
  assert.deepEqual(
    readdirSync(temporary).sort(),
    [...others, running, 'playwright_chromiumdev_profile-running'].sort(),
  );
});

test('an interrupted crawl stops at once together with its browser, and can be resumed', { skip }, async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const archive = await makeArchive(t, { clock: Date.now });
  const stop = new AbortController();
  web.put('site.test', '/', shell(`fetch('/endless'); document.body.innerHTML += '<a href="/next">next</a>'`));
  let isEndless = true;
  web.at('site.test', '/endless', (_, response, end) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    end();
    if (!isEndless) response.end('done');
    else {
      response.write('and so on ');
      stop.abort();
    }
  });
  web.put('site.test', '/next', html('next', ''));
  const settings = await browserSettings();
  const seeds = [web.url('site.test')];
  const first = await crawl(archive, seeds, settings, { resolve: web.resolve, signal: stop.signal });
  assert.equal(first.outcome, 'interrupted');
  assert.deepEqual(browsersOf(process.pid), []);
  isEndless = false;
  const second = await crawl(archive, seeds, settings, { resolve: web.resolve });
  assert.deepEqual([second.outcome, second.counts.pages, second.counts.rendered], ['done', 2, 2]);
});
