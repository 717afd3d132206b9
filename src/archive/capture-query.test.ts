import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PinakesError } from '../base/index.ts';
import { urlKey } from '../url/index.ts';
import { askedQuery, parseCaptureQuery, type QueriedFacts } from './capture-query.ts';

const NAMES = { collection: (name: string) => ({ main: 1, news: 2 })[name] };

const FACTS: QueriedFacts = {
  urlKey: urlKey('http://www.math.example.edu/papers/one.html?v=2'),
  time: Date.UTC(2020, 5, 15, 12),
  kind: 'response',
  collection: 1,
  status: 200,
  mime: 'text/html',
  size: 5000,
};

const met = (query: string, facts: Partial<QueriedFacts> = {}) =>
  parseCaptureQuery(query, NAMES).isMet({ ...FACTS, ...facts });

test('a capture matches a query when it matches all of its fields', () => {
  assert.ok(met('status:200 type:text/html site:.edu from:2020 size>1000'));
  assert.ok(!met('status:200 type:text/html site:.edu from:2021 size>1000'));
  assert.ok(met('status:200 -status:404'));
  assert.ok(!met('-site:example.edu'));
});

test('a site is a host with all hosts below it, or the end of a host after a dot', () => {
  for (const site of ['example.edu', 'math.example.edu', '.edu', 'edu', '*.example.edu', 'EXAMPLE.edu.'])
    assert.ok(met(`site:${site}`), site);
  for (const site of ['ample.edu', 'example.ed', 'papers.math.example.edu', 'example.org'])
    assert.ok(!met(`site:${site}`), site);
});

test('a URL selects itself, or everything that begins with it', () => {
  assert.ok(met('url:http://math.example.edu/papers/one.html?v=2'));
  assert.ok(met('url:math.example.edu/papers/*'));
  assert.ok(met('url:"http://www.math.example.edu/papers/one.html?v=2"'));
  assert.ok(!met('url:math.example.edu/papers/one.html'));
});

test('several sites select the captures of any of them, each once and in the order of their keys', () => {
  assert.ok(met('site:example.org,example.edu'));
  assert.ok(met('site:example.org,.edu type:text/html'));
  assert.ok(!met('site:example.org,example.net'));
  assert.ok(!met('-site:example.org,example.edu'));
  const { ranges } = parseCaptureQuery('site:math.example.edu,zoo.example,example.edu,zoo.example', NAMES);
  assert.deepEqual(
    ranges,
    [...ranges!].sort((a, b) => (a.from < b.from ? -1 : 1)),
  );
  for (const url of [
    'http://example.edu/',
    'http://math.example.edu/a',
    'http://zoo.example:8080/',
    'http://a.zoo.example/',
  ])
    assert.equal(ranges!.filter(({ from, to }) => from <= urlKey(url) && urlKey(url) < to).length, 1, url);
});

test('types, statuses, kinds and collections take several values', () => {
  assert.ok(met('type:image/png,text/*'));
  assert.ok(met('type:html') && met('type:pdf,HTML') && !met('-type:html') && !met('type:text'));
  assert.ok(met('type:html', { mime: 'application/xhtml+xml' }) && met('type:image', { mime: 'image/png' }));
  assert.ok(met('type:TEXT/HTML'));
  assert.ok(!met('type:text/htm'));
  assert.ok(met('status:404,2xx'));
  assert.ok(!met('status:3xx,404'));
  assert.ok(met('kind:response,revisit collection:news,main'));
  assert.ok(!met('-kind:response'));
});

test('`from` begins with the first moment of a time, and `to` ends with its last', () => {
  assert.ok(met('from:2020 to:2020'));
  assert.ok(met('from:2020-06-15 to:20200615'));
  assert.ok(met('from:2020-06-15T12:00:00Z to:2020-06-15T12:00:00Z'));
  assert.ok(!met('to:2020-05'));
  assert.ok(!met('from:2020-06-15T12:00:01Z'));
});

test('conditions on size compare sizes, and a capture without a size matches none of them', () => {
  assert.ok(met('size>4.9kB size<0.01MB size>=5000 size<=5k size:5000 size=5000'));
  assert.ok(!met('size>5000'));
  assert.ok(met('-size>5000'));
  assert.ok(!met('size>0', { size: undefined }));
  assert.ok(!met('-size>0', { size: undefined }));
  const query = parseCaptureQuery('size>9999 status:200', NAMES);
  assert.ok(query.asksForSize);
  assert.ok(query.isMet(FACTS, false), 'may match while the size is not known');
});

test('a query that names a site or a URL is bounded by ranges, unless the name is negated', () => {
  assert.equal(parseCaptureQuery('status:200 -site:example.org', NAMES).ranges, undefined);
  assert.ok(parseCaptureQuery('status:200 site:example.org', NAMES).ranges!.length > 0);
});

test('an invalid query is refused, with the place marked', () => {
  const refused: [string, string, RegExp][] = [
    ['status:200 statsu:1', 'status:200 \u00bbstatsu\u00ab:1', /no field/],
    ['status:abc', 'status:\u00bbabc\u00ab', /4xx/],
    ['site:a.org,', 'site:\u00bba.org,\u00ab', /a site is/],
    ['type:text/html words', 'type:text/html \u00bbwords\u00ab', /pinakes search/],
    ['type:htm', 'type:\u00bbhtm\u00ab', /html, pdf/],
    ['from:yesterday', 'from:\u00bbyesterday\u00ab', /a time is/],
    ['collection:gone', 'collection:\u00bbgone\u00ab', /no collection gone/],
    ['kind:page', 'kind:\u00bbpage\u00ab', /a kind is/],
    ['size>many', 'size>\u00bbmany\u00ab', /a size is/],
    ['status>200', '\u00bbstatus>\u00ab200', /colon/],
    ['status:', '\u00bbstatus:\u00ab', /value is missing/],
    ['url:"http://a.example', '\u00bburl:"http://a.example\u00ab', /quotation mark/],
    ['site:a/b', 'site:\u00bba/b\u00ab', /a site is/],
    ['   ', '\u00bb \u00ab  ', /is empty/],
    ['x'.repeat(5000), `${'x'.repeat(4000)}\u00bbx\u00ab${'x'.repeat(999)}`, /at most/],
  ];
  for (const [query, where, says] of refused)
    assert.throws(
      () => parseCaptureQuery(query, NAMES),
      (error: PinakesError) => error.code === 'BAD_QUERY' && error.where === where && says.test(error.message),
      query.slice(0, 60),
    );
});

test('a single status or media type means the same as in a query, and must match together with a query', () => {
  const met = (asked: Parameters<typeof askedQuery>[0], facts: Partial<QueriedFacts>) =>
    askedQuery(asked, NAMES)!.isMet({ ...FACTS, ...facts });
  assert.ok(met({ status: '4xx' }, { status: 404 }) && !met({ status: '4xx' }, { status: 500 }));
  assert.ok(met({ status: '404,5XX' }, { status: 503 }) && met({ status: '404' }, { status: 404 }));
  assert.ok(met({ mime: 'image/*' }, { mime: 'image/png' }) && !met({ mime: 'IMAGE/PNG' }, { mime: 'image/gif' }));
  const both = { query: 'status:200', mime: 'text/html,text/plain' };
  assert.ok(met(both, { status: 200, mime: 'text/plain' }) && !met(both, { status: 404, mime: 'text/plain' }));
  assert.equal(askedQuery(both, NAMES)!.text, 'status:200 type:text/html,text/plain');
  assert.equal(askedQuery({}, NAMES), undefined);
});

test('a status or a media type that no capture can have is refused as an argument', () => {
  const words = {
    status: ['', 'abc', '4x', '0xx', '-1', '2000', '200 ', '200,', '4xx size>1'],
    mime: ['', 'html', '*/*', 'a/b c', 'image/', '"a/b"'],
  };
  for (const [name, values] of Object.entries(words))
    for (const value of values)
      assert.throws(() => askedQuery({ [name]: value }, NAMES), { code: 'BAD_ARGUMENT', where: `${name} ${value}` });
});
