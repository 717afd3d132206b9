/** The screen of takedowns: the log, the search for bytes as a job, and the receipt. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, suite, test } from 'node:test';
import { screenshot } from './chromium.ts';
import { checkScreen } from './screen-check.ts';
import { SITE, storeLibrary } from './ui-archive.ts';
import { PHONE, TOKEN, UiSetting, WIDE } from './ui-setting.ts';

const REASON = 'Asked by the author, <b>letter</b> of 3 March.\nA second line.';

suite('the screen of takedowns', () => {
  let setting: UiSetting;
  let origin: string;

  before(async () => {
    setting = await UiSetting.start(async (archive) => {
      await storeLibrary(archive);
      await archive.takeDown(
        { urls: [`${SITE}about.html`], withContents: true },
        { reason: REASON, by: 'A. Archivist' },
      );
      await archive.compact();
    });
    origin = setting.server.uiUrl.replace(/\/$/, '');
  });
  after(() => setting[Symbol.asyncDispose]());

  for (const [width, options] of [
    ['desktop', WIDE],
    ['phone', PHONE],
  ] as const)
    test(`it lists what was taken down, searches for the bytes and saves the receipt, on a ${width}`, async () => {
      await using checked = await setting.open({ ...options, acceptDownloads: true });
      const { page, record } = checked;
      await page.goto(`${origin}/takedowns#token=${TOKEN}`);
      await page.getByText('A. Archivist').waitFor();
      assert.match((await page.locator('.takedown-reason').textContent())!, /<b>letter<\/b>/);
      await checkScreen(page, record, { where: 'takedowns' });
      await screenshot(page, `takedowns-${width}`);
      await page.getByRole('button', { name: 'Search for its bytes' }).click();
      await page.waitForURL(/\/jobs\/./);
      await page.getByRole('heading', { name: 'Search for what was taken down' }).waitFor();
      await page.getByText('Done').first().waitFor();
      await page.goto(`${origin}/takedowns`);
      await page.getByText('None are left: every file was searched on').waitFor();
      await screenshot(page, `takedowns-searched-${width}`);
      const downloading = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Save the receipt' }).click();
      const receipt = await readFile(await (await downloading).path(), 'utf8');
      assert.match(receipt, /Confirmation of removal/);
      assert.match(receipt, /Nothing of the material was found/);
      if (width === 'phone') return;
      await using printed = await setting.open(options);
      await printed.page.setContent(receipt);
      await screenshot(printed.page, 'takedown-receipt');
    });
});
