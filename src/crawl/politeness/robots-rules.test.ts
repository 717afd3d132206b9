import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { utf8 } from '../../base/index.ts';
import { RobotsRules } from './robots-rules.ts';

const rulesOf = (text: string, token = 'pinakes') => RobotsRules.parse(utf8(text), token);
const allows = (rules: RobotsRules, path: string) => rules.isAllowed(`http://a.test${path}`);

test('the groups that name the crawler are merged and take precedence over the others', () => {
  const rules = rulesOf(
    'User-agent: *\nDisallow: /\n\nUser-agent: Pinakes/2.0\nDisallow: /a\n\nuser-agent: other\nuser-agent: pinakes\nDisallow: /b',
  );
  assert.deepEqual(
    ['/a', '/b', '/c'].map((path) => allows(rules, path)),
    [false, false, true],
  );
  assert.equal(allows(rulesOf('User-agent: *\nDisallow: /x'), '/x'), false);
  assert.equal(allows(rulesOf('User-agent: other\nDisallow: /x'), '/x'), true);
});

test('the longest pattern decides, and an allowing pattern wins over a forbidding one of the same length', () => {
  const rules = rulesOf(
    'User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c$\nAllow: /t\nDisallow: /t\nDisallow: /*.gif$',
  );
  const judged = ['/a', '/a/b', '/a/b/c', '/a/b/cd', '/t', '/x/y.gif', '/x/y.gif?z'].map((path) => allows(rules, path));
  assert.deepEqual(judged, [false, true, false, true, true, false, true]);
});

test('escapes are compared in one form', () => {
  const rules = rulesOf('User-agent: *\nDisallow: /caf\u00e9\nDisallow: /%7ejoe\nDisallow: /a%2fb');
  const judged = ['/caf%C3%A9', '/~joe', '/a%2Fb', '/a/b'].map((path) => allows(rules, path));
  assert.deepEqual(judged, [false, false, false, true]);
});

test('sitemaps and delays are read, and robots.txt itself may always be fetched', () => {
  const rules = rulesOf('User-agent: *\nCrawl-delay: 2.5\nDisallow: /\nSitemap: /map.xml');
  assert.equal(allows(rules, '/robots.txt'), true);
  assert.equal(rules.crawlDelayMs, 2500);
  assert.deepEqual(rules.sitemaps, ['/map.xml']);
  const delays = ['.5', '3', '1e9', '-1', 'soon', '10 # s'].map(
    (delay) => rulesOf(`User-agent: *\nCrawl-delay: ${delay}`).crawlDelayMs,
  );
  assert.deepEqual(delays, [500, 3000, 1000, undefined, undefined, 10_000]);
});

test('every possible file is parsed in little time and without an error', () => {
  const hostile = `User-agent: *\n${`Disallow: ${'*a'.repeat(5000)}$\n`.repeat(20)}`;
  allows(rulesOf(hostile), `/${'a'.repeat(2000)}b`);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.webPath(), (bytes, path) => {
      RobotsRules.parse(bytes, 'pinakes').isAllowed(`http://a.test${path}`);
    }),
  );
});

test('thousands of patterns are matched against a long path; if nearly all almost match, it is forbidden', () => {
  const fileOf = (pattern: (number: string) => string) =>
    `User-agent: *\n${Array.from({ length: 20_000 }, (_, at) => `Disallow: ${pattern(String(at))}\n`).join('')}Allow: *c\n`;
  const filler = 'b'.repeat(1900);
  const meant = rulesOf(fileOf((number) => `/*?id=${number}&`));
  assert.deepEqual(
    ['', '&id=7&', 'id=7', 'id=7&', 'id=19999&c', 'id=20000&'].map((end) => allows(meant, `/${filler}?${end}`)),
    [true, true, true, false, false, true],
  );
  // The path contains every three octets in a row of these patterns, but no four in a row.
  const hostile = rulesOf(fileOf((number) => `*abcd*${number}`));
  assert.deepEqual(
    ['/abcbcd/19999', '/abcd/19999', `/abcbcd/0123456789${filler}`].map((path) => allows(hostile, path)),
    [true, false, false],
  );
});
