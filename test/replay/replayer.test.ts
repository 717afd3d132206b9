import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { utf8 } from '../../src/base/index.ts';
import { type Modifier, shownAround } from '../../src/replay/index.ts';
import { response, revisitOf, warcinfo, writeForeign } from '../archive/foreign-file.ts';
import { contentOf } from '../archive/trial-archive.ts';
import { PIXEL, type SiteFile, SPRING, SUMMER } from '../browser/sample-site.ts';
import { ReplayTrial } from './replay-trial.ts';

const PAGE: SiteFile = { url: 'https://site.example/', body: '<title>t</title><img src="/a.png">' };
const DAY = 86_400_000;

test('a memento has its time, its links and a policy, and the original fields have no effect', async (t) => {
  const trial = await ReplayTrial.with(t, [
    {
      ...PAGE,
      fields: [
        'Set-Cookie: a=b',
        "Content-Security-Policy: default-src 'none'",
        'Strict-Transport-Security: max-age=1',
        'X-Frame-Options: DENY',
        'Content-Language: la',
        'Clear-Site-Data: "*"',
        'Service-Worker-Allowed: /',
        'Link: <https://cdn.example/a.css>; rel=preload; as=style, <https://x.example/>; rel=next',
        'X-Odd: caf\u00e9',
      ],
    },
    { ...PAGE, body: 'summer', time: SUMMER },
  ]);
  const { status, field, names, text } = await trial.ask({ url: PAGE.url, at: SPRING });
  assert.equal(status, 200);
  assert.equal(field('memento-datetime'), 'Wed, 01 Apr 2020 10:00:00 GMT');
  const memento = 'http://localhost:8081/web/20200401100000mp_/https://site.example/';
  const summer = 'http://localhost:8081/web/20200701100000mp_/https://site.example/';
  assert.equal(
    field('link'),
    [
      '<https://site.example/>; rel="original"',
      '<http://localhost:8080/web/https://site.example/>; rel="timegate"',
      '<http://localhost:8080/web/timemap/link/https://site.example/>; rel="timemap"; type="application/link-format"',
      `<${memento}>; rel="first memento"; datetime="Wed, 01 Apr 2020 10:00:00 GMT"`,
      `<${summer}>; rel="next last memento"; datetime="Wed, 01 Jul 2020 10:00:00 GMT"`,
      '</web/20200401100000cs_/https://cdn.example/a.css>; rel=preload; as=style',
    ].join(', '),
  );
  assert.match(
    field('content-security-policy') ?? '',
    /^default-src 'self' data: blob: .*frame-ancestors 'self' http:\/\/localhost:8080; sandbox allow-scripts/,
  );
  assert.equal(field('content-language'), 'la');
  assert.equal(field('x-archive-orig-set-cookie'), 'a=b');
  assert.equal(field('x-archive-orig-x-frame-options'), 'DENY');
  for (const name of [
    'set-cookie',
    'strict-transport-security',
    'x-frame-options',
    'clear-site-data',
    'service-worker-allowed',
  ]) {
    assert.ok(!names.includes(name), `${name} acts`);
  }
  assert.match(text, /<img src="\/web\/20200401100000im_\/https:\/\/site\.example\/a\.png">/);
  assert.equal(Number(field('content-length')), Buffer.byteLength(text));
});

test('a memento does not link to neighbours that cannot be shown, with few captures and with many', async (t) => {
  for (const count of [1, 200]) {
    const trial = await ReplayTrial.with(t, [PAGE, { ...PAGE, body: 'summer', time: SUMMER }]);
    const lost = response('http://lost.example/', SPRING, contentOf('lost'));
    const revisits = Array.from({ length: count }, (_, n) => [
      revisitOf(lost, PAGE.url, SPRING - DAY - n * 1000),
      revisitOf(lost, PAGE.url, SPRING + DAY + n * 1000),
      revisitOf(lost, PAGE.url, SUMMER + DAY + n * 1000),
    ]).flat();
    const file = await writeForeign(join(trial.archive.directory, 'revisits.warc.gz'), [warcinfo(), ...revisits]);
    assert.equal((await trial.archive.add([file], { workers: 0 })).unresolved, 3 * count);
    const { field } = await trial.ask({ url: PAGE.url, at: SPRING });
    const mementos = [...field('link')!.matchAll(/\/web\/(\d{14})mp_\/[^>]*>; rel="([^"]*)"/g)];
    assert.deepEqual(
      mementos.map(([, stamp, relation]) => `${stamp} ${relation}`),
      ['20200401100000 first memento', '20200701100000 next last memento'],
      `${count}`,
    );
  }
});

test('the link to the previous capture skips a redirection of the URL to itself, with few captures and with many', async (t) => {
  for (const visits of [3, 60]) {
    const moved: SiteFile = {
      url: 'http://site.example/',
      status: '301 Moved',
      fields: [`Location: ${PAGE.url}`],
      body: '',
    };
    const files = Array.from({ length: visits }, (_, day) => [
      { ...moved, time: SPRING + day * DAY },
      { ...PAGE, body: `day ${day}`, time: SPRING + day * DAY + 2000 },
    ]).flat();
    const trial = await ReplayTrial.with(t, files);
    const { field } = await trial.ask({ url: PAGE.url, at: SPRING + DAY + 2000 });
    const link = (relation: string) =>
      new RegExp(`/(\\d{14})mp_/[^>]*>; rel="[^"]*${relation}`).exec(field('link')!)?.[1];
    assert.deepEqual(
      [link('first'), link('prev'), link('next')],
      ['20200401100002', '20200401100002', '20200403100002'],
      `${visits} visits`,
    );
    const around = await shownAround(trial.archive, PAGE.url, SPRING + DAY);
    const times = [around?.neighbours.previous, around?.current, around?.neighbours.next].map((one) => one?.time);
    assert.deepEqual(
      times,
      [0, 1, 2].map((day) => SPRING + day * DAY + 2000),
    );
  }
});

test('a reader is redirected to the nearest capture, and a link to the newest capture that is not newer than its page', async (t) => {
  const trial = await ReplayTrial.with(t, [PAGE, { ...PAGE, body: 'summer', time: SUMMER }]);
  const near = await trial.ask({ url: PAGE.url, at: SUMMER - DAY });
  assert.deepEqual([near.status, near.field('location')], [302, '/web/20200701100000mp_/https://site.example/']);
  const linked = await trial.ask({ url: PAGE.url, at: SUMMER - DAY, isFromPage: true });
  assert.deepEqual([linked.status, linked.field('location')], [302, '/web/20200401100000mp_/https://site.example/']);
  const early = await trial.ask({ url: PAGE.url, at: SPRING - DAY, isFromPage: true });
  assert.equal(
    early.field('location'),
    '/web/20200401100000mp_/https://site.example/',
    'the nearest when none is older',
  );
  const latest = await trial.ask({ url: PAGE.url });
  assert.equal(latest.field('location'), '/web/20200701100000mp_/https://site.example/');
  const embedded = await trial.ask({ url: PAGE.url, at: SUMMER - DAY, isFromPage: true, modifier: 'im_' });
  assert.deepEqual(
    [embedded.status, embedded.text.endsWith('summer')],
    [200, true],
    'embedded things come at once, from the nearest time',
  );
});

test('a link leads to a capture that the same crawl made after the page, not to one of an earlier crawl', async (t) => {
  const minute = 60_000;
  for (const count of [0, 40]) {
    const earlier = Array.from({ length: count }, (_, day) => ({
      ...PAGE,
      body: 'old',
      time: SPRING - (day + 2) * DAY,
    }));
    const trial = await ReplayTrial.with(t, [
      ...earlier,
      { ...PAGE, body: 'last crawl', time: SPRING - DAY },
      { ...PAGE, body: 'this crawl', time: SPRING + 5 * minute },
      { ...PAGE, body: 'next crawl', time: SPRING + DAY },
    ]);
    const linked = await trial.ask({ url: PAGE.url, at: SPRING, isFromPage: true });
    assert.equal(linked.field('location'), '/web/20200401100500mp_/https://site.example/', `${count} captures before`);
    const back = await trial.ask({ url: PAGE.url, at: SPRING - 2 * minute - DAY, isFromPage: true });
    assert.equal(back.field('location'), '/web/20200331100000mp_/https://site.example/', `${count} captures before`);
  }
});

test('the capture of the requested second is chosen, even if another one is nearer to the start of this second', async (t) => {
  const trial = await ReplayTrial.with(t, [
    { ...PAGE, body: 'before', time: SPRING - 100 },
    { ...PAGE, body: 'within', time: SPRING + 800 },
  ]);
  assert.match((await trial.ask({ url: PAGE.url, at: SPRING })).text, /within/);
});

test('a URL with many captures is answered like one with few', async (t) => {
  const files = Array.from({ length: 40 }, (_, day) => ({
    ...PAGE,
    type: 'text/plain',
    body: `day ${day}`,
    time: SPRING + day * DAY,
  }));
  const trial = await ReplayTrial.with(t, files);
  const at = SPRING + 20 * DAY;
  const exact = await trial.ask({ url: PAGE.url, at });
  assert.equal(exact.text, 'day 20');
  assert.match(
    exact.field('link') ?? '',
    /20200401100000mp_[^,]*rel="first memento".*20200420100000mp_[^,]*rel="prev memento".*20200422100000mp_[^,]*rel="next memento".*20200510100000mp_[^,]*rel="last memento"/,
  );
  assert.equal((await trial.ask({ url: PAGE.url, at: at + 20 * 3_600_000, modifier: 'im_' })).text, 'day 21');
  const sparse = await ReplayTrial.with(
    t,
    files.map((file, number) => ({ ...file, time: SPRING + number * 3 * DAY })),
  );
  const linked = await sparse.ask({ url: PAGE.url, at: SPRING + 62 * DAY, isFromPage: true });
  assert.equal(linked.field('location'), '/web/20200531100000mp_/https://site.example/');
});

test('a redirection without a target is shown with its body', async (t) => {
  const url = 'http://site.example/nowhere';
  const trial = await ReplayTrial.with(t, [{ url, status: '302 Found', fields: ['Location: '], body: 'a page' }]);
  const { missing, text } = await trial.ask({ url, at: SPRING });
  assert.equal(missing, undefined);
  assert.match(text, /a page$/);
});

test('redirections to other sites stay in the archive and keep their modifier', async (t) => {
  const trial = await ReplayTrial.with(t, [
    { url: 'http://site.example/go', status: '302 Found', fields: ['Location: //other.example/x?a b'], body: '' },
  ]);
  const { status, field } = await trial.ask({ url: 'http://site.example/go', at: SPRING, modifier: 'im_' });
  assert.deepEqual([status, field('location')], [302, '/web/20200401100000im_/http://other.example/x?a%20b']);
  assert.ok(field('memento-datetime'), 'an archived redirection is a memento');
});

test('a revisit has its own head and the payload of its holder, decoded by the codings of the holder', async (t) => {
  const text = Buffer.from(contentOf('shared', 5000)).toString();
  const trial = await ReplayTrial.with(t, [
    {
      url: 'http://one.example/',
      type: 'text/plain',
      fields: ['Content-Encoding: gzip'],
      body: gzipSync(text),
      time: SPRING,
    },
    { url: 'http://two.example/', type: 'text/css', fields: ['X-Own: yes'], body: gzipSync(text), time: SUMMER },
  ]);
  const answer = await trial.ask({ url: 'http://two.example/', at: SUMMER, modifier: 'oe_' });
  assert.equal(answer.capture?.kind, 'revisit');
  assert.equal(answer.text, text);
  assert.equal(answer.field('x-archive-orig-x-own'), 'yes');
  assert.equal(answer.field('content-type'), 'text/css; charset=utf-8');
});

for (const [name, fields, body] of [
  ['gzip that is none', ['Content-Encoding: gzip'], utf8('plain text')],
  ['brotli', ['Content-Encoding: br'], brotliCompressSync('plain text')],
  ['gzip over gzip', ['Content-Encoding: gzip, gzip'], gzipSync(gzipSync('plain text'))],
  ['an unknown coding', ['Content-Encoding: rot13'], utf8('plain text')],
  ['chunks that are none', ['Transfer-Encoding: chunked'], utf8('plain text')],
] as const) {
  test(`a body under ${name} is read`, async (t) => {
    const trial = await ReplayTrial.with(t, [{ url: 'http://coded.example/', type: 'text/plain', fields, body }]);
    const { text, names } = await trial.ask({ url: 'http://coded.example/', at: SPRING, modifier: 'oe_' });
    assert.equal(text, 'plain text');
    assert.ok(!names.includes('content-encoding'));
  });
}

test('stored bytes are sent unchanged, with a policy that stops scripts', async (t) => {
  const page = gzipSync('<script>alert(1)</script>');
  const trial = await ReplayTrial.with(t, [{ ...PAGE, fields: ['Content-Encoding: gzip'], body: page }]);
  const { bytes, field } = await trial.ask({ url: PAGE.url, at: SPRING, modifier: 'id_' });
  assert.ok(bytes.equals(page));
  assert.equal(field('content-encoding'), 'gzip');
  assert.match(field('content-security-policy') ?? '', /^default-src 'none'.*sandbox$/);
  assert.equal(field('x-content-type-options'), 'nosniff');
});

test('ranges, validators and their conditions are honoured, for small contents and large ones', async (t) => {
  const large = Buffer.alloc(3_000_000, 'abcdefghij');
  const trial = await ReplayTrial.with(t, [
    { url: 'http://media.example/small', type: 'video/mp4', body: large.subarray(0, 10_000) },
    { url: 'http://media.example/large', type: 'video/mp4', body: large },
  ]);
  for (const [name, size] of [
    ['small', 10_000],
    ['large', 3_000_000],
  ] as const) {
    const url = `http://media.example/${name}`;
    const ask = (fields: Record<string, string>) => trial.ask({ url, at: SPRING, modifier: 'oe_', fields });
    const whole = await ask({});
    assert.deepEqual([whole.status, whole.bytes.length, whole.field('content-length')], [200, size, String(size)]);
    const part = await ask({ range: 'bytes=13-22' });
    assert.deepEqual([part.status, part.text, part.field('content-range')], [206, 'defghijabc', `bytes 13-22/${size}`]);
    const end = await ask({ range: 'bytes=-3' });
    assert.deepEqual([end.text, end.field('content-range')], ['hij', `bytes ${size - 3}-${size - 1}/${size}`]);
    const beyond = await ask({ range: `bytes=${size}-` });
    assert.deepEqual([beyond.status, beyond.field('content-range')], [416, `bytes */${size}`]);
    assert.equal((await ask({ range: 'bytes=0-1,5-6' })).status, 200, 'several ranges get the whole');
    const tag = whole.field('etag')!;
    assert.equal((await ask({ range: 'bytes=0-0', 'if-range': tag })).status, 206);
    assert.equal((await ask({ range: 'bytes=0-0', 'if-range': '"other"' })).status, 200);
    const known = await ask({ 'if-none-match': tag });
    assert.deepEqual([known.status, known.bytes.length], [304, 0]);
  }
});

test('HEAD has the fields of GET and no body', async (t) => {
  const trial = await ReplayTrial.with(t, [{ url: 'http://media.example/', type: 'image/png', body: PIXEL }]);
  const { status, field, bytes } = await trial.ask({
    url: 'http://media.example/',
    at: SPRING,
    modifier: 'im_',
    method: 'HEAD',
  });
  assert.deepEqual([status, field('content-length'), bytes.length], [200, String(PIXEL.length), 0]);
});

test('a missing page, script, style sheet or image is answered in its own format', async (t) => {
  const trial = await ReplayTrial.with(t, [PAGE]);
  const url = 'https://site.example/not/there.html';
  for (const [modifier, type] of [
    ['im_', /^image\//],
    ['js_', /^text\/javascript/],
    ['cs_', /^text\/css/],
    ['oe_', /^text\/plain/],
  ] as const) {
    const { status, field, missing } = await trial.ask({ url, at: SPRING, modifier });
    assert.equal(status, 404);
    assert.match(field('content-type') ?? '', type);
    assert.equal(missing, undefined);
  }
  const page = await trial.ask({ url, at: SPRING });
  assert.deepEqual([page.status, page.missing, page.bytes.length], [404, { url }, 0]);
  const { nearby } = await trial.replayer.alternatives(url);
  assert.deepEqual(
    nearby.map((capture) => capture.url),
    ['https://site.example/'],
  );
});

test('a window is redirected to the frame page, unlike a frame', async (t) => {
  const trial = await ReplayTrial.with(t, [PAGE]);
  const ask = (destination: string, modifier: Modifier) =>
    trial.ask({ url: PAGE.url, at: SPRING, modifier, fields: { 'sec-fetch-dest': destination } });
  const window = await ask('document', 'mp_');
  assert.deepEqual(
    [window.status, window.field('location')],
    [302, 'http://localhost:8080/web/20200401100000/https://site.example/'],
  );
  assert.equal(
    (await ask('document', 'if_')).field('location'),
    'http://localhost:8080/web/20200401100000if_/https://site.example/',
  );
  for (const modifier of ['js_', 'oe_', 'wkr_'] as const) {
    assert.equal((await ask('document', modifier)).field('location'), window.field('location'), modifier);
  }
  assert.equal((await ask('iframe', 'mp_')).status, 200);
  assert.equal((await ask('document', 'id_')).status, 200);
});

test('scripts of service workers are never sent', async (t) => {
  const trial = await ReplayTrial.with(t, [{ url: 'https://site.example/sw.js', type: 'text/javascript', body: '1' }]);
  const url = 'https://site.example/sw.js';
  assert.equal((await trial.ask({ url, at: SPRING, modifier: 'sw_' })).status, 403);
  assert.equal(
    (await trial.ask({ url, at: SPRING, modifier: 'js_', fields: { 'service-worker': 'script' } })).status,
    403,
  );
});

test('content that a script fetches is not rewritten', async (t) => {
  const trial = await ReplayTrial.with(t, [PAGE]);
  for (const fields of [{ 'sec-fetch-dest': 'empty' }, { 'x-pywb-requested-with': 'XMLHttpRequest' }] as Record<
    string,
    string
  >[]) {
    const { status, text } = await trial.ask({ url: PAGE.url, at: SPRING + DAY, isFromPage: true, fields });
    assert.deepEqual([status, text], [200, PAGE.body]);
  }
});

test('scripts and styles with vague types are rewritten according to their use', async (t) => {
  const trial = await ReplayTrial.with(t, [
    { url: 'http://vague.example/a.js', type: 'text/html', body: 'window.x = 1' },
    { url: 'http://vague.example/a.css', type: 'text/plain', body: 'a { b: url(c) }' },
    { url: 'http://vague.example/page.js', type: 'text/html', body: '<html>not found</html>' },
    { url: 'http://vague.example/data.js', type: 'application/json', body: '{"window":1}' },
    { url: 'http://vague.example/none', type: '', body: '<!doctype html><a href="/x">' },
  ]);
  const ask = (name: string, modifier: 'js_' | 'cs_' | 'mp_') =>
    trial.ask({ url: `http://vague.example/${name}`, at: SPRING, modifier });
  const script = await ask('a.js', 'js_');
  assert.match(script.text, /^var _____WB/);
  assert.equal(script.field('content-type'), 'text/javascript; charset=utf-8');
  assert.match((await ask('a.css', 'cs_')).text, /url\(\/web\//);
  assert.match((await ask('page.js', 'js_')).text, /not found/);
  assert.equal((await ask('data.js', 'js_')).text, '{"window":1}');
  assert.match((await ask('none', 'mp_')).text, /\/web\/20200401100000mp_\/http:\/\/vague\.example\/x/);
});

test('the answer to equal data is chosen from several answers to sent data', async (t) => {
  const trial = await ReplayTrial.with(t, []);
  for (const [at, word] of ['alpha', 'beta', 'gamma'].entries()) {
    const message = `POST /search HTTP/1.1\r\nHost: post.example\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\nq=${word}`;
    await trial.archive.store({
      kind: 'http',
      url: 'http://post.example/search',
      time: SPRING + at * 1000,
      responseHead: utf8('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n'),
      body: utf8(`{"found":"${word}"}`),
      request: utf8(message),
    });
  }
  for (const word of ['alpha', 'beta', 'gamma']) {
    const { text } = await trial.ask({
      url: 'http://post.example/search',
      at: SPRING,
      method: 'POST',
      body: utf8(`q=${word}`),
      isFromPage: true,
      fields: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-dest': 'empty' },
    });
    assert.equal(text, `{"found":"${word}"}`);
  }
});

test('a link gets the answer to a GET, and sent data get an answer to the same method', async (t) => {
  const trial = await ReplayTrial.with(t, []);
  const url = 'http://rest.example/items';
  const store = (method: string, time: number, body: string, sent = '') =>
    trial.archive.store({
      kind: 'http',
      url,
      time,
      responseHead: utf8('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n'),
      body: utf8(body),
      request: utf8(`${method} /items HTTP/1.1\r\nHost: rest.example\r\nContent-Type: text/plain\r\n\r\n${sent}`),
    });
  const ask = async (method: string, body?: string, at = SPRING + 4000) => {
    const fields = { 'content-type': 'text/plain', 'sec-fetch-dest': 'empty' };
    const sent = body === undefined ? {} : { body: utf8(body) };
    const { status, text } = await trial.ask({ url, at, method, isFromPage: true, fields, ...sent });
    return status === 200 ? text : status;
  };
  await store('POST', SPRING + 5000, 'made', 'one');
  assert.equal(await ask('GET'), 'made', 'with nothing else the URL alone decides');
  assert.equal(await ask('PUT', 'one'), 404);
  await store('GET', SPRING, 'the list');
  await store('DELETE', SPRING + 6000, 'gone');
  assert.equal(await ask('GET'), 'the list');
  assert.equal(await ask('GET', undefined, SPRING + 5000), 'made', 'that of the requested second');
  assert.equal(await ask('POST', 'one'), 'made');
  assert.equal(await ask('POST', 'two'), 'made', 'the nearest of those that may match');
  assert.equal(await ask('DELETE', ''), 'gone');
  assert.equal(await ask('PUT', 'one'), 'the list', 'a form that was never sent leads to its page');
  for (let at = 0; at < 20; at++) await store('POST', SPRING + 7000 + at * 1000, `made ${at}`, `${at}`);
  assert.equal(await ask('GET', undefined, SPRING + 30_000), 'the list', 'however often data were sent');
  await store('HEAD', SPRING + 4000, '');
  await store('OPTIONS', SPRING + 4001, '');
  assert.equal(await ask('GET', undefined, SPRING + 3000), 'the list', 'an answer to HEAD has no content');
  await store('POST', SPRING + 5050, 'made again', 'one');
  assert.match(String(await ask('GET', undefined, SPRING + 5000)), /^made/);
  await store('GET', SPRING + 5100, 'the list with one');
  assert.equal(await ask('GET', undefined, SPRING + 5000), 'the list with one', 'of one second the answer to a GET');
});

test('a status without a body, or one that causes another request, is replaced so that the stored body is shown', async (t) => {
  const trial = await ReplayTrial.with(t, [
    { url: 'http://odd.example/404', status: '404 Not Found', body: 'gone' },
    { url: 'http://odd.example/500', status: '500 Oops', body: 'broken' },
    { url: 'http://odd.example/407', status: '407 Proxy', body: 'who' },
    { url: 'http://odd.example/401', status: '401 Unauthorized', fields: ['WWW-Authenticate: Basic'], body: 'who' },
    {
      url: 'http://odd.example/206',
      status: '206 Partial',
      type: 'video/mp4',
      fields: ['Content-Range: bytes 0-3/4'],
      body: 'film',
    },
  ]);
  const seen: number[] = [];
  for (const status of [404, 500, 407, 401, 206]) {
    const answer = await trial.ask({ url: `http://odd.example/${status}`, at: SPRING });
    seen.push(answer.status);
    assert.ok(!answer.names.includes('www-authenticate'));
    assert.ok(answer.field('memento-datetime'));
  }
  assert.deepEqual(seen, [404, 500, 403, 401, 200]);
});

test('a script gets the status of an answer without content, and a window gets an empty page', async (t) => {
  const url = 'http://odd.example/ping';
  const trial = await ReplayTrial.with(t, [{ url, status: '204 No Content', type: '', body: '' }]);
  const script = await trial.ask({ url, at: SPRING, fields: { 'sec-fetch-dest': 'empty' } });
  assert.deepEqual([script.status, script.bytes.length, script.field('content-length')], [204, 0, undefined]);
  assert.equal((await trial.ask({ url, at: SPRING })).status, 200);
});

test('a large page is rewritten to its end as a stream, and a body that decodes to a large one is sent in small pieces', async (t) => {
  const large = `<!doctype html><title>large</title>${'<p><a href="/x">word word word word word</a></p>\n'.repeat(60_000)}`;
  const bomb = brotliCompressSync(Buffer.alloc(100_000_000), { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
  assert.ok(bomb.length < 1000);
  const trial = await ReplayTrial.with(t, [
    { url: 'http://large.example/', body: large },
    { url: 'http://bomb.example/', type: 'text/plain', fields: ['Content-Encoding: br'], body: bomb },
  ]);
  const page = await trial.ask({ url: 'http://large.example/', at: SPRING });
  assert.equal(page.field('content-length'), undefined);
  assert.equal(page.text.split('"/web/20200401100000mp_/http://large.example/x"').length, 60_001);
  const reply = await trial.replayer.respond({
    url: 'http://bomb.example/',
    at: SPRING,
    modifier: 'oe_',
    method: 'GET',
    isFromPage: true,
    fields: () => undefined,
  });
  let size = 0;
  let largest = 0;
  assert.ok(reply.body && !(reply.body instanceof Uint8Array));
  for await (const { length } of reply.body) {
    size += length;
    largest = Math.max(largest, length);
  }
  assert.equal(size, 100_000_000);
  assert.ok(largest <= 64 * 1024, `a piece of ${largest} bytes`);
});

test('very long or malformed heads do not break the answer', async (t) => {
  const trial = await ReplayTrial.with(t, [
    {
      url: 'http://odd.example/',
      type: 'text/html\u0001; charset="',
      fields: [
        ...Array.from({ length: 500 }, (_, at) => `X-Field-${at}: ${'v'.repeat(300)}`),
        'Bad Name: x',
        'X-Uni: \u4e2d\u6587',
        'Link: <<<>>>;;;"',
        'Refresh: ;;;url=',
        'Location: http://[bad',
      ],
      body: '<p>fine',
    },
  ]);
  const { status, names, field, text } = await trial.ask({ url: 'http://odd.example/', at: SPRING });
  assert.equal(status, 200);
  assert.match(text, /<p>fine/);
  assert.ok(names.join().length < 16_000);
  assert.ok(!names.includes('x-archive-orig-bad name'));
  for (const name of names) assert.match(field(name) ?? '', /^[\x20-\x7e\x80-\xff\t]*$/);
});

test('a page is shown under the path of its capture, whatever form of the path is requested', async (t) => {
  const redirect = (url: string, to: string) => ({ url, body: '', status: '301 Moved', fields: [`Location: ${to}`] });
  const captured = [
    '/a/',
    '/Case',
    '/caf\u00e9',
    '/low%c3%a9',
    '/x/../dots',
    '/two//slashes',
    '/sp ace',
    '/back\\slash',
    '/s;jsessionid=0123456789abcdef0123456789abcdef',
    '/q"<>?x="<>',
    '/a|b^',
  ];
  const trial = await ReplayTrial.with(t, [
    redirect('http://site.example/a', 'http://site.example/a/'),
    ...captured.map((path) => ({ url: `http://site.example${path}`, body: `<p>${path}</p>` })),
  ]);
  const shown = async (path: string) => {
    let url = `http://site.example${path}`;
    for (let count = 0; count < 3; count++) {
      const answer = await trial.ask({ url, at: SPRING, modifier: 'mp_' });
      if (answer.status !== 302 && answer.status !== 301) return `${answer.status} ${url}`;
      // Browsers remove dot segments anywhere in a path.
      url = new URL(answer.field('location')!, 'http://localhost').href.replace(/^.*?mp_\//, '');
    }
    return 'a loop';
  };
  assert.equal(await shown('/a'), '200 http://site.example/a/');
  assert.equal(await shown('/case'), '200 http://site.example/Case');
  // Browsers and proxies would change the redirected path back, in an endless loop.
  for (const path of ['/two/slashes', '/a%7Cb%5e', '/%6cow%C3%A9'])
    assert.equal(await shown(path), `200 http://site.example${path}`);
  for (const path of captured) assert.match(await shown(path), /^200 /, path);
  for (const path of captured) assert.notEqual(await shown(path.toUpperCase()), 'a loop', path);
});
