import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { utf8 } from '../../src/base/index.ts';
import { screenshot } from './chromium.ts';
import { checkScreen } from './screen-check.ts';
import { SITE, storeLibrary } from './ui-archive.ts';
import { PHONE, TOKEN, UiSetting, WIDE } from './ui-setting.ts';

type Screen = {
  readonly name: string;
  readonly path: string;
  readonly isFrame?: boolean;
  /** Waits until the screen is complete, and checks its content. */
  readonly look: (page: Page) => Promise<void>;
};

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name, level: 1 }).waitFor();
const text = (page: Page, what: string | RegExp) => page.getByText(what).first().waitFor();

suite('screens', () => {
  let setting: UiSetting;
  let empty: UiSetting;
  let screens: Screen[];

  before(async () => {
    [setting, empty] = await Promise.all([UiSetting.start(storeLibrary), UiSetting.start(async () => {})]);
    const [a, b] = await captureIds(setting, SITE);
    screens = [
      {
        name: 'home',
        path: '/',
        look: async (page) => {
          await heading(page, 'library');
          await text(page, 'distinct contents');
          await text(page, /deduplication saves 40 KB, 48 %/);
          await page.getByRole('link', { name: 'library-2023-autumn' }).waitFor();
        },
      },
      {
        name: 'captures',
        path: `/web/*/${SITE}`,
        look: async (page) => {
          await heading(page, 'library.example');
          await text(page, /14 captures from 10 May 2022 to 10 March 2024; 8 distinct contents/);
          await page.getByRole('button', { name: '4 March 2024: 1 capture, 1 changed' }).waitFor();
          await page.getByRole('button', { name: '5 March 2024: 1 capture, identical' }).waitFor();
          await page.getByRole('button', { name: '2022: 1 capture' }).waitFor();
          await page.locator('tbody tr').nth(13).waitFor();
          assert.equal(await page.locator('tbody tr').count(), 14);
          const weekdays = await page.locator('.month').last().locator('.weekdays li').allTextContents();
          assert.deepEqual(weekdays, ['M', 'T', 'W', 'T', 'F', 'S', 'S']);
          const calendar = await page.locator('.months').ariaSnapshot();
          assert.doesNotMatch(calendar, /listitem$/m, 'days without captures are read out');
          assert.deepEqual(calendar.match(/(?<=region ").*?(?=")/g), ['February 2024', 'March 2024']);
        },
      },
      {
        name: 'no-captures',
        path: '/web/*/http://nowhere.example/a/b',
        look: async (page) => {
          await text(page, 'The archive has no capture of this address.');
          await page.getByRole('link', { name: 'anywhere on nowhere.example' }).waitFor();
        },
      },
      {
        name: 'prefix',
        path: `/web/*/${SITE}rooms/*`,
        look: async (page) => {
          await heading(page, 'library.example/rooms/*');
          await page.getByRole('link', { name: 'library.example/rooms/5.html' }).waitFor();
          await page.locator('tbody tr').nth(5).waitFor();
          assert.equal(await page.locator('tbody tr').count(), 6);
        },
      },
      {
        name: 'compare',
        path: `/compare?${new URLSearchParams({ a, b })}`,
        look: async (page) => {
          await text(page, /3 changes: 1 line removed, 3 lines added/);
          assert.deepEqual(await page.locator('del').allTextContents(), ['1', '12000']);
          assert.deepEqual(await page.locator('ins').allTextContents(), [
            '2',
            '12350',
            'The lift is out of order. Please ask at the desk.',
            'Music',
          ]);
        },
      },
      {
        name: 'collections',
        path: '/collections',
        look: async (page) => {
          await heading(page, 'Collections');
          await page.locator('.chart-box canvas').waitFor();
          const row = page.getByRole('row').filter({ hasText: 'front-page-watch' });
          assert.match((await row.textContent())!, /60 %.*100 %/);
        },
      },
      {
        name: 'collection',
        path: '/collections/library-2023-spring',
        look: async (page) => {
          await heading(page, 'library-2023-spring');
          await page.locator('.chart-box canvas').waitFor();
          await page.getByRole('link', { name: /^library-2023-spring\/.*\.warc\.gz$/ }).waitFor();
        },
      },
      {
        name: 'jobs-without-token',
        path: '/jobs',
        look: async (page) => {
          await heading(page, 'Jobs');
          await text(page, 'Starting a job needs the token of the server.');
        },
      },
      {
        name: 'jobs',
        path: `/jobs#token=${TOKEN}`,
        look: async (page) => {
          await page.getByLabel('Files', { exact: true }).waitFor();
          await page
            .getByRole('button', { name: 'Crawl Fetch pages from the web into the archive.', exact: true })
            .waitFor();
          await page.getByRole('button', { name: /^Export/ }).click();
          await page.getByLabel('Format').waitFor();
          assert.equal(new URL(page.url()).hash, '', 'the token stays in the address bar');
        },
      },
      {
        name: 'delete',
        path: `/delete?collection=library-2022#token=${TOKEN}`,
        look: async (page) => {
          await page.getByRole('button', { name: 'Preview' }).click();
          await text(page, '13 captures would be deleted');
          await text(page, '4 contents (5.5 KB) would be deleted with them, because no other capture refers to them.');
          await text(page, '9 contents stay, because other captures share them.');
        },
      },
      { name: 'help', path: '/help', look: (page) => heading(page, 'Help') },
      {
        name: 'frame',
        path: `/web/20230401000000/${SITE}`,
        isFrame: true,
        look: async (page) => {
          const replayed = page.frameLocator('iframe');
          await replayed.getByRole('heading', { name: 'The library at the harbour' }).waitFor();
          await replayed.getByText('News no. 2').waitFor();
          await page.getByRole('link', { name: 'Previous capture: 10 May 2022, 09:30:00 UTC' }).waitFor();
          await page.getByRole('link', { name: 'Next capture: 4 October 2023, 08:00:00 UTC' }).waitFor();
          await page.getByRole('link', { name: '14 captures' }).waitFor();
        },
      },
    ];
  });

  after(async () => {
    await setting?.[Symbol.asyncDispose]();
    await empty?.[Symbol.asyncDispose]();
  });

  for (const [size, options] of [
    ['wide and light', WIDE],
    ['narrow and dark', PHONE],
  ] as const) {
    test(`every screen is complete and accessible, ${size}`, async () => {
      await using checked = await setting.open(options);
      const { page, record } = checked;
      for (const { name, path, look, isFrame = false } of screens) {
        const where = `${name}, ${size}`;
        await page.goto(setting.server.uiUrl + path);
        await look(page).catch((cause: unknown) => {
          throw new Error(`${where}: ${cause instanceof Error ? cause.message : cause}`, { cause });
        });
        await screenshot(page, `ui-${name}-${options === WIDE ? 'wide' : 'phone'}`);
        await checkScreen(page, record, { where, hasMasthead: !isFrame });
      }
    });
  }

  test('an invalid time is reported, with the text as typed', async () => {
    for (const options of [WIDE, PHONE]) {
      await using checked = await setting.open(options);
      const { page } = checked;
      await page.goto(`${setting.server.uiUrl}/delete?from=yesterday#token=${TOKEN}`);
      await page.getByRole('option', { name: 'library-2022' }).waitFor({ state: 'attached' });
      assert.equal(await page.getByRole('combobox').locator('option').first().textContent(), 'any');
      await page.getByRole('button', { name: 'Preview' }).click();
      await page.getByRole('alert').getByText('The time is not valid').waitFor();
      await page.getByRole('alert').getByText('yesterday', { exact: true }).waitFor();
      await screenshot(page, `ui-delete-wrong-time-${options === WIDE ? 'wide' : 'phone'}`);
    }
  });

  test('an empty archive explains how to fill it', async () => {
    for (const options of [WIDE, PHONE]) {
      await using checked = await empty.open(options);
      const { page, record } = checked;
      await page.goto(empty.server.uiUrl);
      await page.getByRole('heading', { name: 'The archive is empty' }).waitFor();
      await text(page, 'pinakes add --collection first-crawl crawls/');
      await screenshot(page, `ui-empty-${options === WIDE ? 'wide' : 'phone'}`);
      await checkScreen(page, record, { where: 'empty archive' });
      await page.getByRole('link', { name: 'Collections' }).click();
      await text(page, 'There are no collections yet.');
      await checkScreen(page, record, { where: 'no collections' });
      for (const path of ['/search', '/search?q=words']) {
        await page.goto(empty.server.uiUrl + path);
        await text(page, 'The archive is empty.');
        await page.getByRole('link', { name: 'See how to add pages' }).waitFor();
      }
      await screenshot(page, `ui-empty-search-${options === WIDE ? 'wide' : 'phone'}`);
    }
  });

  test('the notice for a missing page fits a phone, even with long addresses', async () => {
    const url = `http://long.example/${'%D7%A1'.repeat(80)}`;
    const responseHead = utf8('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n');
    await empty.archive.store({ kind: 'http', url, time: Date.UTC(2024, 1), responseHead, body: utf8('<p>long</p>') });
    await using checked = await empty.open(PHONE);
    const { page } = checked;
    await page.goto(`${empty.server.uiUrl}/web/2024/http://long.example/missing`);
    await page.getByRole('link', { name: url }).waitFor();
    assert.equal(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'), 0);
  });
});

/** The ids of the first two captures of a URL. */
async function captureIds({ server }: UiSetting, url: string): Promise<[string, string]> {
  const response = await fetch(`${server.uiUrl}/api/captures?${new URLSearchParams({ url, order: 'asc' })}`);
  const { items } = (await response.json()) as { items: { id: string }[] };
  return [items[0]!.id, items[1]!.id];
}
