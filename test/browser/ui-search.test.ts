/** The screens that use the search index, on a server that keeps its index up to date. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { utf8 } from '../../src/base/index.ts';
import { screenshot } from './chromium.ts';
import { checkScreen } from './screen-check.ts';
import { SITE, storeLibrary } from './ui-archive.ts';
import { PHONE, UiSetting, WIDE } from './ui-setting.ts';

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';

const MANY = 23;

/** A page with an address in a right-to-left script, and a very long title. */
const ARABIC = 'http://xn--mgbh0fb.example/%D8%A7%D9%84%D8%B5%D9%81%D8%AD%D8%A9';
/** A page whose host is in a right-to-left script too. */
const HEBREW = 'http://\u05e1\u05e4\u05e8.example/a';

const ARABIC_SHOWN = 'xn--mgbh0fb.example/\u0627\u0644\u0635\u0641\u062d\u0629';
const ENDLESS = `http://long.example/${'a-folder-with-a-name/'.repeat(60)}end`;

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name }).first().waitFor();
const text = (page: Page, what: string | RegExp) => page.getByText(what).first().waitFor();
const search = (query: Record<string, string>) => `/search?${new URLSearchParams(query)}`;

/** The screens by their addresses, with checks of their content. */
const SCREENS: readonly { name: string; path: string; look(page: Page): Promise<void> }[] = [
  {
    name: 'search',
    path: search({ q: '"reading room" clean hands' }),
    look: async (page) => {
      await heading(page, /^9 results$/);
      await page.getByRole('complementary', { name: 'Narrow the results' }).waitFor();
      const marks = await page.locator('.result').first().locator('mark').allTextContents();
      assert.ok(marks.includes('reading room') || marks.includes('reading'), marks.join(', '));
      const collections = page.locator('.facets details').filter({ hasText: 'Collection' });
      // On a phone the facet is closed at first.
      if ((await collections.getAttribute('open')) === null) await collections.locator('summary').click();
      await page.getByRole('link', { name: 'library-2022' }).waitFor();
      assert.equal(await page.locator('.results > li').count(), 9);
    },
  },
  {
    name: 'search-empty',
    path: '/search',
    look: async (page) => {
      await heading(page, 'Search');
      await page.getByRole('link', { name: 'site:example.org' }).waitFor();
    },
  },
  {
    name: 'search-nothing',
    path: search({ q: 'zeppelin', site: 'library.example' }),
    look: async (page) => {
      await text(page, 'Nothing was found.');
      await page.getByRole('link', { name: 'Search without the filters' }).waitFor();
      await page.getByRole('link', { name: 'Site library.example: remove' }).waitFor();
    },
  },
  {
    name: 'search-fault',
    path: search({ q: 'flood OR size>big', year: '2024' }),
    look: async (page) => {
      await text(page, /a size is a number/);
      assert.equal(await page.locator('.fault-place').textContent(), 'big');
      assert.equal(await page.locator('.fault-query').textContent(), 'flood OR size>big');
    },
  },
  {
    name: 'links-in',
    path: `/links?${new URLSearchParams({ url: `${SITE}about.html` })}`,
    look: async (page) => {
      // One page with an anchor, and one redirect.
      await text(page, '2 pages link here');
      await page.getByRole('cell', { name: 'About us' }).first().waitFor();
      await page
        .locator('td')
        .filter({ hasText: /^redirect$/ })
        .waitFor();
    },
  },
  {
    name: 'links-out',
    path: `/links?${new URLSearchParams({ url: SITE, direction: 'out' })}`,
    look: async (page) => {
      await text(page, '12 links in its latest version');
      await page.getByRole('link', { name: 'library.example/rooms/5.html' }).waitFor();
    },
  },
];

/** Waits in the test, because the security policy of the screen forbids waiting for an expression in the page. */
async function scrolledTo(page: Page, place: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if ((await page.evaluate('scrollY')) === place) return;
    await page.waitForTimeout(50);
  }
  assert.equal(await page.evaluate('scrollY'), place);
}

/** True if the second element is completely to the right of the first. */
async function isBehind(page: Page, first: string, second: string): Promise<boolean> {
  const [left, right] = await Promise.all([first, second].map((one) => page.locator(one).first().boundingBox()));
  return left!.x + left!.width <= right!.x;
}

suite('search screens', () => {
  let setting: UiSetting;

  before(async () => {
    setting = await UiSetting.start(
      async (archive) => {
        await storeLibrary(archive);
        const responseHead = utf8('HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n');
        const escaped = HOSTILE.replaceAll('<', '&lt;');
        const body = utf8(`<title>${escaped} trap</title><p lang="de">Die Falle ${escaped} schnappt zu: trap.</p>`);
        const url = 'http://evil.example/';
        await archive.store({ kind: 'http', url, time: Date.UTC(2024, 0, 1), responseHead, body }, {});
        const wide = utf8(
          `<title>${'sesquipedalian '.repeat(60)}</title><p dir="rtl">\u0627\u0644\u0645\u0643\u062a\u0628\u0629 shelf</p><a href="${ENDLESS}x">to the end of the shelf</a><img src="/a.png">`,
        );
        for (const url of [ARABIC, ENDLESS])
          await archive.store({ kind: 'http', url, time: Date.UTC(2024, 0, 1), responseHead, body: wide }, {});
        for (const name of ['xn--bcherei-n2a', 'a', 'b', 'c', 'd', 'e', 'f', 'g']) {
          const entry = { url: `http://${name}.example/`, time: Date.UTC(2024, 0, 2), responseHead };
          await archive.store({ kind: 'http', ...entry, body: utf8(`<title>${name}</title>bookcase`) }, {});
        }
        for (let site = 0; site < MANY; site++) {
          const entry = { url: `http://site${site}.example/`, time: Date.UTC(2024, 0, 2), responseHead };
          await archive.store({ kind: 'http', ...entry, body: utf8(`<title>${site}</title>shelfmark`) }, {});
        }
        for (let page = 0; page < MANY; page++) {
          const entry = { url: `http://many.example/${page}`, time: Date.UTC(2024, 0, 2), responseHead };
          await archive.store({ kind: 'http', ...entry, body: utf8(`<title>Drawer ${page}</title>index card`) }, {});
        }
      },
      { isIndexing: true },
    );
    for (;;) {
      const info = (await (await fetch(`${setting.server.uiUrl}/api/info`)).json()) as {
        indexing: { state: string; caughtUpAt?: string };
      };
      if (info.indexing.caughtUpAt !== undefined) break;
      assert.notEqual(info.indexing.state, 'failed');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });

  const storeAt = (url: string, time: number) =>
    setting.archive.store(
      {
        kind: 'http',
        url,
        time,
        responseHead: utf8('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n'),
        body: utf8(url),
      },
      {},
    );

  after(() => setting?.[Symbol.asyncDispose]());

  for (const [size, options] of [
    ['wide and light', WIDE],
    ['narrow and dark', PHONE],
  ] as const) {
    test(`every search screen is complete and accessible, ${size}`, async () => {
      await using checked = await setting.open(options);
      const { page, record } = checked;
      // The browser reports the status of a refused query.
      const isExpected = (line: string) => /status of 400/.test(line);
      for (const { name, path, look } of SCREENS) {
        const where = `${name}, ${size}`;
        await page.goto(setting.server.uiUrl + path);
        await look(page).catch((cause: unknown) => {
          throw new Error(`${where}: ${cause instanceof Error ? cause.message : cause}`, { cause });
        });
        await screenshot(page, `ui-${name}-${options === WIDE ? 'wide' : 'phone'}`);
        const consoleErrors = record.consoleErrors.filter((line) => !isExpected(line));
        await checkScreen(page, { ...record, consoleErrors }, { where });
      }
    });
  }

  test('words typed on the home screen are searched, and the results filtered, sorted and opened', async () => {
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(setting.server.uiUrl);
    await heading(page, 'library');
    await page.keyboard.press('/');
    await page.keyboard.type('catalogue volumes');
    await page.keyboard.press('Enter');
    await heading(page, /^1 result$/);
    assert.equal(new URL(page.url()).pathname, '/search');
    await page.getByText('8 versions match').click();
    const versions = page.locator('.versions li a');
    await versions.first().waitFor();
    assert.equal(await versions.count(), 14);
    assert.match((await versions.first().textContent())!, /^10 Mar 2024/);

    await page.goto(setting.server.uiUrl + search({ q: 'edition OR hours' }));
    await heading(page, /^8 results$/);
    await page.getByRole('link', { name: 'library-2023-spring' }).click();
    await page.getByRole('link', { name: 'Collection library-2023-spring: remove' }).waitFor();
    await heading(page, /results$/);
    await page.getByLabel('Order').selectOption('oldest');
    await page.waitForURL(/sort=oldest/);
    await heading(page, /results$/);
    assert.equal(await page.getByLabel('Order').inputValue(), 'oldest');
    await page.getByRole('link', { name: 'Collection library-2023-spring: remove' }).click();
    await heading(page, /^8 results$/);
    await page.getByRole('link', { name: 'Music' }).first().click();
    await page.frameLocator('iframe').getByRole('heading', { name: 'Music' }).waitFor();
    assert.deepEqual(record.consoleErrors, []);
  });

  test('an address typed into the search box leads to its captures', async () => {
    await using checked = await setting.open();
    const { page } = checked;
    await page.goto(setting.server.uiUrl + search({ q: 'music' }));
    await heading(page, /results?$/);
    await page.getByRole('combobox', { name: /^Address/ }).fill('library.example');
    await page.keyboard.press('Enter');
    await text(page, /14 captures from/);
  });

  test('the captures screen shows when a phrase was on the page', async () => {
    for (const options of [WIDE, PHONE]) {
      await using checked = await setting.open(options);
      const { page, record } = checked;
      await page.goto(`${setting.server.uiUrl}/web/*/${SITE}`);
      const box = page.getByLabel('Words or a "phrase"');
      await box.fill('"out of order"');
      await box.press('Enter');
      await text(page, /In 9 of 14 captures: first on/);
      await page.getByRole('link', { name: '21 March 2023, 14:05:00 UTC' }).waitFor();
      await page.locator('.find-form').scrollIntoViewIfNeeded();
      await screenshot(page, `ui-find-in-versions-${options === WIDE ? 'wide' : 'phone'}`);
      await checkScreen(page, record, { where: 'find in versions' });
      await box.fill('zeppelin');
      await page.getByRole('button', { name: 'Find', exact: true }).last().click();
      await text(page, /is in none of 14 captures/);
    }
  });

  test('addresses are shown in their own script, with dates after them, and long texts are shortened', async () => {
    for (const options of [WIDE, PHONE]) {
      await using checked = await setting.open(options);
      const { page, record } = checked;
      await page.goto(`${setting.server.uiUrl}${search({ q: 'sesquipedalian' })}`);
      await heading(page, /^2 results$/);
      const shown = await page.locator('.result-url').allTextContents();
      assert.ok(shown.includes(ARABIC_SHOWN), shown.join(' '));
      assert.ok(shown.every((one) => one.length <= 140));
      for (const title of await page.locator('.result h3').allTextContents()) assert.ok(title.length <= 160, title);
      const result = `.result:has(a[href*="${new URL(ARABIC).pathname}"])`;
      if (options === WIDE) assert.ok(await isBehind(page, `${result} .result-url`, `${result} .result-time`));
      await checkScreen(page, record, { where: 'long results' });

      await page.goto(`${setting.server.uiUrl}/web/*/${ARABIC}`);
      await page.getByRole('heading', { name: ARABIC_SHOWN, level: 1 }).waitFor();
      assert.equal(await page.getByRole('combobox').inputValue(), `http://${ARABIC_SHOWN}`);
      await page.getByRole('combobox').press('Enter');
      await text(page, /^1 capture on 1 January 2024/);

      await page.goto(`${setting.server.uiUrl}/web/*/${HEBREW}`);
      const address = page.locator('h1 bdi');
      await address.getByText(HEBREW.slice('http://'.length)).waitFor();
      assert.equal(await address.getAttribute('dir'), 'ltr');

      await page.goto(`${setting.server.uiUrl}/web/*/${ENDLESS}`);
      await text(page, /^1 capture on 1 January 2024/);
      const title = page.getByRole('heading', { level: 1 });
      assert.match((await title.textContent())!, /^long\.example\/.{150,}\u2026.*end$/);
      assert.match((await title.getAttribute('title'))!, /^long\.example\/.{1200,}end$/);
      await checkScreen(page, record, { where: 'captures of a long address' });

      await page.goto(`${setting.server.uiUrl}/links?${new URLSearchParams({ url: ENDLESS, direction: 'out' })}`);
      await text(page, '2 links in its latest version');
      const { height } = (await page.getByText('to the end of the shelf').boundingBox())!;
      assert.ok(height < 30, `the text of the link takes ${height} pixels, more than a line`);
      // On a phone an empty value is hidden together with its label.
      const textless = page.locator('.links tr').filter({ hasText: 'a.png' }).locator('td[data-label=Text]');
      assert.equal(await textless.isVisible(), options === WIDE);
      const kind = (await page.locator('td[data-label=Kind]').filter({ hasText: 'image' }).boundingBox())!;
      assert.ok(kind.height < 50, `the kind of the link takes ${kind.height} pixels, more than a line`);
      await checkScreen(page, record, { where: 'links of a long address' });
    }
  });

  test('the links screen without an address explains what to do', async () => {
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(`${setting.server.uiUrl}/links`);
    await text(page, 'Choose a page first.');
    assert.equal(await page.getByRole('link', { name: 'Captures of this page' }).count(), 0);
    await checkScreen(page, record, { where: 'links of no page' });
  });

  test('the button for more results adds each further result once', async () => {
    await using checked = await setting.open();
    const { page } = checked;
    await page.goto(setting.server.uiUrl + search({ q: '"index card"' }));
    await heading(page, `${MANY} results`);
    assert.equal(await page.locator('.results > li').count(), 20);
    await page.getByRole('button', { name: 'Show more results' }).click();
    await page.locator(`.results > li:nth-child(${MANY})`).waitFor();
    const urls = await page.locator('.result-url').allTextContents();
    assert.equal(new Set(urls).size, MANY);
    assert.equal(await page.getByRole('button', { name: 'Show more results' }).count(), 0);
  });

  test('going back to the results shows all fetched results at the same scroll position', async () => {
    await using checked = await setting.open();
    const { page } = checked;
    await page.goto(setting.server.uiUrl + search({ q: '"index card"' }));
    await page.getByRole('button', { name: 'Show more results' }).click();
    const last = page.locator(`.results > li:nth-child(${MANY})`);
    await last.waitFor();
    await last.scrollIntoViewIfNeeded();
    const place = await page.evaluate<number>('scrollY');
    assert.ok(place > 1000, String(place));
    await last.getByRole('link', { name: '1 capture' }).click();
    await heading(page, 'many.example');
    await page.goBack();
    await last.waitFor();
    await scrolledTo(page, place);
  });

  test('going back to the captures restores the scroll position', async () => {
    const often = 'http://often.example/';
    for (let day = 0; day < 120; day++) await storeAt(often, Date.UTC(2024, 0, 1 + day));
    for (const options of [WIDE, PHONE]) {
      await using checked = await setting.open(options);
      const { page } = checked;
      await page.goto(`${setting.server.uiUrl}/web/*/${often}`);
      const oldest = page.locator('.captures tbody tr:nth-child(100)');
      await page.getByRole('button', { name: 'Show older captures' }).click();
      const link = oldest.getByRole('link', { name: 'default' });
      await link.scrollIntoViewIfNeeded();
      const place = await page.evaluate<number>('scrollY');
      assert.ok(place > 1000, String(place));
      for (let time = 0; time < 2; time++) {
        await link.click();
        await heading(page, 'default');
        await page.goBack();
        await oldest.waitFor();
        await scrolledTo(page, place);
      }
    }
  });

  test('going back to a list shows the additions and deletions since the last visit', async () => {
    const at = 'http://going.example/';
    for (let number = 100; number < 230; number++) await storeAt(`${at}${number}`, Date.UTC(2024, 0, 1));
    await using checked = await setting.open();
    const { page } = checked;
    await page.goto(`${setting.server.uiUrl}/web/*/${at}*`);
    await page.getByRole('button', { name: 'Show more addresses' }).click();
    const rows = page.locator('.urls tbody tr');
    await rows.nth(129).getByRole('link').click();
    await heading(page, 'going.example/229');
    await setting.archive.delete({ url: `${at}105` });
    await storeAt(`${at}new`, Date.UTC(2024, 0, 1));
    await page.goBack();
    await rows.getByRole('link', { name: 'going.example/new' }).waitFor();
    assert.equal(await rows.count(), 130);
    assert.equal(await rows.getByRole('link', { name: 'going.example/105' }).count(), 0);
  });

  test('a facet shows the number of values that are not listed', async () => {
    await using checked = await setting.open();
    const { page } = checked;
    await page.goto(setting.server.uiUrl + search({ q: 'shelfmark' }));
    const sites = page.locator('.facets details').filter({ hasText: 'Site' });
    await sites.getByRole('button', { name: 'Show 14 more' }).click();
    await sites.getByText(`and ${MANY - 20} more`, { exact: true }).waitFor();
  });

  test('every site of the results can be chosen, and is shown in its own script', async () => {
    for (const options of [WIDE, PHONE]) {
      await using checked = await setting.open(options);
      const { page, record } = checked;
      await page.goto(setting.server.uiUrl + search({ q: 'bookcase' }));
      await heading(page, '8 results');
      const sites = page.locator('.facets details').filter({ hasText: 'Site' });
      if ((await sites.getAttribute('open')) === null) await sites.locator('summary').click();
      assert.equal(await sites.getByRole('link').count(), 6);
      await sites.getByRole('button', { name: 'Show 2 more' }).click();
      await sites.getByRole('button', { name: 'Show fewer', expanded: true }).waitFor();
      assert.equal(await sites.getByRole('link').count(), 8);
      await checkScreen(page, record, { where: 'all sites' });
      await sites.getByRole('link', { name: 'b\u00fccherei.example' }).click();
      await heading(page, '1 result');
      assert.equal(await page.locator('.result-url').textContent(), 'b\u00fccherei.example');
      assert.equal(new URL(page.url()).searchParams.get('site'), 'xn--bcherei-n2a.example');
    }
  });

  test('markup in results is shown as text', async () => {
    await using checked = await setting.open();
    const { page, record } = checked;
    await page.goto(setting.server.uiUrl + search({ q: 'trap' }));
    await page.getByRole('link', { name: /onerror.* trap$/ }).waitFor();
    assert.equal(await page.locator('.result img, .result script').count(), 0);
    assert.match(await page.title(), /^Search for trap/);
    assert.deepEqual(record.consoleErrors, []);
  });
});
