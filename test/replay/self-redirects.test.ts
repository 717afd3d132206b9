/**
 * Captures that have the key of a page but are not the page: redirections of a URL to itself, and DNS records of its
 * host.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SPRING } from '../browser/sample-site.ts';
import { ReplayTrial } from './replay-trial.ts';

test('a redirection of a URL to itself is a memento of its second, and leads to the capture that is shown', async (t) => {
  const trial = await ReplayTrial.with(t, [
    {
      url: 'http://site.example/',
      status: '301 Moved',
      fields: ['Location: https://www.site.example/'],
      body: '',
      time: SPRING,
    },
    { url: 'https://www.site.example/', body: 'arrived', time: SPRING + 5000 },
  ]);
  for (const modifier of ['mp_', 'id_'] as const) {
    const { status, field } = await trial.ask({ url: 'http://site.example/', at: SPRING, modifier });
    assert.deepEqual([status, field('location')], [301, `/web/20200401100005${modifier}/https://www.site.example/`]);
    assert.equal(field('memento-datetime'), new Date(SPRING).toUTCString());
    assert.equal(field('x-archive-orig-location'), undefined);
  }
  assert.match((await trial.ask({ url: 'http://site.example/', at: SPRING + 5000 })).text, /arrived/);
  const other = await trial.ask({ url: 'https://www.site.example/', at: SPRING });
  assert.deepEqual([other.status, other.field('location')], [302, '/web/20200401100005mp_/https://www.site.example/']);
  const image = await trial.ask({ url: 'http://site.example/', at: SPRING, modifier: 'im_' });
  assert.match(image.text, /arrived$/, 'a part of a page is sent at once');
});

test('redirections between two URLs with one key end at the capture that is shown, even in one second', async (t) => {
  const [plain, secure] = ['http://site.example/', 'https://site.example/'];
  const redirect = (url: string, to: string) => ({ url, status: '302 Found', fields: [`Location: ${to}`], body: '' });
  const trial = await ReplayTrial.with(t, [
    redirect(plain, secure),
    redirect(secure, plain),
    redirect(secure, secure),
    { url: secure, body: 'arrived' },
  ]);
  for (const url of [plain, secure]) {
    let answer = await trial.ask({ url, at: SPRING });
    for (let count = 0; answer.status === 302 && count < 3; count++) {
      const [, next] = /mp_\/(.*)$/.exec(answer.field('location')!)!;
      answer = await trial.ask({ url: next!, at: SPRING });
    }
    assert.match(answer.text, /arrived/, url);
  }
});

test('a URL that only redirects to itself is a memento for a program, a loop for a browser, and missing for a page', async (t) => {
  const url = 'http://site.example/';
  const trial = await ReplayTrial.with(t, [
    { url, status: '301 Moved', fields: ['Location: https://www.site.example/'], body: '' },
  ]);
  const program = await trial.ask({ url, at: SPRING });
  assert.equal(program.status, 301);
  assert.ok(program.field('memento-datetime'));
  const browser = await trial.ask({ url, at: SPRING, fields: { accept: 'text/html' } });
  assert.deepEqual([browser.status, browser.redirectLoop], [508, [url]]);
  assert.equal((await trial.ask({ url, at: SPRING, modifier: 'im_' })).status, 404);
});

test('a DNS record with the key of a page is not shown for the page', async (t) => {
  const trial = await ReplayTrial.with(t, [
    { url: 'dns://site.example', type: 'text/dns', body: 'site.example. 60 IN A 192.0.2.1' },
    { url: 'http://site.example/', body: 'the page', time: SPRING + 60_000 },
  ]);
  const page = await trial.ask({ url: 'http://site.example/', at: SPRING });
  assert.deepEqual([page.status, page.field('location')], [302, '/web/20200401100100mp_/http://site.example/']);
  const links = (await trial.ask({ url: 'http://site.example/', at: SPRING + 60_000 })).field('link')!;
  assert.match(links, /rel="first last memento"; datetime="Wed, 01 Apr 2020 10:01:00 GMT"/);
  assert.doesNotMatch(links, /dns:/);
  assert.match((await trial.ask({ url: 'dns://site.example', at: SPRING })).text, /192\.0\.2\.1/);
});
