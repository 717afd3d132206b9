import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import test from 'node:test';
import { chromiumProgram, launchChromium, newCheckedPage } from './chromium.ts';

test('the tests use the pinned browser, whatever Chromium is on the PATH', {
  skip: (process.platform !== 'linux' || process.arch !== 'x64') && 'the package has no program for this machine',
}, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-other-chromium-'));
  await writeFile(join(directory, 'chromium'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const { PATH, PINAKES_CHROMIUM } = process.env;
  t.after(async () => {
    process.env.PATH = PATH;
    if (PINAKES_CHROMIUM !== undefined) process.env.PINAKES_CHROMIUM = PINAKES_CHROMIUM;
    await rm(directory, { recursive: true });
  });
  process.env.PATH = `${directory}${delimiter}${PATH}`;
  delete process.env.PINAKES_CHROMIUM;
  assert.notEqual(await chromiumProgram(), join(directory, 'chromium'));
});

test('a checked page reports console errors and requests outside, which reach no server', async (t) => {
  const server = createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(`<title>inside</title><img src="http://outside.example/x.png"><script>console.error('told')</script>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const browser = await launchChromium();
  t.after(() => browser.close());
  const { page, record } = await newCheckedPage(browser, [origin]);
  const failed = page.waitForEvent('requestfailed');
  await page.goto(origin);
  assert.equal(await page.title(), 'inside');
  assert.match((await failed).failure()?.errorText ?? '', /NAME_NOT_RESOLVED/);
  assert.deepEqual(record.outsideRequests, ['http://outside.example/x.png']);
  assert.ok(record.consoleErrors.includes('told'));
});
