import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { utf8 } from '../../src/base/index.ts';
import { firstCandidate, shownAround } from '../../src/replay/index.ts';
import { volumeOf } from '../archive/opened-parts.ts';
import { type SiteFile, SPRING, SUMMER } from '../browser/sample-site.ts';
import { type Answered, ReplayTrial } from './replay-trial.ts';

const MINUTE = 60_000;

test('URLs with the same key are distinguished within a visit, with few captures and with many', async (t) => {
  for (const visits of [1, 60]) {
    const files = Array.from({ length: visits }, (_, day): SiteFile[] => {
      const time = SPRING + day * 24 * 60 * MINUTE;
      return [
        { url: 'http://short.example/AbC?x=1', body: 'upper', time },
        { url: 'http://short.example/abc?X=1', body: 'lower', time: time + 5 * MINUTE },
        { url: 'http://short.example/a/bc', body: 'one slash', time },
        { url: 'http://short.example/a//bc', body: 'two slashes', time },
      ];
    }).flat();
    const trial = await ReplayTrial.with(t, files);
    for (const [url, expected] of [
      ['http://short.example/AbC?x=1', 'upper'],
      ['https://www.short.example/AbC?x=1', 'upper'],
      ['http://short.example/abc?X=1', 'lower'],
      ['http://short.example/a//bc', 'two slashes'],
      ['http://short.example/a/bc', 'one slash'],
    ] as const) {
      for (const at of [undefined, SPRING, SPRING + 5 * MINUTE, SPRING + 300 * MINUTE]) {
        const { text } = await trial.ask({ url, at, modifier: 'oe_' });
        assert.match(text, new RegExp(`${expected}$`), `${url} at ${at}`);
      }
    }
  }
});

test('between captures of different visits the nearer time decides, because a page may be linked by either URL', async (t) => {
  const trial = await ReplayTrial.with(t, [
    { url: 'http://old.example/Index.html', body: 'spring', time: SPRING },
    { url: 'http://old.example/index.html', body: 'summer', time: SUMMER },
  ]);
  assert.match(
    (await trial.ask({ url: 'http://old.example/index.html', at: SPRING, modifier: 'oe_' })).text,
    /spring$/,
  );
});

/** A site that redirects clients without a cookie between two URLs. */
function wall(rest: readonly SiteFile[]): SiteFile[] {
  return [
    { url: 'http://wall.example/', status: '302 Found', fields: ['Location: /cookie'], body: '', time: SPRING },
    { url: 'http://wall.example/cookie', status: '302 Found', fields: ['Location: /'], body: '', time: SPRING + 1000 },
    ...rest,
  ];
}

const BROWSER = { accept: 'text/html,*/*;q=0.8' };

/** Follows redirects as a browser does. */
async function arrived(trial: ReplayTrial, url: string, at: number): Promise<Answered> {
  let path = `/web/${new Date(at).toISOString().replace(/\D/g, '').slice(0, 14)}mp_/${url}`;
  for (let hop = 0; hop < 20; hop++) {
    const [, stamp, target] = /^\/web\/(\d{14})mp_\/(.*)$/.exec(path)!;
    const [year, month, day, ...clock] = stamp!.match(/^\d{4}|\d{2}/g)!.map(Number) as [
      number,
      number,
      number,
      ...number[],
    ];
    const answer = await trial.ask({ url: target!, at: Date.UTC(year, month - 1, day, ...clock), fields: BROWSER });
    if (answer.status < 300 || answer.status > 399) return answer;
    path = answer.field('location')!;
  }
  throw new Error('too many redirects');
}

test('the page behind a redirect loop that a cookie ended on the web is shown instead of the loop', async (t) => {
  const trial = await ReplayTrial.with(t, wall([{ url: 'http://wall.example/', body: 'behind', time: SPRING + 3000 }]));
  for (const url of ['http://wall.example/', 'http://wall.example/cookie']) {
    for (const at of [SPRING, SPRING + 1000, SUMMER]) {
      assert.match((await arrived(trial, url, at)).text, /behind$/, `${url} at ${at}`);
    }
  }
  const around = await shownAround(trial.archive, 'http://wall.example/', SPRING);
  assert.deepEqual([around?.current.status, around?.neighbours.previous], [200, undefined]);
});

test('a browser gets an error for a redirect loop without a page, and a program gets the redirections', async (t) => {
  const trial = await ReplayTrial.with(t, wall([]));
  const { status, redirectLoop } = await arrived(trial, 'http://wall.example/', SPRING);
  assert.deepEqual([status, redirectLoop], [508, ['http://wall.example/', 'http://wall.example/cookie']]);
  const asProgram = await trial.ask({ url: 'http://wall.example/', at: SPRING });
  assert.deepEqual([asProgram.status, asProgram.redirectLoop], [302, undefined]);
  assert.ok(asProgram.field('memento-datetime'));
  assert.ok(
    await shownAround(trial.archive, 'http://wall.example/', SPRING),
    'the web page shows what replay says of it',
  );
});

test('a redirection into a loop leads to the loop', async (t) => {
  const way: SiteFile = { url: 'http://wall.example/in', status: '301 Moved', fields: ['Location: /'], body: '' };
  const trial = await ReplayTrial.with(t, wall([way]));
  assert.equal(
    (await trial.ask({ url: way.url, at: SPRING, fields: BROWSER })).field('location'),
    '/web/20200401100000mp_/http://wall.example/',
  );
});

test('the target of a redirection in Latin-1 is found by its bytes, and by its letters as some crawlers follow it', async (t) => {
  const trial = await ReplayTrial.with(t, [
    { url: 'http://old.example/caf%C3%A9?q=%C3%BC', body: 'by letters' },
    { url: 'http://both.example/caf%E9', body: 'by bytes' },
    { url: 'http://both.example/caf%C3%A9', body: 'by letters' },
  ]);
  assert.match((await arrived(trial, 'http://old.example/caf%E9?q=%FC', SPRING)).text, /by letters$/);
  assert.match((await arrived(trial, 'http://both.example/caf%E9', SPRING)).text, /by bytes$/);
  assert.equal((await arrived(trial, 'http://none.example/caf%E9', SPRING)).status, 404);
});

test('a URL with a cache-busting number is found by any other number', async (t) => {
  const data = (query: string, body: string, time = SPRING): SiteFile => ({
    url: `http://api.example/data${query}`,
    type: 'application/json',
    body,
    time,
  });
  const trial = await ReplayTrial.with(t, [
    data('?page=1&_=1583020800123', 'one'),
    data('?page=1&_=1593020800123', 'one in summer', SUMMER),
    data('?page=2&_=1583020800124', 'two'),
    data('?rnd=0.4416409465020576', 'random'),
    data('?from=1583020800', 'since'),
    data('?page=4&1583020800123', 'bare'),
  ]);
  const asked = async (query: string, at = SPRING) => {
    const fields = { 'sec-fetch-dest': 'empty' };
    const { status, text } = await trial.ask({ url: `http://api.example/data${query}`, at, modifier: 'mp_', fields });
    return status === 200 ? text : status;
  };
  assert.equal(await asked('?page=1&_=1583020899999'), 'one');
  assert.equal(await asked('?page=1&_=1583020899999', SUMMER), 'one in summer');
  assert.equal(await asked('?_=1583020899999&page=2'), 'two');
  assert.equal(await asked('?rnd=0.1234567890123'), 'random');
  assert.equal(await asked('?page=4&1583020899999'), 'bare');
  assert.equal(await asked('?page=4&1583020899'), 404, 'a number that may have a meaning');
  assert.equal(await asked('?page=3&_=1583020899999'), 404);
  assert.equal(await asked('?from=1583020801'), 404, 'it means other data');
  assert.equal(await asked('?page=1'), 404);
  const byPerson = await trial.ask({ url: 'http://api.example/data?page=1&_=1583020899999', at: SPRING });
  assert.ok(byPerson.missing, 'a URL that a person enters gets its own capture or none');
});

test('a script with a generated callback name is found by another name, and calls the callback of the request', async (t) => {
  const data = (query: string, body: string, type = 'text/javascript'): SiteFile => ({
    url: `http://api.example/jsonp${query}`,
    type,
    body,
  });
  const trial = await ReplayTrial.with(t, [
    data('?callback=jQuery1102_1583020800123&q=a&_=1583020800124', 'jQuery1102_1583020800123({"got":"a"});'),
    data('?q=b&jsonp=jsonp1583020800', '/**/ typeof jsonp1583020800 === \'function\' && jsonp1583020800({"got":1})'),
    data('?q=c&callback=cb_123456', 'cb_123456({"got":"c"})', 'application/json'),
    data('?q=d&callback=show', 'show({"got":"d"})'),
  ]);
  const asked = async (query: string) => {
    const url = `http://api.example/jsonp${query}`;
    const { status, text } = await trial.ask({
      url,
      at: SPRING,
      modifier: 'js_',
      fields: { 'sec-fetch-dest': 'script' },
    });
    return status === 200 ? text : status;
  };
  assert.match(String(await asked('?callback=jQuery77_99887&q=a&_=1583020899999')), /jQuery77_99887\(\{"got":"a"\}\);/);
  assert.match(
    String(await asked('?q=b&jsonp=jsonp999888')),
    /typeof jsonp999888 === 'function' && jsonp999888\(\{"got":1\}\)/,
  );
  assert.match(String(await asked('?q=c&callback=cb_777777')), /cb_777777\(\{"got":"c"\}\)/);
  assert.match(String(await asked('?q=c&callback=cb_123456')), /cb_123456\(/);
  assert.equal(await asked('?q=d&callback=hide'), 404, 'the name has a meaning');
  assert.equal(await asked('?q=e&callback=jQuery77_99887'), 404);
  assert.equal(await asked(`?q=a&callback=${encodeURIComponent('alert(1);x999')}`), 404);
  assert.match(String(await asked('?q=c&callback=$$cb_777')), /\$\$cb_777\(\{"got":"c"\}\)/);
  assert.equal(await asked(`?q=a&callback=a${'1'.repeat(50_000)}-`), 404, 'a very long name is checked fast');
});

type Exchange = [method: string, time: number, body: string, sent?: string];

function storeExchange({ archive }: ReplayTrial, url: string, ...[method, time, body, sent = '']: Exchange) {
  return archive.store({
    kind: 'http',
    url,
    time,
    responseHead: utf8('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n'),
    body: utf8(body),
    request: utf8(`${method} / HTTP/1.1\r\nHost: many.example\r\nContent-Type: application/json\r\n\r\n${sent}`),
  });
}

test('a URL with very many captures has a separate answer for each kind of request', async (t) => {
  const trial = await ReplayTrial.with(t, []);
  const url = 'http://many.example/graphql';
  const fields = { 'content-type': 'application/json', 'sec-fetch-dest': 'empty' };
  const store = (...exchange: Exchange) => storeExchange(trial, url, ...exchange);
  const post = async (at: number) => {
    const body = utf8(`{"page":${at}}`);
    return (await trial.ask({ url, at: SPRING, method: 'POST', body, isFromPage: true, fields })).text;
  };
  const read = async (at: number) => (await trial.ask({ url, at, isFromPage: true, fields })).text;
  await store('GET', SPRING - 5000, '"the explorer"');
  for (let at = 0; at < 24; at++) await store('POST', SPRING + at * 1000, `"answer ${at}"`, `{"page":${at}}`);
  assert.equal(await post(23), '"answer 23"', 'however long after the page');
  for (let at = 24; at < 60; at++) await store('POST', SPRING + at * 1000, `"answer ${at}"`, `{"page":${at}}`);
  assert.equal(await read(SPRING - 1000), '"the explorer"');
  assert.equal(await read(SPRING + 20_000), '"answer 20"', 'that of the requested second');
  assert.equal(await post(0), '"answer 0"');
  assert.equal(await post(59), '"answer 59"');
  for (let at = 60; at < 130; at++) await store('DELETE', SPRING + at, `"gone ${at}"`);
  assert.equal(await post(1000), '"answer 0"', 'the nearest of those that may match');
});

test('large requests are matched, and a limited number of requests is read when there are very many captures', async (t) => {
  const trial = await ReplayTrial.with(t, []);
  const url = 'http://many.example/upload';
  const sent = [40_000, 40_000, 400_000, 400_000].map((bytes, name) => {
    return JSON.stringify({ name, data: randomBytes(bytes).toString('hex') });
  });
  for (const [at, body] of sent.entries())
    await storeExchange(trial, url, 'POST', SPRING + at * 1000, `"answer ${at}"`, body);
  const fields = { 'content-type': 'application/json', 'sec-fetch-dest': 'empty' };
  for (const [at, body] of sent.entries()) {
    const { text } = await trial.ask({ url, at: SPRING, method: 'POST', body: utf8(body), isFromPage: true, fields });
    assert.equal(text, `"answer ${at}"`);
  }
  for (let at = 0; at < 100; at++) await storeExchange(trial, url, 'POST', SUMMER + at * 1000, `"more ${at}"`, `${at}`);
  const volume = volumeOf(trial.archive);
  const reading = t.mock.method(volume, 'stream');
  const seen: number[] = [];
  await firstCandidate(trial.archive, url, SUMMER, ({ time }) => seen.push(time) === 0);
  assert.equal(new Set(seen).size, 104, 'each is returned once');
  assert.ok(reading.mock.callCount() <= 66, `${reading.mock.callCount()} read`);
});

test('a repeated request for a missing answer reads no records', async (t) => {
  const trial = await ReplayTrial.with(t, []);
  const url = 'http://many.example/api';
  for (let at = 0; at < 80; at++)
    await storeExchange(trial, url, 'POST', SPRING + at * 1000, `"answer ${at}"`, `{"page":${at}}`);
  const fields = { 'content-type': 'application/json', 'sec-fetch-dest': 'empty' };
  const post = async (body: string) =>
    (await trial.ask({ url, at: SPRING, method: 'POST', body: utf8(body), isFromPage: true, fields })).text;
  assert.equal(await post('{"page":1000}'), '"answer 0"');
  const reading = t.mock.method(volumeOf(trial.archive), 'stream');
  assert.equal(await post('{"page":1001}'), '"answer 0"');
  assert.equal(reading.mock.callCount(), 0);
  await storeExchange(trial, url, 'POST', SUMMER, '"new"', '{"page":1000}');
  assert.equal(await post('{"page":1000}'), '"new"', 'a capture added since is found');
});

test('a partial answer is shown if it has the whole content or if there is no other answer', async (t) => {
  const url = 'http://film.example/film.mp4';
  const part = (body: string, range: string, time: number): SiteFile => {
    return { url, type: 'video/mp4', status: '206 Partial Content', fields: [`Content-Range: ${range}`], body, time };
  };
  const trial = await ReplayTrial.with(t, [
    part('lm', 'bytes 2-3/4', SPRING),
    part('film', 'bytes 0-3/4', SPRING + 2 * MINUTE),
    part('fi', 'bytes 0-1/4', SPRING + 3 * MINUTE),
    part('f', 'bytes 0-3/4', SPRING + 4 * MINUTE),
    { url, type: 'text/plain', status: '404 Not Found', body: 'gone', time: SUMMER },
  ]);
  const shown = async (at: number) => (await trial.ask({ url, at, modifier: 'oe_' })).text;
  assert.equal(await shown(SPRING), 'film');
  assert.equal(await shown(SPRING + 3 * MINUTE), 'film');
  assert.equal(await shown(SPRING + 4 * MINUTE), 'film', 'the rest was cut off');
  assert.equal(await shown(SUMMER), 'gone');
  const around = await shownAround(trial.archive, url, SUMMER);
  assert.equal(around?.neighbours.previous?.time, SPRING + 2 * MINUTE);
  assert.equal(around?.neighbours.first?.time, SPRING + 2 * MINUTE);
});

test('a request for bytes that no part has does not get other bytes or another version', async (t) => {
  const url = 'http://film.example/film.mp4';
  const part = (body: string, range: string, minute: number): SiteFile => {
    const fields = [`Content-Range: bytes ${range}`, `Content-Length: ${body.length}`];
    return { url, type: 'video/mp4', status: '206 Partial Content', fields, body, time: SPRING + minute * MINUTE };
  };
  const trial = await ReplayTrial.with(t, [
    part('ab', '0-1/8', 0),
    part('cd', '2-3/8', 1),
    part('AB', '0-1/9', 2),
    part('CD', '2-3/9', 3),
    part('gh', '6-7/8', 4),
    part('ef', '4-6/8', 5),
  ]);
  const ask = async (minute: number, fields: Record<string, string>, more = {}) => {
    const asked = { url, at: SPRING + minute * MINUTE, modifier: 'oe_' as const, fields, ...more };
    const { status, text, field } = await trial.ask(asked);
    return [status, text, field('content-range')];
  };
  const range = (minute: number, bytes: string) => ask(minute, { range: `bytes=${bytes}` });
  assert.deepEqual(await range(2, '2-'), [206, 'CD', 'bytes 2-3/9'], 'an older part is as near');
  assert.deepEqual(await range(1, '0-'), [206, 'ab', 'bytes 0-1/8']);
  assert.deepEqual(await range(0, '4-'), [206, 'ef', 'bytes 4-5/8'], 'bytes that were cut off are missing');
  assert.deepEqual(await range(0, '-1'), [206, 'h', 'bytes 7-7/8']);
  assert.deepEqual(await range(2, '4-'), [416, '', 'bytes */9']);
  assert.deepEqual(await range(0, '8-'), [416, '', 'bytes */8']);
  assert.deepEqual(await range(1, '2-3,0-1'), [200, 'cd', undefined], 'several ranges get the whole');
  assert.deepEqual(await ask(1, { range: 'bytes=0-', 'if-range': '"another"' }), [200, 'cd', undefined]);
  assert.deepEqual(
    await ask(1, { range: 'bytes=1-' }, { modifier: 'id_' }),
    [206, 'd', 'bytes 1-1/2'],
    'as it is kept',
  );
  for (const bytes of ['1-', '8-']) {
    const { names } = await trial.ask({ url, at: SPRING, modifier: 'oe_', fields: { range: `bytes=${bytes}` } });
    assert.ok(!names.some((name) => /^x-archive-orig-content-(range|length)$/.test(name)), names.join());
  }
});

test('the part with the requested bytes is found among a hundred', async (t) => {
  const url = 'http://film.example/long.mp4';
  const parts = Array.from({ length: 100 }, (_, at): SiteFile => {
    const fields = [`Content-Range: bytes ${4 * at}-${4 * at + 3}/400`];
    const body = `${at}`.padStart(4, '.');
    return { url, type: 'video/mp4', status: '206 Partial Content', fields, body, time: SPRING + at * 1000 };
  });
  const trial = await ReplayTrial.with(t, parts);
  const last = await trial.ask({ url, at: SPRING, modifier: 'oe_', fields: { range: 'bytes=396-' } });
  assert.deepEqual([last.status, last.text], [206, '..99']);
});

test('a player gets each part of a content with its offset in the whole', async (t) => {
  const url = 'http://film.example/film.mp4';
  const film = Buffer.alloc(3_000_000, 'abcdefg');
  const parts = [0, 400_000, 2_000_000].map((from, at, all): SiteFile => {
    const body = film.subarray(from, all[at + 1] ?? film.length);
    const fields = [`Content-Range: bytes ${from}-${from + body.length - 1}/${film.length}`];
    return { url, type: 'video/mp4', status: '206 Partial Content', fields, body, time: SPRING + at * MINUTE };
  });
  const trial = await ReplayTrial.with(t, parts);
  const got: Buffer[] = [];
  for (let from = 0; from < film.length; ) {
    const part = await trial.ask({ url, at: SPRING, modifier: 'oe_', fields: { range: `bytes=${from}-` } });
    const end = from + part.bytes.length - 1;
    assert.deepEqual([part.status, part.field('content-range')], [206, `bytes ${from}-${end}/${film.length}`]);
    assert.deepEqual([part.field('content-length'), part.field('etag')], [String(part.bytes.length), undefined]);
    got.push(part.bytes);
    from = end + 1;
  }
  assert.deepEqual([got.length, Buffer.concat(got).equals(film)], [3, true]);
  const middle = await trial.ask({ url, at: SPRING, modifier: 'oe_', fields: { range: 'bytes=1000000-1000006' } });
  assert.deepEqual([middle.text, middle.field('content-range')], ['bcdefga', `bytes 1000000-1000006/${film.length}`]);
});
