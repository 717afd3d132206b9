/** The screen of the storage: each volume with its room, its state and its last error. */
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { screenshot } from './chromium.ts';
import { checkScreen } from './screen-check.ts';
import { storeLibrary } from './ui-archive.ts';
import { PHONE, TOKEN, UiSetting, WIDE } from './ui-setting.ts';

suite('the screen of the storage', () => {
  let setting: UiSetting;
  let origin: string;
  let attic: string;

  before(async () => {
    setting = await UiSetting.start(storeLibrary);
    const { archive, directory } = setting;
    attic = join(directory, 'attic');
    await archive.addVolume({ name: 'attic', path: attic });
    await archive.addVolume({ name: 'cellar', path: join(directory, 'cellar') });
    await archive.setVolumeWritable('cellar', false);
    await archive.delete({ collection: (await archive.collections.find('library-2022'))! });
    origin = setting.server.uiUrl.replace(/\/$/, '');
  });
  after(() => setting[Symbol.asyncDispose]());

  for (const [width, options] of [
    ['desktop', WIDE],
    ['phone', PHONE],
  ] as const)
    test(`it shows what every volume does, and one that disappears without a reload, on a ${width}`, async () => {
      await using checked = await setting.open(options);
      const { page, record } = checked;
      await page.goto(`${origin}/jobs#token=${TOKEN}`);
      await page.getByRole('link', { name: 'storage' }).click();
      await page.getByRole('heading', { name: 'Storage', level: 1 }).waitFor();
      const row = (name: string) => page.getByRole('row', { name: new RegExp(`^${name}`) });
      await row('attic').getByText(' of ').waitFor();
      assert.match((await row('cellar').textContent())!, /read-only/);
      assert.match(
        (await row('main').textContent())!,
        /[\d.]+ (?:KB|MB) \([\d.]+ %\)/,
        'deleted bytes and their share',
      );
      await checkScreen(page, record, { where: 'nodes' });
      await page.getByText('What the words mean').click();
      await screenshot(page, `nodes-${width}`);
      await page.getByText('What the words mean').click();
      renameSync(attic, `${attic}-unplugged`);
      try {
        await page.getByText('attic is missing.').waitFor();
        const metadata = { url: 'urn:note', time: 0, mime: 'text/plain', body: new Uint8Array(9) };
        await assert.rejects(setting.archive.storeMetadata(metadata, { volume: 'attic' }), { code: 'VOLUME_MISSING' });
        await page.reload();
        await page.getByText('attic is missing.').waitFor();
        await checkScreen(page, record, { where: 'nodes with a missing one' });
        await screenshot(page, `nodes-missing-${width}`);
      } finally {
        renameSync(`${attic}-unplugged`, attic);
      }
      await page.getByText('attic is missing.').waitFor({ state: 'detached' });
      await page.getByText('Last error of attic').waitFor();
      await checkScreen(page, record, { where: 'nodes with an error' });
      await screenshot(page, `nodes-error-${width}`);
    });

  test('without the token it asks for it and shows no paths', async () => {
    await using checked = await setting.open(WIDE);
    const { page } = checked;
    await page.goto(`${origin}/nodes`);
    await page.getByText('Seeing the storage needs the token of the server.').waitFor();
    assert.doesNotMatch((await page.locator('body').textContent())!, /attic/);
  });
});
