/** JSON that is nested deeper than the stack allows is sent unchanged and complete. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SPRING } from '../browser/sample-site.ts';
import { ReplayTrial } from './replay-trial.ts';

const SITE = 'https://site.example';
const nested = (depth: number) => `${'['.repeat(depth)}"/deep.png"${']'.repeat(depth)}`;

test('a manifest that is nested too deeply is sent unchanged', async (t) => {
  const manifests = [10, 90, 5000, 300_000].map((depth) => `{"icons":[{"src":"/a.png"}],"more":${nested(depth)}}`);
  const files = manifests.map((body, index) => ({
    url: `${SITE}/${index}.webmanifest`,
    type: 'application/manifest+json',
    body,
  }));
  const trial = await ReplayTrial.with(t, files);
  for (const [index, { url, body }] of files.entries()) {
    const { status, text } = await trial.ask({ url, at: SPRING, modifier: 'oe_' });
    assert.equal(status, 200);
    const isRewritten = text.includes(`"src":"/web/20200401100000im_/${SITE}/a.png"`);
    assert.equal(isRewritten, index < 2, url);
    if (!isRewritten) assert.equal(text, body);
  }
});

test('an import map that is nested too deeply does not break its page', async (t) => {
  const map = `{"imports":{"a":"/a.js","b":${nested(300_000)}},"scopes":{"/x/":${nested(300_000)}}}`;
  const trial = await ReplayTrial.with(t, [
    { url: `${SITE}/`, body: `<script type="importmap">${map}</script><p>the page</p>` },
  ]);
  const { status, text } = await trial.ask({ url: `${SITE}/`, at: SPRING });
  assert.equal(status, 200);
  assert.match(text, /the page/);
  assert.match(text, /"a":"\/web\/20200401100000esm_\/https:\/\/site\.example\/a\.js","b":null/);
});
