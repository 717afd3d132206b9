import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBrowser, usualPaths } from './browser-path.ts';

test('browsers are found at the usual paths of each system', () => {
  const linux = usualPaths({ platform: 'linux', env: { PATH: '/usr/bin' } });
  assert.ok(linux.indexOf('/usr/bin/chromium') < linux.indexOf('/usr/bin/google-chrome'));
  const mac = usualPaths({ platform: 'darwin', env: { HOME: '/Users/a' } });
  assert.ok(mac.includes('/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'));
  assert.ok(mac.includes('/Users/a/Applications/Chromium.app/Contents/MacOS/Chromium'));
  const windows = usualPaths({ platform: 'win32', env: { PROGRAMFILES: 'C:\\Program Files' } });
  assert.deepEqual(windows.slice(0, 1), ['C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe']);
  assert.ok(windows.includes('C:\\Program Files\\Microsoft\\Edge\\Application\\msedge.exe'));
});

test('a named browser that is missing is an error, even if the environment names another', async () => {
  const env = { PINAKES_BROWSER: process.execPath, PATH: '' };
  const platform = 'linux' as const;
  assert.equal(await findBrowser('', { platform, env }), process.execPath);
  await assert.rejects(findBrowser('/nowhere/chromium', { platform, env }), {
    code: 'BROWSER_MISSING',
    where: '/nowhere/chromium',
  });
});
