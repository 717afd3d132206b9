/** From an empty archive to the first saved site, in the UI alone. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { html, TestWeb } from '../crawl/test-web.ts';
import { screenshot } from './chromium.ts';
import { checkScreen } from './screen-check.ts';
import { PHONE, TOKEN, UiSetting, WIDE } from './ui-setting.ts';

const HOST = '127.0.0.1';

suite('the first crawl', () => {
  let setting: UiSetting;
  let web: TestWeb;

  before(async () => {
    web = await TestWeb.start();
    web.put(HOST, '/', html('The library', '<a href="/rooms">Rooms</a>'));
    web.put(HOST, '/rooms', html('Rooms', ''));
    setting = await UiSetting.start(async () => {}, { connectorText: `crawl:\n  privateNetworks: [${HOST}/32]\n` });
  });

  after(async () => {
    await setting?.[Symbol.asyncDispose]();
    await web?.stop();
  });

  test('the empty home page links to the crawl form, and the finished crawl links to its captures', async () => {
    await using checked = await setting.open(WIDE);
    const { page, record } = checked;
    await page.goto(`${setting.server.uiUrl}/#token=${TOKEN}`);
    await page.getByRole('link', { name: 'Start a crawl here' }).click();
    await page.getByLabel('Start pages').fill(`http://${HOST}:${web.port}/`);
    const collection = page.getByRole('textbox', { name: 'Collection' }).last();
    await collection.fill('my crawl');
    await page.getByRole('button', { name: 'Start the crawl' }).click();
    await page.getByText(/^Collection must have .*letters.*without blanks/).waitFor();
    await screenshot(page, 'ui-crawl-form-refused-wide');
    // The browser logs the refused request as an error.
    assert.match(record.consoleErrors.splice(0).join('\n'), /^.*status of 400.*$/);
    await checkScreen(page, record, { where: 'refused crawl form' });
    await collection.fill('library');
    await page.getByText('More settings').click();
    await page.getByLabel('Seconds between two requests to a host').fill('0');
    await page.getByRole('button', { name: 'Start the crawl' }).click();
    await page.getByText('2 pages and').waitFor();
    await screenshot(page, 'ui-crawl-done-wide');
    await page.getByRole('link', { name: 'Open the collection library' }).waitFor();
    await page.getByRole('link', { name: `See ${HOST}:${web.port}` }).click();
    await page.getByRole('heading', { name: `${HOST}:${web.port}` }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Open the collection library' }).click();
    await page.getByRole('heading', { name: 'library', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Pinakes', exact: true }).click();
    await page.getByText(/In a small archive these take more room than the\s+pages/).waitFor();
    await screenshot(page, 'ui-home-small-wide');
  });

  test('the link to delete is shown only with the token', async () => {
    await using reader = await setting.open(PHONE);
    await reader.page.goto(`${setting.server.uiUrl}/`);
    await reader.page.getByRole('link', { name: 'Jobs', exact: true }).waitFor();
    assert.equal(await reader.page.getByRole('link', { name: 'Delete' }).count(), 0);
    await using curator = await setting.open(WIDE);
    await curator.page.goto(`${setting.server.uiUrl}/#token=${TOKEN}`);
    await curator.page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Delete' }).waitFor();
  });
});
