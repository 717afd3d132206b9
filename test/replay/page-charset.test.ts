/** The charset of scripts and style sheets of a page. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import { damageUrl } from '../archive/damage-sample.ts';
import { SPRING } from '../browser/sample-site.ts';
import { ORIGINS, ReplayTrial } from './replay-trial.ts';

test('scripts and style sheets without a declared charset have the charset of the page that requests them', async (t) => {
  // "Да" in windows-1251. These bytes are valid in many charsets.
  const word = Buffer.from([0xc4, 0xe0]);
  const text = (before: string, after: string) => Buffer.concat([Buffer.from(before), word, Buffer.from(after)]);
  const trial = await ReplayTrial.with(t, [
    { url: 'http://old.example/', type: 'text/html; charset=windows-1251', body: text('<p>', '</p>') },
    { url: 'http://old.example/new', body: '<p>new</p>' },
    { url: 'http://old.example/a.js', type: 'text/javascript', body: text('x = "', '"') },
    { url: 'http://old.example/a.css', type: 'text/css', body: text('a::after { content: "', '" }') },
    {
      url: 'http://old.example/own.css',
      type: 'text/css',
      body: text('@charset "koi8-r"; a::after { content: "', '" }'),
    },
    { url: 'http://old.example/own.js', type: 'text/javascript; charset=koi8-r', body: text('x = "', '"') },
    { url: 'http://old.example/utf8.js', type: 'text/javascript', body: 'x = "Да"' },
  ]);
  const asked = async (name: string, page = 'http://old.example/') => {
    const modifier = name.endsWith('.js') ? ('js_' as const) : ('cs_' as const);
    const referer = `${ORIGINS.replayOrigin}/web/20200401100000mp_/${page}`;
    const { text } = await trial.ask({ url: `http://old.example/${name}`, at: SPRING, modifier, fields: { referer } });
    return /"([^"]*)"[^"]*$/.exec(text)?.[1];
  };
  assert.equal(await asked('a.js'), 'Да');
  assert.equal(await asked('a.css'), 'Да');
  assert.equal(await asked('utf8.js'), 'Да');
  assert.equal(await asked('own.js'), 'дЮ');
  assert.equal(await asked('own.css'), 'дЮ');
  assert.equal(await asked('a.js', 'http://old.example/none'), await asked('a.js', 'http://old.example/new'));
});

test('a script stays UTF-8 when its first piece ends inside a character, and the script of a damaged page is shown', async (t) => {
  // Scripts that are too large to be read whole, with characters of three bytes after one, two and three other bytes.
  const large = (others: string) => gzipSync(`x = "${others}${'日'.repeat(500_000)}Да"`);
  const trial = await ReplayTrial.with(t, [
    { url: 'http://old.example/', type: 'text/html; charset=windows-1251', body: '<p>page</p>' },
    { url: 'http://old.example/hurt', type: 'text/html; charset=windows-1251', body: '<p>hurt</p>'.repeat(1000) },
    {
      url: 'http://old.example/a.js',
      type: 'text/javascript',
      body: Buffer.from([0x78, 0x3d, 0x22, 0xc4, 0xe0, 0x22]),
    },
    ...['', '-', '--'].map((others) => ({
      url: `http://old.example/large${others}.js`,
      type: 'text/javascript',
      fields: ['Content-Encoding: gzip'],
      body: large(others),
    })),
  ]);
  const asked = async (name: string, page: string) => {
    const fields = { referer: `${ORIGINS.replayOrigin}/web/20200401100000mp_/http://old.example/${page}` };
    const { text } = await trial.ask({ url: `http://old.example/${name}`, at: SPRING, modifier: 'js_', fields });
    return /([^"]{1,2})"[^"]*$/.exec(text)?.[1];
  };
  for (const others of ['', '-', '--']) assert.equal(await asked(`large${others}.js`, ''), 'Да');
  const alone = await asked('a.js', 'none');
  for (const how of ['middle', 'start', 'all'] as const) {
    await damageUrl(trial.archive, 'http://old.example/hurt', how);
    assert.equal(await asked('a.js', 'hurt'), alone, how);
  }
});
