import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryDirectory } from '../archive/trial-archive.ts';
import { chromiumProgram } from '../browser/chromium.ts';
import { startPinakes } from '../journeys/pinakes-process.ts';
import { shell } from './browser-site.ts';
import { TestWeb } from './test-web.ts';

type Outcome = { code: number | null; out: Buffer; err: string };

/** Asynchronous, because the crawled web is in this process. */
function run(cwd: string, ...args: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = startPinakes(cwd, ...args);
    const pieces: Buffer[] = [];
    let err = '';
    child.stdout!.on('data', (data: Buffer) => pieces.push(data));
    child.stderr!.on('data', (data: Buffer) => {
      err += data.toString();
    });
    child.on('close', (code) => resolve({ code, out: Buffer.concat(pieces), err }));
  });
}

test('the command line crawls a site with a browser, and reports a missing browser and the result', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const cwd = await temporaryDirectory(t);
  const program = await chromiumProgram();
  web.put('127.0.0.1', '/', shell(`document.body.innerHTML += '<h1>made by a script</h1><a href="/more">more</a>'`));
  web.put('127.0.0.1', '/more', shell(''));
  const seed = `http://127.0.0.1:${web.port}/`;
  await run(cwd, 'init', 'archive');

  const missing = await run(cwd, 'crawl', seed, '--browser', '--browser-path', 'nowhere/chromium');
  assert.equal(missing.code, 2);
  assert.match(missing.err, /nowhere\/chromium: no browser was found .*\[BROWSER_MISSING\]\n.*--browser-path/);
  const swallowed = await run(cwd, 'crawl', '--browser', seed);
  assert.match(swallowed.err, /write the seeds before this option.*\[BAD_ARGUMENT\]/);

  const kept = ['--allow-private', '--delay', '0', '--browser-path', program];
  const shut = await run(cwd, 'crawl', seed, '--collection', 'shut', '--browser', ...kept, '--render-time', '30s');
  // Whether a sandbox is available depends on the machine; without one the option is named.
  if (shut.code !== 0) assert.match(shut.err, /\[BROWSER_SANDBOX\]\n.*--no-browser-sandbox/);

  const crawled = await run(cwd, 'crawl', seed, '--browser', 'empty', ...kept, '--no-browser-sandbox');
  assert.equal(crawled.code, 0, crawled.err);
  assert.match(crawled.out.toString(), /^3 captures of 2 pages/);
  assert.match(crawled.out.toString(), /2 rendered in a browser, 2 screenshots/);
  const shot = await run(cwd, 'get', `urn:view:${seed}`);
  assert.deepEqual([shot.code, shot.out.subarray(1, 4).toString()], [0, 'PNG']);

  const again = await run(cwd, 'crawl', '--again', '--browser', 'none');
  assert.equal(again.code, 0, again.err);
  assert.doesNotMatch(again.out.toString(), /rendered/);
});
