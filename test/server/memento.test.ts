/** Memento (RFC 7089), clause by clause. Every row of the table in docs/memento.md names a test here. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { utf8 } from '../../src/base/index.ts';
import { contentOf, makeArchive, page } from '../archive/trial-archive.ts';
import { ask, makeServer, type Reply } from './trial-server.ts';

const URL_R = 'http://www.example.test/page';
const MARCH = Date.UTC(2024, 2, 1, 10);
const APRIL = Date.UTC(2024, 3, 1, 10);
const MAY = Date.UTC(2024, 4, 1, 10);
const AT_MARCH = 'Fri, 01 Mar 2024 10:00:00 GMT';
const AT_MAY = 'Wed, 01 May 2024 10:00:00 GMT';

type Link = { readonly uri: string; readonly rel: string[]; readonly parameters: Record<string, string> };

/** Parses a Link field as a Memento client does. */
function linksOf(text: string): Link[] {
  return [...text.matchAll(/<([^>]*)>((?:\s*;\s*[a-z]+="[^"]*")*)/g)].map(([, uri, rest]) => {
    const parameters = Object.fromEntries(
      [...rest!.matchAll(/([a-z]+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!]),
    );
    return { uri: uri!, rel: (parameters.rel ?? '').split(' '), parameters };
  });
}

const related = (links: readonly Link[], rel: string) => links.filter((link) => link.rel.includes(rel));
const headerLinks = (reply: Reply) => linksOf(String(reply.headers.link ?? ''));

test('Memento', async (t) => {
  const archive = await makeArchive(t);
  for (const [time, name] of [
    [MARCH, 'one'],
    [APRIL, 'two'],
    [MAY, 'three'],
  ] as const)
    await archive.store(page(URL_R, time, contentOf(name)));
  const moved = utf8('HTTP/1.1 302 Found\r\nLocation: http://www.example.test/page\r\n\r\n');
  await archive.store({
    kind: 'http',
    url: 'http://www.example.test/old',
    time: APRIL,
    responseHead: moved,
    body: utf8(''),
  });
  const gone = utf8('HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n');
  await archive.store({
    kind: 'http',
    url: 'http://www.example.test/gone',
    time: APRIL,
    responseHead: gone,
    body: contentOf('gone'),
  });
  const { server, failures } = await makeServer(t, { archive });
  const [ui, replay] = [server.uiUrl, server.replayUrl];
  const memento = (stamp: string, url = URL_R) => `${replay}/web/${stamp}mp_/${url}`;
  const gate = (headers: Record<string, string> = {}, url = URL_R) => ask(server.uiAddress, `/web/${url}`, { headers });
  const fetchMemento = (stamp: string, url = URL_R) => ask(server.replayAddress, `/web/${stamp}mp_/${url}`);
  const tests = new Set<string>();
  const clause = async (name: string, check: () => Promise<void>) => {
    tests.add(name);
    await t.test(name, check);
  };

  await clause('a TimeGate redirects to the memento nearest to Accept-Datetime', async () => {
    const reply = await gate({ 'accept-datetime': 'Mon, 18 Mar 2024 10:00:00 GMT' });
    assert.deepEqual([reply.status, reply.headers.location], [302, memento('20240401100000')]);
    const earlier = await gate({ 'accept-datetime': 'Sat, 02 Mar 2024 10:00:00 GMT' });
    assert.equal(earlier.headers.location, memento('20240301100000'));
  });

  await clause('a TimeGate sends Vary: accept-datetime', async () => {
    assert.match(String((await gate({ 'accept-datetime': AT_MARCH })).headers.vary), /\baccept-datetime\b/);
    assert.match(String((await gate()).headers.vary), /\baccept-datetime\b/);
    assert.match(String((await gate({}, 'http://nothing.test/')).headers.vary), /\baccept-datetime\b/);
  });

  await clause('the redirect of a TimeGate has no Memento-Datetime', async () => {
    assert.equal((await gate({ 'accept-datetime': AT_MARCH })).headers['memento-datetime'], undefined);
  });

  await clause('a TimeGate links to the original resource, its TimeMap and mementos', async () => {
    const links = headerLinks(await gate({ 'accept-datetime': 'Mon, 01 Apr 2024 10:00:00 GMT' }));
    assert.deepEqual(
      related(links, 'original').map(({ uri }) => uri),
      [URL_R],
    );
    assert.deepEqual(
      related(links, 'timemap').map(({ uri }) => uri),
      [`${ui}/web/timemap/link/${URL_R}`],
    );
    assert.deepEqual(
      related(links, 'first').map(({ uri }) => uri),
      [memento('20240301100000')],
    );
    assert.deepEqual(
      related(links, 'last').map(({ uri }) => uri),
      [memento('20240501100000')],
    );
    assert.ok(related(links, 'memento').some(({ uri }) => uri === memento('20240401100000')));
  });

  await clause('without Accept-Datetime a TimeGate redirects to the most recent memento', async () => {
    const reply = await gate();
    assert.deepEqual([reply.status, reply.headers.location], [302, memento('20240501100000')]);
  });

  await clause('a capture of another scheme under the same key is not a memento', async () => {
    const url = 'http://looked-up.test/';
    const look = { kind: 'http', url: 'dns://looked-up.test', responseHead: utf8('HTTP/1.1 200 OK\r\n\r\n') } as const;
    await archive.store({ ...look, time: MARCH, body: utf8('192.0.2.1') });
    await archive.store({ ...look, time: MAY, body: utf8('192.0.2.2') });
    await archive.store(page(url, APRIL, contentOf('looked up')));
    for (const asked of [url, 'https://www.looked-up.test/']) {
      for (const format of ['link', 'json', 'cdxj']) {
        const { text } = await ask(server.uiAddress, `/web/timemap/${format}/${asked}`);
        assert.doesNotMatch(text, /dns:/, format);
        assert.match(text, /20240401100000mp_\/http:\/\/looked-up/, format);
      }
      for (const headers of [{}, { 'accept-datetime': AT_MARCH }] as Record<string, string>[]) {
        const reply = await gate(headers, asked);
        assert.equal(reply.headers.location, memento('20240401100000', url));
        assert.doesNotMatch(String(reply.headers.link), /dns:/);
      }
    }
    const list = await ask(server.uiAddress, '/web/timemap/link/dns://looked-up.test');
    assert.equal(related(linksOf(list.text), 'memento').length, 2);
    assert.doesNotMatch(list.text, /mp_\/http/);
  });

  await clause('a redirection of a URL to itself is a memento, unchanged', async () => {
    const [plain, secure] = ['http://moved.test/', 'https://moved.test/'];
    const head = utf8(`HTTP/1.1 301 Moved Permanently\r\nLocation: ${secure}\r\n\r\n`);
    await archive.store({ kind: 'http', url: plain, time: MARCH, responseHead: head, body: utf8('') });
    await archive.store(page(secure, MARCH + 500, contentOf('moved')));
    const { text } = await ask(server.uiAddress, `/web/timemap/link/${plain}`);
    const listed = related(linksOf(text), 'memento').map(({ uri }) => uri);
    assert.deepEqual(listed, [memento('20240301100000', plain), memento('20240301100000', secure)]);
    const [first, second] = await Promise.all(listed.map((uri) => ask(server.replayAddress, new URL(uri).pathname)));
    assert.deepEqual([first!.status, first!.headers['memento-datetime']], [301, AT_MARCH]);
    assert.equal(replay + first!.headers.location, listed[1]);
    assert.deepEqual([second!.status, second!.headers['memento-datetime']], [200, AT_MARCH]);
  });

  await clause('a datetime before the first or after the last memento leads to that memento', async () => {
    const before = await gate({ 'accept-datetime': 'Mon, 01 Jan 1990 00:00:00 GMT' });
    assert.equal(before.headers.location, memento('20240301100000'));
    const after = await gate({ 'accept-datetime': 'Fri, 01 Jan 2100 00:00:00 GMT' });
    assert.equal(after.headers.location, memento('20240501100000'));
  });

  await clause('an Accept-Datetime that is not a date is refused with 400', async () => {
    for (const bad of [
      'yesterday',
      '2024-03-01T10:00:00Z',
      'Fri, 31 Feb 2024 10:00:00 GMT',
      'Fri, 01 Mar 2024 10:00:00 CET',
      'fri, 01 mar 2024 10:00:00 gmt',
    ])
      assert.equal((await gate({ 'accept-datetime': bad })).status, 400, bad);
  });

  await clause('a TimeGate of a resource without mementos returns 404', async () => {
    assert.equal((await gate({ 'accept-datetime': AT_MARCH }, 'http://nothing.test/')).status, 404);
  });

  await clause('a TimeGate replies to HEAD as to GET', async () => {
    const target = `/web/${URL_R}`;
    const headers = { 'accept-datetime': AT_MARCH };
    const [head, get] = [
      await ask(server.uiAddress, target, { method: 'HEAD', headers }),
      await ask(server.uiAddress, target, { headers }),
    ];
    assert.deepEqual(
      [head.status, head.headers.location, head.headers.link],
      [get.status, get.headers.location, get.headers.link],
    );
  });

  await clause('a memento has a Memento-Datetime', async () => {
    const reply = await fetchMemento('20240301100000');
    assert.deepEqual([reply.status, reply.headers['memento-datetime']], [200, AT_MARCH]);
  });

  await clause('a memento links to its original, TimeGate and TimeMap', async () => {
    const links = headerLinks(await fetchMemento('20240401100000'));
    assert.deepEqual(
      related(links, 'original').map(({ uri }) => uri),
      [URL_R],
    );
    assert.deepEqual(
      related(links, 'timegate').map(({ uri }) => uri),
      [`${ui}/web/${URL_R}`],
    );
    assert.deepEqual(
      related(links, 'timemap').map(({ uri }) => uri),
      [`${ui}/web/timemap/link/${URL_R}`],
    );
  });

  await clause('a memento links to the first, previous, next and last memento, each with its datetime', async () => {
    const links = headerLinks(await fetchMemento('20240401100000'));
    const one = (rel: string) => related(links, rel).map(({ uri, parameters }) => [uri, parameters.datetime]);
    assert.deepEqual(one('prev'), [[memento('20240301100000'), AT_MARCH]]);
    assert.deepEqual(one('next'), [[memento('20240501100000'), AT_MAY]]);
    assert.deepEqual(one('first'), one('prev'));
    assert.deepEqual(one('last'), one('next'));
  });

  await clause('a memento does not vary by Accept-Datetime and does not negotiate', async () => {
    const reply = await fetchMemento('20240301100000');
    assert.doesNotMatch(String(reply.headers.vary ?? ''), /accept-datetime/i);
    const asked = await ask(server.replayAddress, `/web/20240301100000mp_/${URL_R}`, {
      headers: { 'accept-datetime': AT_MAY },
    });
    assert.equal(asked.headers['memento-datetime'], AT_MARCH);
  });

  await clause('archived redirects and errors are also mementos', async () => {
    const found = await fetchMemento('20240401100000', 'http://www.example.test/old');
    assert.deepEqual([found.status, found.headers['memento-datetime']], [302, 'Mon, 01 Apr 2024 10:00:00 GMT']);
    assert.match(String(found.headers.location), /\/web\/20240401100000mp_\/http:\/\/www\.example\.test\/page$/);
    const error = await fetchMemento('20240401100000', 'http://www.example.test/gone');
    assert.deepEqual([error.status, error.headers['memento-datetime']], [404, 'Mon, 01 Apr 2024 10:00:00 GMT']);
  });

  await clause('the reply for a missing capture is not a memento', async () => {
    const reply = await fetchMemento('20240401100000', 'http://nothing.test/');
    assert.deepEqual([reply.status, reply.headers['memento-datetime']], [404, undefined]);
  });

  await clause('a time without a memento leads to the nearest memento', async () => {
    const reply = await fetchMemento('20240402000000');
    assert.equal(reply.status, 302);
    assert.equal(new URL(reply.headers.location!, replay).href, memento('20240401100000'));
    const plain = await ask(server.uiAddress, `/web/20240401100000/${URL_R}`);
    assert.deepEqual([plain.status, plain.headers.location], [307, memento('20240401100000')]);
    const part = await ask(server.uiAddress, `/web/202404/${URL_R}`);
    assert.deepEqual([part.status, part.headers.location], [302, memento('20240401100000')]);
  });

  await clause('a TimeMap lists every memento in link format', async () => {
    const reply = await ask(server.uiAddress, `/web/timemap/link/${URL_R}`);
    assert.deepEqual([reply.status, reply.headers['content-type']], [200, 'application/link-format']);
    assert.equal(
      reply.text,
      `<${URL_R}>; rel="original",\n` +
        `<${ui}/web/timemap/link/${URL_R}>; rel="self"; type="application/link-format"; from="${AT_MARCH}"; until="${AT_MAY}",\n` +
        `<${ui}/web/${URL_R}>; rel="timegate",\n` +
        `<${memento('20240301100000')}>; rel="first memento"; datetime="${AT_MARCH}",\n` +
        `<${memento('20240401100000')}>; rel="memento"; datetime="Mon, 01 Apr 2024 10:00:00 GMT",\n` +
        `<${memento('20240501100000')}>; rel="last memento"; datetime="${AT_MAY}"\n`,
    );
  });

  await clause('in a TimeMap of one memento it is both first and last', async () => {
    const links = linksOf((await ask(server.uiAddress, '/web/timemap/link/http://www.example.test/gone')).text);
    assert.deepEqual(
      related(links, 'memento').map(({ rel }) => rel),
      [['first', 'last', 'memento']],
    );
  });

  await clause('a TimeMap does not negotiate in datetime', async () => {
    const target = `/web/timemap/link/${URL_R}`;
    const reply = await ask(server.uiAddress, target, { headers: { 'accept-datetime': 'nonsense' } });
    assert.equal(reply.status, 200);
    assert.doesNotMatch(String(reply.headers.vary ?? ''), /accept-datetime/i);
  });

  await clause('a TimeMap of a resource without mementos returns 404', async () => {
    assert.equal((await ask(server.uiAddress, '/web/timemap/link/http://nothing.test/')).status, 404);
    assert.equal((await ask(server.uiAddress, '/web/timemap/klingon/http://nothing.test/')).status, 400);
  });

  await clause('TimeMaps are also available as JSON and CDXJ', async () => {
    const json = JSON.parse((await ask(server.uiAddress, `/web/timemap/json/${URL_R}`)).text);
    assert.equal(json.original_uri, URL_R);
    assert.deepEqual(
      json.mementos.list.map(({ uri }: { uri: string }) => uri),
      ['20240301100000', '20240401100000', '20240501100000'].map((stamp) => memento(stamp)),
    );
    assert.equal(json.mementos.first.datetime, '2024-03-01T10:00:00Z');
    const cdxj = (await ask(server.uiAddress, `/web/timemap/cdxj/${URL_R}`)).text.trimEnd().split('\n');
    assert.equal(cdxj[0], '!context ["http://tools.ietf.org/html/rfc7089"]');
    assert.deepEqual(
      cdxj.filter((line) => !line.startsWith('!')).map((line) => line.slice(0, 14)),
      ['20240301100000', '20240401100000', '20240501100000'],
    );
  });

  await clause('mementos of one second have different URIs', async () => {
    for (const count of [3, 60]) {
      const url = `http://quick.test/${count}`;
      for (let i = 0; i < count; i++)
        await archive.store(page(url, MARCH + i * 5, contentOf(`quick ${i} of ${count}`)));
      const links = related(linksOf((await ask(server.uiAddress, `/web/timemap/link/${url}`)).text), 'memento');
      const bodies: string[] = [];
      for (const { uri } of links) {
        const reply = await ask(server.replayAddress, uri.slice(replay.length));
        assert.deepEqual([reply.status, reply.headers['memento-datetime']], [200, AT_MARCH]);
        bodies.push(/quick \d+ of \d+/.exec(reply.text)![0]);
      }
      assert.deepEqual(
        bodies,
        Array.from({ length: count }, (_, i) => `quick ${i} of ${count}`),
      );
    }
  });

  await clause('a TimeGate redirects to exactly the requested URL among URLs with the same key', async () => {
    await archive.store(page('http://short.test/AbC', MARCH, contentOf('upper')));
    await archive.store(page('http://short.test/abc', MARCH + 60_000, contentOf('lower')));
    for (const path of ['AbC', 'abc']) {
      const reply = await ask(server.uiAddress, `/web/http://short.test/${path}`);
      assert.match(reply.headers.location!, new RegExp(`/${path}$`));
    }
  });

  await clause('a long TimeMap continues in further TimeMaps that it links to', async () => {
    const url = 'http://busy.test/';
    const body = contentOf('busy');
    await Promise.all(Array.from({ length: 5200 }, (_, i) => archive.store(page(url, MARCH + i * 1000, body))));
    const seen: string[] = [];
    let next: string | undefined = `${ui}/web/timemap/link/${url}`;
    let pages = 0;
    while (next !== undefined && pages < 5) {
      const links = linksOf((await ask(server.uiAddress, next.slice(ui.length))).text);
      assert.equal(related(links, 'self')[0]!.uri, next);
      seen.push(...related(links, 'memento').map(({ uri }) => uri));
      next = related(links, 'timemap')[0]?.uri;
      pages++;
    }
    assert.deepEqual([pages, seen.length, new Set(seen).size], [2, 5200, 5200]);
  });

  assert.deepEqual(failures, []);
  await t.test('docs/memento.md names exactly these tests', async () => {
    const text = await readFile(new URL('../../docs/memento.md', import.meta.url), 'utf8');
    const named = [...text.matchAll(/^\|[^|]*\|[^|]*\| (.*?) +\|$/gm)].map(([, name]) => name!);
    assert.deepEqual(named.filter((name) => name !== 'test' && !/^-+$/.test(name)).sort(), [...tests].sort());
  });
});
