/** Signing in and out, what roles may see, and the audit log, in a browser and at a real provider. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { ROLE_RULES } from '../people/library.ts';
import { CLIENT_ID, CLIENT_SECRET, OidcService } from '../people/oidc-service.ts';
import { type CheckedPage, type PageRecord, screenshot } from './chromium.ts';
import { checkScreen } from './screen-check.ts';
import { storeLibrary } from './ui-archive.ts';
import { PHONE, TOKEN, UiSetting, WIDE } from './ui-setting.ts';

const DARK = { ...WIDE, colorScheme: 'dark' } as const;
const LIGHT_PHONE = { ...PHONE, viewport: { width: 390, height: 780 }, colorScheme: 'light' } as const;

suite('people in the web page', () => {
  let setting: UiSetting;
  let service: OidcService;
  let origin: string;

  before(async () => {
    const origins: string[] = [];
    service = await OidcService.start(() => origins);
    const signIn = {
      kind: 'oidc',
      issuer: service.issuer,
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      roles: ROLE_RULES,
    } as const;
    setting = await UiSetting.start(storeLibrary, { server: { signIn, isPrivate: true } });
    origin = setting.server.uiUrl;
    origins.push(origin);
  });
  after(async () => {
    await setting[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
  });

  const open = (options: Parameters<UiSetting['open']>[0]) => setting.open(options, [service.issuer]);

  async function signInAs({ page, record }: CheckedPage, name: string, path = '/'): Promise<void> {
    await page.goto(origin + path);
    await fillIn(page, name);
    await page.waitForURL(origin + path);
    forget(record);
  }

  /** The pages of the provider load a font from elsewhere. */
  function forget(record: PageRecord): void {
    record.consoleErrors.length = 0;
    record.outsideRequests.length = 0;
  }

  async function fillIn(page: Page, name: string): Promise<void> {
    await page.locator('input[name="login"]').fill(name);
    await page.locator('input[name="password"]').fill('any');
    await page.getByRole('button', { name: /sign-in/i }).click();
    await page.getByRole('button', { name: /continue/i }).click();
  }

  test('a private archive leads to the sign-in and back, and shows archived pages then', async () => {
    await using checked = await open(WIDE);
    const { page, record } = checked;
    await page.goto(`${origin}/web/*/http://library.example/`);
    await page.getByRole('heading', { name: /is private/ }).waitFor();
    await checkScreen(page, record, { where: 'private' });
    await screenshot(page, 'people-private');
    await page.waitForURL(new RegExp(`^${service.issuer}`));
    await fillIn(page, 'rita');
    await page.waitForURL((url) => url.href === `${origin}/web/*/http://library.example/`);
    forget(record);
    await page.getByText('rita', { exact: true }).first().waitFor();
    const captures = (await (await page.request.get(`${origin}/api/captures?url=http://library.example/`)).json()) as {
      items: { timestamp: string }[];
    };
    await page.goto(`${origin}/web/${captures.items[0]!.timestamp}/http://library.example/`);
    const frame = page.frameLocator('iframe.replay');
    await frame.locator('h1').first().waitFor();
    for (const { name, domain } of await page.context().cookies())
      if (name === 'pinakes-session') assert.equal(domain, 'localhost');
    const sent = await page.context().cookies(setting.server.replayUrl);
    assert.ok(!sent.some(({ name }) => name === 'pinakes-session'), 'the cookie of the page never reaches replay');
    assert.deepEqual(record.outsideRequests, []);
  });

  test('a reader sees why something is not for readers, and signs out', async () => {
    await using checked = await open(LIGHT_PHONE);
    const { page, record } = checked;
    await signInAs(checked, 'rita', '/jobs');
    await page.getByText('Starting a job is for curators.').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Delete' }).count(), 0);
    await page.goto(`${origin}/audit`);
    await page.getByText('Seeing who did what is for administrators.').waitFor();
    await page.locator('.account summary').click();
    await checkScreen(page, record, { where: 'audit of a reader' });
    await screenshot(page, 'people-reader-phone');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(new RegExp(`^${service.issuer}`));
    await page.getByRole('button', { name: /yes/i }).click();
    await page.waitForURL(`${origin}/`);
    await page.getByText('Looking needs a sign-in.').waitFor();
    await screenshot(page, 'people-signed-out-phone');
  });

  for (const [name, options] of [
    ['desktop', WIDE],
    ['desktop-dark', DARK],
    ['phone', PHONE],
  ] as const)
    test(`an administrator sees who did what, on a ${name}`, async () => {
      await using checked = await open(options);
      const { page, record } = checked;
      await signInAs(checked, 'ada', '/audit');
      await page.getByRole('row', { name: /ada/ }).first().waitFor();
      await checkScreen(page, record, { where: `audit on a ${name}` });
      await page.getByLabel('Did what').selectOption('sign-out');
      await page.getByRole('row', { name: /rita/ }).first().waitFor();
      assert.equal(await page.getByRole('row', { name: /Sign in/ }).count(), 0);
      await page.getByLabel('Did what').selectOption('');
      await page.getByText('Details').first().click();
      await page.locator('.account summary').click();
      await screenshot(page, `people-audit-${name}`);
      await page.locator('.account summary').click();
      await page.getByLabel('Who').fill('nobody of this name');
      await page.getByText('Nobody did anything that matches.').waitFor();
      await page.getByRole('button', { name: 'Show all entries' }).click();
      await page.getByRole('row', { name: /ada/ }).first().waitFor();
      assert.equal(await page.getByLabel('Who').inputValue(), '');
    });

  test('the link with the token still opens everything, archived pages included', async () => {
    await using checked = await open(WIDE);
    const { page } = checked;
    await page.goto(`${origin}/web/*/http://library.example/#token=${TOKEN}`);
    await page.getByRole('link', { name: 'Delete', exact: true }).waitFor();
    const reply = await page.request.get(`${origin}/api/captures?url=http://library.example/`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const { items } = (await reply.json()) as { items: { timestamp: string }[] };
    await page.goto(`${origin}/web/${items[0]!.timestamp}/http://library.example/`);
    await page.frameLocator('iframe.replay').locator('h1').first().waitFor();
  });
});
