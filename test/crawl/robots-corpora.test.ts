/** robots.txt files of public corpora are answered as expected. Differences are listed, each with its reason. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RobotsRules } from '../../src/crawl/index.ts';

const CORPORA = fileURLToPath(new URL('../../../shared/corpora/robots/', import.meta.url));
const SPECIFICATION = join(CORPORA, 'google+robotstxt-spec-test');
const COMMONS = join(CORPORA, 'crawler-commons+crawler-commons');
const REAL = join(CORPORA, 'scrapy+protego');
const missing = (path: string) => ({ skip: existsSync(path) ? false : 'the corpus is not there' });

type Expectation = { testurl: string; useragent: string; expected_outcome: string };
type Case = { robotstxt: string; expectations: Expectation[] };

const TOKEN = /#[^\n]*|"((?:[^"\\]|\\.)*)"|([a-z_]+)\s*:|([A-Z_]+)|[[\]{},]/g;

/** Reads the text form of protocol buffers, as far as these files need it. Strings are octets. */
function casesOf(text: string): Case[] {
  const cases: Case[] = [];
  let name = '';
  let expectation: Record<string, string> | undefined;
  for (const [token, quoted, field, constant] of text.matchAll(TOKEN)) {
    if (token.startsWith('#')) continue;
    if (field !== undefined) {
      name = field;
      if (name === 'robotstxt') cases.push({ robotstxt: '', expectations: [] });
      if (name === 'testurl') {
        expectation = { testurl: '', useragent: '', expected_outcome: '' };
        cases.at(-1)!.expectations.push(expectation as Expectation);
      }
    } else if (quoted !== undefined) {
      if (name === 'robotstxt') cases.at(-1)!.robotstxt += unescaped(quoted);
      else if (expectation && name in expectation) expectation[name] += unescaped(quoted);
    } else if (constant !== undefined && expectation && name === 'expected_outcome') expectation[name] = constant;
  }
  return cases;
}

function unescaped(text: string): string {
  return text.replace(/\\(x[0-9a-fA-F]{2}|[0-7]{3}|.)/g, (_, code: string) => {
    if (code.startsWith('x')) return String.fromCharCode(Number.parseInt(code.slice(1), 16));
    if (/^[0-7]{3}$/.test(code)) return String.fromCharCode(Number.parseInt(code, 8));
    return { n: '\n', r: '\r', t: '\t' }[code] ?? code;
  });
}

const DIFFERENCES: readonly { readonly file: RegExp; readonly url: RegExp; readonly reason: string }[] = [
  {
    file: /index-page/,
    url: /allowed-slash\/$/,
    reason: 'an extension of one crawler: /index.html allows its directory; RFC 9309 has no such rule',
  },
  {
    file: /non-ascii/,
    url: /[^\x00-\x7f]/,
    reason: 'the test leaves escaping to the caller; RFC 9309, 2.2.2 has it done before comparing, as here',
  },
  {
    file: /non-ascii/,
    url: /bar\/baz$/,
    reason: 'RFC 9309, 2.2.2 lists %62%61%7A and baz as equal; the test is older than the standard',
  },
];

test('the public specification tests for robots.txt are answered as expected', missing(SPECIFICATION), (t) => {
  let agreed = 0;
  const differing: string[] = [];
  for (const file of readdirSync(SPECIFICATION)
    .filter((name) => name.endsWith('.textproto'))
    .sort()) {
    for (const { robotstxt, expectations } of casesOf(readFileSync(join(SPECIFICATION, file), 'latin1'))) {
      for (const { testurl, useragent, expected_outcome } of expectations) {
        const rules = RobotsRules.parse(Buffer.from(robotstxt, 'latin1'), useragent);
        const url = Buffer.from(testurl, 'latin1').toString();
        if (rules.isAllowed(url) === (expected_outcome === 'ALLOWED')) agreed++;
        else {
          const reason = DIFFERENCES.find((known) => known.file.test(file) && known.url.test(url))?.reason;
          assert.ok(
            reason,
            `${file}: ${url} for ${useragent} should be ${expected_outcome} by ${JSON.stringify(robotstxt)}`,
          );
          differing.push(`${file}: ${url}: ${reason}`);
        }
      }
    }
  }
  for (const line of differing) t.diagnostic(line);
  assert.equal(differing.length, 4);
  assert.ok(agreed >= 140, `${agreed} agreed`);
});

const COMMONS_CASES: readonly (readonly [file: string, agent: string, path: string, allowed: boolean])[] = [
  ['rfc9309-example-simple-robots.txt', 'foobot', '/example/page.html', true],
  ['rfc9309-example-simple-robots.txt', 'foobot', '/example/allowed.gif', true],
  ['rfc9309-example-simple-robots.txt', 'foobot', '/a', false],
  ['rfc9309-example-simple-robots.txt', 'barbot', '/example/page.html', false],
  ['rfc9309-example-longest-match-robots.txt', 'foobot', '/example/page/disallowed.gif', false],
  ['rfc9309-example-longest-match-robots.txt', 'foobot', '/example/page/', true],
  ['rfc9309-example-rule-group-merging.txt', 'examplebot', '/foo', false],
  ['rfc9309-example-rule-group-merging.txt', 'examplebot', '/baz', false],
  ['robots-with-utf8-bom.txt', 'foobot', '/profile', false],
  ['robots-with-utf16le-bom.txt', 'foobot', '/profile', false],
  ['robots-with-utf16be-bom.txt', 'foobot', '/profile', false],
  ['robots-with-utf16le-bom.txt', 'foobot', '/allowed', true],
  ['format-errors-robots.txt', 'bot1', '/whitespace-before-colon/', false],
  ['format-errors-robots.txt', 'bot1', '/no-colon/', false],
  ['format-errors-robots.txt', 'bot2', '/no-colon-useragent/', false],
  ['format-errors-robots.txt', 'bot3', '/whitespace-before-colon', true],
  ['format-errors-robots.txt', 'bot3', '/other', false],
  ['directive-typos-robots.txt', 'bot1', '/desallow/', false],
  ['directive-typos-robots.txt', 'bot1', '/dissalow/', false],
  ['directive-typos-robots.txt', 'bot2', '/useragent/', false],
  ['malformed-path.txt', 'anybot', '/wiki/Wikipedia_talk:Mediation_Committee/', false],
];

test("files of another crawler's tests are read as their comments say", missing(COMMONS), () => {
  for (const [file, agent, path, allowed] of COMMONS_CASES) {
    const rules = RobotsRules.parse(readFileSync(join(COMMONS, `robots__${file}`)), agent);
    assert.equal(rules.isAllowed(`http://example.com${path}`), allowed, `${file} ${agent} ${path}`);
  }
  const delays = (agent: string) =>
    RobotsRules.parse(readFileSync(join(COMMONS, 'robots__crawl-delay-group-merging.txt')), agent);
  assert.equal(delays('mybot').crawlDelayMs, 10_000);
  assert.equal(delays('mybot').isAllowed('http://example.com/private/'), false);
  assert.equal(delays('anybot').crawlDelayMs, 30_000);
  assert.equal(delays('anybot').isAllowed('http://example.com/private/'), true);
});

test('robots.txt files of real sites are read without errors', missing(REAL), () => {
  for (const file of readdirSync(REAL)) {
    const bytes = readFileSync(join(REAL, file));
    for (const agent of ['pinakes', 'Googlebot']) {
      const rules = RobotsRules.parse(bytes, agent);
      assert.equal(rules.isAllowed(`https://${file}/robots.txt`), true, file);
      const forbidsAll = /^user-agent:\s*\*\s*\r?\n\s*disallow:\s*\/\s*$/im.test(bytes.toString('latin1'));
      if (!forbidsAll) rules.isAllowed(`https://${file}/`);
    }
  }
});
