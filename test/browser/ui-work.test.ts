import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { utf8 } from '../../src/base/index.ts';
import { leaveUpload } from '../api/served-archive.ts';
import { response, writeForeign } from '../archive/foreign-file.ts';
import { screenshot, until } from './chromium.ts';
import { checkScreen } from './screen-check.ts';
import { SITE, storeLibrary } from './ui-archive.ts';
import { PHONE, TOKEN, UiSetting, WIDE } from './ui-setting.ts';

const HOSTILE = 'http://hostile.example/"><img src=x onerror=document.title=1>?a=<b>';

/** Two jobs of the command line: one with a full report, and one with only an exit code. */
const COMMAND_JOBS = [
  {
    id: '00000000-0000-4000-8000-000000000001',
    kind: 'verify',
    input: { argv: ['verify', '--archive', 'secret'], directory: '/archives/secret' },
    report: { exitCode: 1, depth: 'full', segments: 2, records: 40, bytes: 90_000, errors: 3, warnings: 0 },
    log: ['main:a.warc.gz:120: error payload-digest: the payload is not what was stored', 'in secret'],
  },
  {
    id: '00000000-0000-4000-8000-000000000002',
    kind: 'delete',
    input: { argv: ['delete', '--yes', '--url', 'http://gone.example/'], directory: '/archives/secret' },
    report: { exitCode: 0 },
    log: [],
  },
];

const COMMAND_TIMES = {
  createdAt: '2024-04-01T10:00:00Z',
  startedAt: '2024-04-01T10:00:00Z',
  endedAt: '2024-04-01T10:00:04Z',
};

suite('work with the UI', () => {
  let setting: UiSetting;
  let origin: string;

  before(async () => {
    setting = await UiSetting.start(async (archive) => {
      await storeLibrary(archive);
      const responseHead = utf8('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n');
      const body = utf8('<p>hostile</p>');
      const time = Date.UTC(2021, 0, 1);
      await archive.store({ kind: 'http', url: HOSTILE, time, responseHead, body });
      const url = 'https://steps.example/../../x';
      await archive.store({ kind: 'http', url, time, responseHead, body: utf8('<p>upstairs</p>') });
      await archive.flush();
      const jobs = COMMAND_JOBS.map((job) => ({ ...job, state: 'done', origin: 'command', ...COMMAND_TIMES }));
      const lines = jobs.map((job) => `${JSON.stringify(job)}\n`);
      await writeFile(join(archive.directory, 'jobs.jsonl'), lines.join(''));
      const path = join(archive.directory, '..', 'interrupted.warc.gz');
      await writeForeign(path, [response('http://interrupted.example/', time, utf8('half way'))]);
      for (const id of ['interrupted-1', 'interrupted-2']) leaveUpload(archive.directory, id, await readFile(path));
    });
    origin = setting.server.uiUrl;
  });

  after(() => setting?.[Symbol.asyncDispose]());

  test('the keyboard alone leads from home to an archived page', async () => {
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(origin);
    await page.getByText('distinct contents').waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await focused(page), 'Skip to the content');
    await page.keyboard.press('/');
    await page.keyboard.type('library.example');
    await page.getByRole('option', { name: /library.example\/about.html/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${origin}/web/*/${SITE}`);
    await page.getByRole('row').nth(14).waitFor();
    await tabTo(page, '21 March 2023 14:05:00');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${origin}/web/20230321140500/${SITE}`);
    await page.frameLocator('iframe').getByText('News no. 2').waitFor();
    await checkScreen(page, record, { where: 'frame', hasMasthead: false });
  });

  test('the banner follows links inside the page, and links to its other captures', async () => {
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(`${origin}/web/20230321140500/${SITE}`);
    const replayed = page.frameLocator('iframe');
    await replayed.getByRole('link', { name: 'Manuscripts' }).click();
    await replayed.getByRole('heading', { name: 'Manuscripts' }).waitFor();
    await page.waitForURL(/\/web\/20230321\d{6}\/http:\/\/library\.example\/rooms\/1\.html$/);
    await until(() => page.title(), /^Manuscripts, 21 March 2023/);
    const address = page.getByRole('textbox', { name: /Address of the archived page/ });
    await until(() => address.inputValue(), /^http:\/\/library\.example\/rooms\/1\.html$/);
    await page.getByRole('link', { name: /^Next capture: 4 October 2023/ }).waitFor();
    await page.getByRole('link', { name: /captures/ }).focus();
    await page.keyboard.press('p');
    const next = page.getByRole('link', { name: /^Next capture: 21 March 2023/ });
    await next.focus();
    await next.press('Enter');
    // The focus stays on the link, so that Enter works again.
    await page.locator('a[aria-label^="Next capture: 4 October 2023"]:focus').press('Enter');
    await replayed.getByText('Shelf 1: Manuscripts, edition 2').waitFor();
    await page.waitForURL(/\/web\/20231004\d{6}\//);
    await address.fill('library.example/about.html');
    await address.press('Enter');
    await replayed.getByRole('heading', { name: 'About us' }).waitFor();
    await page.getByRole('link', { name: 'Hide this banner' }).click();
    await page.waitForURL(/\/web\/\d{14}if_\/http:\/\/library\.example\/about\.html$/);
    await replayed.getByRole('heading', { name: 'About us' }).waitFor();
    assert.equal(await page.locator('.banner').count(), 0);
    await page.goBack();
    await page.locator('.banner').waitFor();
    assert.deepEqual(record.consoleErrors, []);
    assert.deepEqual(record.outsideRequests, []);
  });

  test('two captures are compared by text, source, headers and pages', async () => {
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(`${origin}/web/*/${SITE}`);
    await page.getByRole('checkbox', { name: /10 March 2024/ }).check();
    await page.getByText('10 March 2024 is marked.').waitFor();
    await page
      .getByRole('checkbox', { name: /1 March 2024/ })
      .last()
      .check();
    await page.getByRole('link', { name: 'Compare' }).click();
    await page.waitForURL(/\/compare\?a=/);
    await page.getByText(/change(s)?: /).waitFor();
    await page.getByText('Source', { exact: true }).click();
    await page.getByText('Show 3 unchanged lines').or(page.locator('.diff.source')).first().waitFor();
    await page.getByText('Inline', { exact: true }).click();
    await page.locator('.diff.source.inline').waitFor();
    await page.getByRole('button', { name: 'Next change' }).click();
    await page.getByText(/at change 1/).waitFor();
    await page.keyboard.press('n');
    assert.match((await page.locator('.diff-tools p').textContent())!, /at change \d/);
    await page.getByText('Headers', { exact: true }).click();
    const differing = page.locator('tr.differs th');
    await differing.first().waitFor();
    assert.ok((await differing.allTextContents()).some((name) => name.startsWith('Date')));
    await checkScreen(page, record, { where: 'headers' });
    await page.getByText('Pages', { exact: true }).click();
    await page.frameLocator('iframe').first().getByText('News no. 6').waitFor();
    await page.frameLocator('iframe').last().getByText('News no. 9').waitFor();
    await screenshot(page, 'ui-compare-pages-wide');
    await checkScreen(page, record, { where: 'pages' });
  });

  test('a day limits the list of captures, and equal captures are reported as equal', async () => {
    await using checked = await setting.open(PHONE);
    const { page, record } = checked;
    await page.goto(`${origin}/web/*/${SITE}`);
    await page.getByRole('button', { name: /^Saturday, 2 March 2024/ }).click();
    await page.getByRole('heading', { name: '2 March 2024' }).waitFor();
    await page.locator('tbody tr:only-child').waitFor();
    await page.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Show all captures' }).click();
    await page.getByRole('checkbox', { name: /of 3 March 2024/ }).check();
    await page.getByRole('link', { name: 'Compare' }).click();
    await page.getByText('Both captures have the same content, byte for byte.').waitFor();
    await page.getByText('The text is the same in both.').waitFor();
    await checkScreen(page, record, { where: 'same content' });
  });

  test('a file is uploaded and added by a job, and its captures are found', async () => {
    const body = utf8(`<title>Uploaded</title><p>${'A page from another crawler. '.repeat(60)}</p>`);
    const file = join(setting.directory, 'other.warc.gz');
    await writeForeign(file, [response('http://uploaded.example/', Date.UTC(2020, 5, 1), body)]);
    const picture = join(setting.directory, 'picture.warc.gz');
    await writeFile(picture, Buffer.from('ffd8ffe000104a464946', 'hex'));
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(`${origin}/jobs`);
    await page.getByPlaceholder('Token').fill(`${origin}/#token=${TOKEN}`);
    await page.getByRole('button', { name: 'Use this token' }).click();
    await page.getByLabel('Collection').first().fill('uploads');
    await page.getByLabel('Files', { exact: true }).setInputFiles(file);
    await page.getByRole('link', { name: 'Uploaded; see the job' }).click();
    await page.getByText('1 file read: 1 new capture, 0 captures already in the archive.').waitFor();
    await page.getByRole('heading', { name: 'Add files: other.warc.gz' }).waitFor();
    await checkScreen(page, record, { where: 'job' });
    await screenshot(page, 'ui-job-wide');
    await page.getByRole('link', { name: 'Pinakes', exact: true }).click();
    await page.getByRole('link', { name: 'uploads' }).click();
    await page.getByRole('link', { name: /^uploads\/uploads-.*\.warc\.gz$/ }).waitFor();
    await page.goto(`${origin}/web/*/uploaded.example`);
    await page.getByRole('link', { name: '1 June 2020 00:00:00' }).waitFor();
    await page.goto(`${origin}/jobs`);
    await page.getByLabel('Files', { exact: true }).setInputFiles(picture);
    await page.getByRole('alert').waitFor();
    assert.match((await page.getByRole('alert').textContent())!, /^This is neither a WARC nor an ARC file/);
    assert.equal((await page.locator('main').innerText()).split('picture.warc.gz').length - 1, 2);
  });

  test('a file dropped anywhere on the page is uploaded', async () => {
    await using checked = await setting.open();
    const { page } = checked;
    await page.goto(`${origin}/jobs#token=${TOKEN}`);
    await page.getByLabel('Files', { exact: true }).waitFor();
    const dropped = await page.evaluateHandle(`(() => {
      const files = new DataTransfer();
      files.items.add(new File(['no archive'], 'dropped.warc'));
      return files;
    })()`);
    const heading = page.getByRole('heading', { name: 'Jobs', exact: true });
    await heading.dispatchEvent('dragover', { dataTransfer: dropped });
    await page.locator('.upload.over').waitFor();
    await heading.dispatchEvent('drop', { dataTransfer: dropped });
    await page.getByRole('alert').getByText('dropped.warc').waitFor();
    assert.equal(await page.locator('.upload.over').count(), 0);
  });

  test('an upload continues on other screens, and running and waiting uploads can be stopped', async () => {
    await using checked = await setting.open();
    const { page } = checked;
    // The first upload is delayed, so that both uploads are on the screen.
    const held = Promise.withResolvers<void>();
    await page.route('**/api/uploads?*', async (route) => {
      await held.promise;
      await route.abort();
    });
    await page.goto(`${origin}/jobs#token=${TOKEN}`);
    const buffer = Buffer.alloc(1000);
    const files = ['first.warc', 'second.warc'].map((name) => ({ name, mimeType: 'application/warc', buffer }));
    await page.getByLabel('Files', { exact: true }).setInputFiles(files);
    await page.getByRole('progressbar', { name: 'Sending first.warc' }).waitFor();
    await page.getByRole('link', { name: 'Collections', exact: true }).click();
    await page.getByRole('heading', { name: 'Collections' }).waitFor();
    await page.getByRole('link', { name: 'Jobs', exact: true }).click();
    await page.getByRole('progressbar', { name: 'Sending first.warc' }).waitFor();
    await page.getByRole('button', { name: 'Stop sending second.warc' }).click();
    await page.getByRole('button', { name: 'Stop sending first.warc' }).click();
    await page.getByText('The upload was stopped.').nth(1).waitFor();
    assert.equal(checked.record.requests.filter((url) => url.includes('/api/uploads')).length, 1);
    held.resolve();
  });

  test('a job is started with its form, watched while it runs, and cancelled', async () => {
    await using watching = await setting.open(PHONE);
    await watching.page.goto(`${origin}/jobs`);
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(`${origin}/jobs#token=${TOKEN}`);
    await page.getByRole('button', { name: /^Gather/ }).click();
    await page.getByLabel(/^Seeds/).fill(`${SITE}\n`);
    await page.getByLabel('Pages max').fill('5');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByText('3 of 10 pages: http://library.example/').waitFor();
    await page.getByText('fetching the first page').waitFor();
    // Without the token the job is listed without its subject.
    await watching.page.getByRole('link', { name: 'Gather', exact: true }).waitFor();
    await watching.page.getByText('3 of 10 pages', { exact: true }).waitFor();
    await checkScreen(watching.page, watching.record, { where: 'job under way' });
    await screenshot(watching.page, 'ui-jobs-under-way-phone');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('status').getByText('cancelled').waitFor();
    await page.getByRole('button', { name: 'Run it again' }).waitFor();
    await watching.page.getByText('cancelled').waitFor();
    await checkScreen(page, record, { where: 'job cancelled' });
  });

  test('an interrupted upload can be run again, or its file removed', async () => {
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(`${origin}/jobs/interrupted-1#token=${TOKEN}`);
    await page.getByRole('button', { name: 'Remove the file' }).waitFor();
    await checkScreen(page, record, { where: 'interrupted upload' });
    await page.getByRole('button', { name: 'Run it again' }).click();
    await page.getByRole('status').getByText('done').waitFor();
    await page.goto(`${origin}/jobs/interrupted-2`);
    await page.getByRole('button', { name: 'Remove the file' }).click();
    await page.getByText('The file is removed').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Run it again' }).count(), 0);
    assert.deepEqual(await readdir(join(setting.archive.directory, 'uploads')), []);
  });

  test('a crawl is started with its form, and shows its result', async () => {
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(`${origin}/jobs#token=${TOKEN}`);
    await page.getByRole('button', { name: /^Crawl/ }).click();
    // The server refuses to crawl its own machine for a client of its API.
    await page.getByLabel('Start pages').fill(`${setting.server.replayUrl}/`);
    await page.getByRole('textbox', { name: 'Collection' }).last().fill('small');
    await page.getByLabel('Maximum number of pages', { exact: true }).fill('1');
    await page.getByText('More settings').click();
    await page.getByLabel('Read sitemaps').uncheck();
    await screenshot(page, 'ui-crawl-form-wide');
    await checkScreen(page, record, { where: 'crawl form' });
    await page.getByRole('button', { name: 'Start the crawl' }).click();
    await page.getByRole('heading', { name: /^Crawl: http:/ }).waitFor();
    await page.getByRole('status').getByText('done, with errors').waitFor();
    await page.getByText('1 address could not be fetched:').waitFor();
    await page.getByText(/allow a private network in archive\.yaml/).waitFor();
    assert.match(await page.title(), /, done, with errors \u2013 Pinakes$/);
    await checkScreen(page, record, { where: 'crawl' });
  });

  test('a crawl without start pages, and an add without files, are not started', async () => {
    await using checked = await setting.open();
    const { page } = checked;
    await page.goto(`${origin}/jobs#token=${TOKEN}`);
    for (const [kind, start, field] of [
      [/^Crawl/, 'Start the crawl', 'Start pages (required)'],
      [/^Add files on the server/, 'Add these files', 'Files or directories (required)'],
    ] as const) {
      await page.getByRole('button', { name: kind }).click();
      await page.getByRole('button', { name: start }).click();
      await page.getByLabel(field).and(page.locator(':focus')).waitFor();
      assert.equal(new URL(page.url()).pathname, '/jobs');
    }
    await page.getByRole('button', { name: /^Crawl/ }).click();
    await page.getByText('More settings').click();
    await page.getByLabel('Type of crawl').selectOption('again');
    await page.getByLabel('Start pages', { exact: true }).waitFor();
  });

  test('the archive is verified, and a part of it is exported and downloaded', async () => {
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(`${origin}/jobs#token=${TOKEN}`);
    await page.getByRole('button', { name: /^Verify/ }).click();
    await page.getByRole('button', { name: 'Verify now' }).click();
    await page.getByText('No damage was found.').waitFor();
    await page.getByRole('link', { name: 'Jobs' }).first().click();
    await page.getByRole('button', { name: /^Export/ }).click();
    await page.getByLabel(/^Format/).selectOption('wacz');
    await page.getByRole('combobox', { name: 'Collection' }).selectOption('library-2024');
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    await page.getByText('Written: 13 captures').waitFor();
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: /^Download library-\d{14}\.wacz$/ }).click();
    assert.match((await downloading).suggestedFilename(), /\.wacz$/);
    assert.deepEqual(record.consoleErrors, []);
  });

  test('deleting needs a preview and a typed confirmation, and does not affect other captures', async () => {
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(`${origin}/collections/library-2022#token=${TOKEN}`);
    await page.getByRole('link', { name: 'Delete this collection' }).click();
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('heading', { name: '13 captures would be deleted' }).waitFor();
    // The focus moves to the preview, so that screen readers announce it.
    await page.locator('#preview:focus').waitFor();
    const button = page.getByRole('button', { name: 'Delete 13 captures' });
    assert.equal(await button.isDisabled(), true);
    await page.getByLabel(/to confirm/).fill('delete 12');
    assert.equal(await button.isDisabled(), true);
    await page.getByLabel(/to confirm/).fill('delete 13');
    await button.click();
    await page.getByText('13 captures and 4 contents were deleted.').waitFor();
    await checkScreen(page, record, { where: 'deleted' });
    await page.goto(`${origin}/web/20230321140501/${SITE}about.html`);
    await page.frameLocator('iframe').getByText('The reading room is open').first().waitFor();
    await page.goto(`${origin}/web/*/${SITE}`);
    await page.getByText(/13 captures from 21 March 2023/).waitFor();
  });

  test('the UI asks for the token again after the server refused it', async () => {
    await using checked = await setting.open();
    const { page } = checked;
    await page.goto(`${origin}/jobs#token=wrong%`);
    await page.getByText('Starting a job needs the token of the server.').waitFor();
    await page.getByText('The server refused this token.').waitFor();
    assert.equal(await page.getByText('The connection to the server is broken.').count(), 0);
    await page.getByPlaceholder('Token').fill(TOKEN);
    await page.getByRole('button', { name: 'Use this token' }).click();
    await page.getByLabel('Files', { exact: true }).waitFor();
  });

  test('the details of a job appear when the token is entered, without reloading the page', async () => {
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(`${origin}/jobs/${COMMAND_JOBS[0]!.id}`);
    await page.getByText('Seeing the details and the result of a job needs the token of the server.').waitFor();
    await page.getByRole('status').getByText('done, with errors').waitFor();
    assert.ok(!(await page.content()).includes('secret'));
    await screenshot(page, 'ui-job-without-token-wide');
    await checkScreen(page, record, { where: 'job without token' });
    await page.getByPlaceholder('Token').fill(TOKEN);
    await page.getByRole('button', { name: 'Use this token' }).click();
    await page.getByText('pinakes verify --archive secret').waitFor();
  });

  for (const [size, options] of [
    ['wide', WIDE],
    ['phone', PHONE],
  ] as const)
    test(`the subjects of jobs are not shown without the token, ${size}`, async () => {
      await using checked = await setting.open(options);
      const { page, record } = checked;
      await page.goto(`${origin}/jobs`);
      await page.getByRole('link', { name: 'Delete captures', exact: true }).first().waitFor();
      await page.getByText('Enter the token of the server to see the details of these jobs.').waitFor();
      assert.doesNotMatch(await page.content(), /gone\.example|secret/);
      await screenshot(page, `ui-jobs-public-${size}`);
      await checkScreen(page, record, { where: `jobs without token, ${size}` });
    });

  for (const [size, options] of [
    ['wide', WIDE],
    ['phone', PHONE],
  ] as const)
    test(`jobs of the command line show their outcome and the numbers that they reported, ${size}`, async () => {
      await using checked = await setting.open(options);
      const { page, record } = checked;
      await page.goto(`${origin}/jobs#token=${TOKEN}`);
      await page.getByRole('link', { name: 'Delete captures: http://gone.example/' }).waitFor();
      await screenshot(page, `ui-jobs-commands-${size}`);
      await checkScreen(page, record, { where: `jobs of commands, ${size}` });
      await page.getByRole('link', { name: 'Verify the archive' }).last().click();
      await page.getByText('It ended, but found errors or left something out (exit code 1).').waitFor();
      await page.getByText('3 errors and 0 warnings were found; the log lists them.').waitFor();
      await screenshot(page, `ui-job-command-${size}`);
      await checkScreen(page, record, { where: `job of a command, ${size}` });
      await page.goBack();
      await page.getByRole('link', { name: 'Delete captures: http://gone.example/' }).click();
      await page.getByText('It ended without errors (exit code 0).').waitFor();
      assert.ok(!/\b0 captures\b/.test(await page.locator('main').innerText()));
    });

  test('markup in an address is shown as text', async () => {
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(`${origin}/web/*/http://hostile.example/*`);
    const link = page.getByRole('link', { name: /img/ });
    await link.click();
    await page.getByText('1 capture').first().waitFor();
    assert.equal(await page.locator('main img').count(), 0);
    assert.match(await page.title(), /^Captures of hostile\.example/);
    await page.getByRole('link', { name: '1 January 2021 00:00:00' }).click();
    await page.frameLocator('iframe').getByText('hostile').waitFor();
    assert.deepEqual(record.consoleErrors, []);
  });

  test('a page with dot segments in its address is found and shown', async () => {
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(`${origin}/web/*/steps.example/*`);
    await page
      .getByRole('link', { name: /steps\.example/ })
      .last()
      .click();
    await page.getByRole('link', { name: '1 January 2021 00:00:00' }).click();
    await page.frameLocator('iframe').getByText('upstairs').waitFor();
    assert.match(page.url(), /steps\.example%2F\.\.%2F\.\.%2Fx$/);
    await page.goto(`${origin}/web/20210101000000123/http://library.example/`);
    await page.frameLocator('iframe').getByRole('heading', { name: 'The library at the harbour' }).waitFor();
    assert.deepEqual(record.consoleErrors, []);
  });

  for (const [size, options] of [
    ['wide', WIDE],
    ['phone', PHONE],
  ] as const)
    test(`the notice for a missing page has links and a search box, ${size}`, async () => {
      await using checked = await setting.open(options);
      const { page } = checked;
      await page.goto(`${origin}/web/2030/http://nope.example/`);
      await page.getByText('The archive has no other pages of that site.').waitFor();
      await screenshot(page, `ui-missing-capture-${size}`);
      await page.getByRole('link', { name: 'Start page' }).waitFor();
      await page.getByLabel('Search for').fill('harbour');
      await page.getByRole('button', { name: 'Find' }).click();
      await page.waitForURL(`${origin}/search?q=harbour`);
    });

  test('the chosen theme is kept', async () => {
    await using checked = await setting.open();
    const { page } = checked;
    await page.goto(origin);
    const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const light = await ground();
    await page.getByRole('button', { name: /^Theme: system/ }).click();
    await page.getByRole('button', { name: /^Theme: light/ }).click();
    assert.notEqual(await ground(), light);
    await page.reload();
    await page.getByRole('button', { name: /^Theme: dark/ }).waitFor();
    assert.notEqual(await ground(), light);
  });

  test('keyboard shortcuts are listed, and lead from screen to screen', async () => {
    await using checked = await setting.open();
    const { page } = checked;
    await page.goto(origin);
    await page.getByText('distinct contents').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('c');
    await page.waitForURL(`${origin}/collections`);
    await page.locator('#main:focus').waitFor();
  });

  test('keyboard shortcuts can be turned off, and stay off', async () => {
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(`${origin}/help`);
    const choice = page.getByRole('checkbox', { name: 'Use keyboard shortcuts' });
    await choice.uncheck();
    await page.reload();
    assert.equal(await choice.isChecked(), false);
    await page.getByRole('heading', { name: 'Keys' }).click();
    for (const key of ['g', 'c', '?']) await page.keyboard.press(key);
    assert.equal(await page.getByRole('dialog').count(), 0);
    assert.equal(page.url(), `${origin}/help`);
    await checkScreen(page, record, { where: 'help without keys' });
    await choice.check();
    await page.getByRole('heading', { name: 'Keys' }).click();
    await page.keyboard.press('?');
    const list = page.getByRole('dialog', { name: 'Keys' });
    await list.waitFor();
    assert.equal(await list.getByRole('checkbox').isChecked(), true, 'both lists show the setting');
  });

  test('a broken connection is reported even before the first jobs arrive', async () => {
    await using checked = await setting.open();
    const { page } = checked;
    await page.route('**/api/jobs**', (route) => route.abort());
    await page.goto(`${origin}/jobs`);
    await page.getByText('The connection to the server is broken.').waitFor();
    await page.unroute('**/api/jobs**');
    await page.getByRole('link', { name: 'Verify the archive' }).first().waitFor();
    assert.equal(await page.getByText('The connection to the server is broken.').count(), 0);
  });

  test('a server that does not answer is reported, with a button to try again', async () => {
    await using checked = await setting.open();
    const { page } = checked;
    await page.route('**/api/stats', (route) => route.abort());
    await page.goto(origin);
    await page.getByText('The server does not answer.').waitFor();
    await page.unroute('**/api/stats');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('distinct contents').waitFor();
  });
});

/** The text of the focused element. */
async function focused(page: Page): Promise<string> {
  return page.evaluate<string>(`(document.activeElement?.textContent ?? '').replace(/\\s+/g, ' ').trim()`);
}

const TABS_MAX = 80;

async function tabTo(page: Page, name: string): Promise<void> {
  for (let count = 0; count < TABS_MAX; count++) {
    await page.keyboard.press('Tab');
    if ((await focused(page)) === name) return;
  }
  assert.fail(`${name} cannot be reached by Tab`);
}
