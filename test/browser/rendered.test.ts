/**
 * A page that only scripts can show is crawled with a browser, the site is shut down, and the page works in the
 * archive.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { crawl } from '../../src/crawl/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';
import { browserSettings, setUpApplication } from '../crawl/browser-site.ts';
import { TestWeb } from '../crawl/test-web.ts';
import { launchChromium, newCheckedPage } from './chromium.ts';
import { builtUi, replayFrame, serveArchive } from './served-archive.ts';

test('a page of scripts that was crawled with a browser works in the archive when its site is gone', async (t) => {
  const web = await TestWeb.start();
  const archive = await makeArchive(t, { clock: Date.now });
  const { seed } = setUpApplication(web, false);
  const settings = { ...(await browserSettings()), depthMax: 0 };
  await crawl(archive, [seed], settings, { resolve: web.resolve });
  await web.stop();

  const ui = await builtUi();
  t.after(() => ui.remove());
  const browser = await launchChromium();
  t.after(() => browser.close());
  const { uiOrigin, replayOrigin } = await serveArchive(t, archive, ui.directory);
  const { page, record } = await newCheckedPage(browser, [uiOrigin, replayOrigin]);
  await page.goto(`${uiOrigin}/web/2999/${seed}`);
  const frame = await replayFrame(page);
  await frame.waitForSelector('a[href*="/found"]');
  const text = (await frame.locator('#app').textContent()) ?? '';
  for (const part of ['item 99', 'answer to POST {"ask":"all"}', 'from afar', '42'])
    assert.ok(text.includes(part), part);
  await frame.waitForFunction(`document.querySelector('img[src*="moved.gif"]').naturalWidth === 1`);
  await frame.evaluate(`document.querySelector('img[loading=lazy]').scrollIntoView()`);
  await frame.waitForFunction(`document.querySelector('img[loading=lazy]').naturalWidth === 1`);
  assert.deepEqual(record.outsideRequests, []);
});
