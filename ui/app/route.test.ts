import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  fullTimestamp,
  mayBeginAddress,
  parseRoute,
  pathTo,
  pathToTyped,
  type Route,
  replayAddress,
  withScheme,
} from './route.ts';

const at = (address: string): Route => parseRoute(new URL(address, 'http://localhost'));

test('every screen has an address, and the address leads back to the screen', () => {
  const screens: Route[] = [
    { kind: 'home' },
    { kind: 'captures', url: 'https://example.org/a?b=c&d=%20' },
    { kind: 'captures', url: 'http://example.org/what*' },
    { kind: 'prefix', prefix: 'http://example.org/a/' },
    { kind: 'frame', time: '20240301120000', modifier: '', url: 'http://example.org/?q=1#part' },
    { kind: 'frame', time: '20240301120000', modifier: 'if_', url: 'http://example.org/' },
    { kind: 'captures', url: 'https://a.example/../../x' },
    { kind: 'captures', url: 'https://a.example/b/%2E%2e/x*' },
    { kind: 'prefix', prefix: 'https://a.example/./b/../' },
    { kind: 'frame', time: '20240301120000', modifier: '', url: 'http://a.example/..?b=c#part' },
    { kind: 'compare', a: 'a/b', b: 'c&d' },
    { kind: 'collections' },
    { kind: 'collection', name: 'spring.2024' },
    { kind: 'jobs' },
    { kind: 'jobs', start: 'crawl' },
    { kind: 'job', id: '1-2' },
    { kind: 'delete', selection: { collection: 'a b' } },
    { kind: 'nodes' },
    { kind: 'takedowns' },
    { kind: 'help' },
    { kind: 'search', input: { query: 'a "b c" OR -d', sort: 'relevance', filters: {} } },
    { kind: 'search', input: { query: 'a', sort: 'date', filters: { site: 'example.org', year: '2024' } } },
    { kind: 'links', url: 'http://example.org/?a=b&c', direction: 'in' },
    { kind: 'links', url: 'http://example.org/', direction: 'out' },
  ];
  const pathOf = (route: Route): string => {
    switch (route.kind) {
      case 'captures':
        return pathTo.captures(route.url);
      case 'prefix':
        return pathTo.prefix(route.prefix);
      case 'frame':
        return pathTo.frame(route.time, route.url, route.modifier);
      case 'compare':
        return pathTo.compare(route.a, route.b);
      case 'collection':
        return pathTo.collection(route.name);
      case 'jobs':
        return pathTo.jobs(route.start);
      case 'job':
        return pathTo.job(route.id);
      case 'delete':
        return pathTo.delete(route.selection);
      case 'search':
        return pathTo.search(route.input);
      case 'links':
        return pathTo.links(route.url, route.direction);
      case 'missing':
        return route.path;
      default:
        return pathTo[route.kind]();
    }
  };
  for (const screen of screens) assert.deepEqual(at(pathOf(screen)), screen);
});

test('a path that does not belong to a screen is missing', () => {
  for (const path of ['/nowhere', '/jobs/a/b', '/web/', '/web/abc/http://example.org/', '/collections/a/b']) {
    assert.deepEqual(at(path), { kind: 'missing', path });
  }
});

test('a list of captures can open at a time', () => {
  const captures = (time: string) => ({ kind: 'captures', url: 'http://example.org/a?b', time });
  assert.deepEqual(at('/web/2020*/http://example.org/a?b'), captures('2020'));
  assert.deepEqual(at('/web/20200301-2021*/example.org/a?b'), captures('20200301'));
  assert.deepEqual(at('/web/-2021*/example.org/a?b'), captures('2021'));
  assert.deepEqual(at('/web/2020*/example.org/a*'), { kind: 'prefix', prefix: 'http://example.org/a' });
});

test('slashes that a proxy removed are restored, and a missing scheme is added', () => {
  assert.deepEqual(at('/web/*/http:/example.org/a'), { kind: 'captures', url: 'http://example.org/a' });
  assert.equal(withScheme('example.org'), 'http://example.org');
  assert.equal(withScheme('example.org:8080/a'), 'http://example.org:8080/a');
  assert.equal(withScheme('https:/example.org'), 'https://example.org');
  assert.equal(withScheme('urn:isbn:1'), 'urn:isbn:1');
});

test('a typed address leads to its captures and, with a star, to all addresses under it', () => {
  assert.equal(pathToTyped(' example.org/a '), '/web/*/http://example.org/a');
  assert.equal(pathToTyped('example.org/*'), '/web/*/http://example.org/*');
  assert.equal(pathToTyped('  '), undefined);
  assert.equal(pathToTyped('*'), undefined);
});

test('addresses are suggested while they are typed, also with a port, but not for queries', () => {
  for (const text of ['ex', 'http://ex', 'localhost:8080/a', 'example.org/a?b=c'])
    assert.ok(mayBeginAddress(text), text);
  for (const text of ['e', 'two words', '"quoted', 'site:example.org', 'title:'])
    assert.ok(!mayBeginAddress(text), text);
});

test('a typed address leads to captures, and every other text to a search', () => {
  const addresses = [
    'example.org',
    'www.example.org/a b'.replace(' ', '%20'),
    'example.org:8080/a',
    'localhost:8080',
    'localhost',
    '127.0.0.1/x',
    '[::1]:80/',
    '*.example.org',
    'b\u00fccher.example/seite',
    'https://intranet/page',
    'https:/example.org',
    'intranet/page',
    'urn:isbn:1',
    'example.org/*',
    'example.org?q=site:a',
  ];
  for (const text of addresses) assert.ok(pathToTyped(text)!.startsWith('/web/*/'), text);
  const queries = [
    'flood',
    'flood warning',
    '"example.org"',
    'site:example.org',
    '-site:example.org',
    'url:http://example.org/',
    'links-to:http://example.org/',
    'archiv*',
    'size>1.5MB',
    'title:flood',
    'http status',
    '\u56f3\u66f8\u9928',
    'from:2010',
    '3.14159e',
  ];
  for (const text of queries) assert.equal(pathToTyped(text), pathTo.search({ query: text }), text);
});

test('no archived address leads out of /web/', () => {
  for (const url of ['javascript:alert(1)', '//evil.example/', 'http://a/"><script>', 'data:text/html,x']) {
    for (const path of [pathTo.captures(url), pathTo.frame('20240101000000', url), pathTo.prefix(url)]) {
      assert.ok(path.startsWith('/web/'), path);
      assert.doesNotMatch(path, /["<>\s]/);
    }
  }
});

test('a time with milliseconds is cut to seconds', () => {
  const route = { kind: 'frame', time: '20240301120000', modifier: '', url: 'http://example.org/' };
  assert.deepEqual(at('/web/20240301120000123/http://example.org/'), route);
  assert.deepEqual(at('/web/20240301120000123if_/http://example.org/'), { ...route, modifier: 'if_' });
  assert.equal(at('/web/202403011200001234/http://example.org/').kind, 'missing');
});

test('an archived address with dot segments is escaped, so that browsers do not resolve them', () => {
  const address = replayAddress('http://localhost:8081', '20240301120000', 'https://a.example/../x?y#z');
  assert.equal(new URL(address).href, address);
  assert.match(address, /a\.example%2F\.\.%2Fx%3Fy#z$/);
  const plain = replayAddress('http://localhost:8081', '20240301120000', 'https://a.example/x?../y');
  assert.equal(plain, 'http://localhost:8081/web/20240301120000mp_/https://a.example/x?../y');
});

test('a partial time means the beginning of the year, month or day', () => {
  assert.equal(fullTimestamp('2024'), '20240101000000');
  assert.equal(fullTimestamp('202403'), '20240301000000');
  assert.equal(fullTimestamp('20240305101112'), '20240305101112');
});
