/** Pages over plain HTTP from another host than localhost. The browser then sends no Sec-Fetch fields. */
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import test from 'node:test';
import { makeArchive } from '../archive/trial-archive.ts';
import { newCheckedPage } from './chromium.ts';
import { type SiteFile, storeSite } from './sample-site.ts';
import { replayFrame, serveArchive, setStage } from './served-archive.ts';

const stage = setStage();

const PART = '<title>part</title><script src="/part.js"></script>';
const SCRIPT = `var done = {};
  fetch('/part').then(function (reply) { return reply.text(); }).then(function (text) { done.fetch = text; });
  fetch(new Request('/part', { method: 'POST', body: 'x' })).then(function (reply) { return reply.text(); }).then(function (text) { done.sent = text; });
  fetch('data:,data').then(function (reply) { return reply.text(); }).then(function (text) { done.data = text; });
  var asked = new XMLHttpRequest();
  asked.open('GET', '/part');
  asked.onload = function () { done.xhr = asked.responseText; };
  asked.send();`;
const SITE: readonly SiteFile[] = [
  {
    url: 'http://site.example/',
    body: `<!doctype html><title>page</title><script>${SCRIPT}</script><iframe src="/framed"></iframe>`,
  },
  { url: 'http://site.example/part', body: PART },
  {
    url: 'http://site.example/framed',
    body: '<!doctype html><title>framed</title><script>parent.done.framed = location.href</script>',
  },
];

test('on another machine a page is shown in its frame, and its scripts get unchanged content', async (t) => {
  const archive = await makeArchive(t);
  await storeSite(archive, SITE);
  const served = await serveArchive(t, archive, stage.uiDirectory, '0.0.0.0');
  const name = hostname().toLowerCase();
  const [ui, replay] = [served.uiOrigin, served.replayOrigin].map((origin) => origin.replace('localhost', name));
  const { page, record } = await newCheckedPage(stage.browser, [ui!, replay!]);
  t.after(() => page.context().close());
  await page.goto(`${ui}/web/20200401100000/http://site.example/`);
  const frame = await replayFrame(page);
  await frame.waitForFunction(`['fetch', 'sent', 'data', 'xhr', 'framed'].every((name) => name in done)`);
  assert.deepEqual(await frame.evaluate('done'), {
    fetch: PART,
    sent: PART,
    data: 'data',
    xhr: PART,
    framed: 'http://site.example/framed',
  });
  assert.ok(frame.url().startsWith(`${replay}/web/`), frame.url());
  assert.deepEqual(record.outsideRequests, []);
});
