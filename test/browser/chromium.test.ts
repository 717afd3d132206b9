import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { launchChromium, newCheckedPage } from './chromium.ts';

test('a checked page tells of console errors and of requests outside, which reach nobody', async (t) => {
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
