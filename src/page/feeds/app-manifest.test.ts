import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAppManifest, linksOfManifest } from './app-manifest.ts';

const URL = 'http://a.test/app/manifest.json';

test('a manifest is recognised by its media type, or by its file name if it is plain JSON', () => {
  const json = 'application/json';
  for (const [mime, url, is] of [
    ['application/manifest+json', 'http://a.test/app', true],
    [json, URL, true],
    [json, 'http://a.test/site.WebManifest?v=1', true],
    [json, 'http://a.test/?rest_route=/pwa/manifest', true],
    [json, 'http://a.test/manifest/data.json', false],
    [json, 'http://manifest.test/', false],
    ['text/html', URL, false],
    // This long name must be searched in linear time.
    [json, `http://a.test/${'manifest'.repeat(100_000)}/data.json`, false],
  ] as const)
    assert.equal(isAppManifest(mime, url), is, `${mime} ${url.slice(0, 100)}`);
});

test('a file that is not a manifest has no links', () => {
  for (const text of ['', '<html>', '[]', 'null', '{"icons":{"src":"a"},"shortcuts":[null,1],"start_url":1}'])
    assert.deepEqual(linksOfManifest(Buffer.from(text), URL), []);
});
