import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import type { CdxEntry, JsonValue } from './cdx-entry.ts';
import type { IndexFindingCode } from './cdx-finding.ts';
import { formatCdxjLine, formatJson, parseCdxjLine } from './cdxj.ts';

const refuse = (code: IndexFindingCode, detail?: string) => assert.fail(`${code}: ${detail}`);

const LINE =
  'test,example)/a 20240301100000 {"url": "http://www.example.test/a", "mime": "text/html", "status": "200", ' +
  '"digest": "sha1:SPY26MJKW5H7YED73KP4SKZ3QEA5BN4S", "length": "409", "offset": "202", "filename": "demo.warc.gz"}';

test('a line as cdxj-indexer writes it is read and written again byte for byte', () => {
  const entry = parseCdxjLine(LINE, refuse)!;
  assert.equal(entry.length, 409);
  assert.equal(entry.offset, 202);
  assert.equal(formatCdxjLine(entry), LINE);
});

test('an object may be nested a few levels; a line with a deeper object is left out', () => {
  const line = (depth: number, key: string) =>
    `test,example)/ 20240301100000 {"url": "http://example.test/", "${key}": ${'['.repeat(depth)}${']'.repeat(depth)}}`;
  assert.equal(formatCdxjLine(parseCdxjLine(line(50, 'more'), refuse)!), line(50, 'more'));
  for (const key of ['more', 'mime']) {
    const codes: string[] = [];
    assert.equal(
      parseCdxjLine(line(300_000, key), (code) => codes.push(code)),
      undefined,
    );
    assert.deepEqual(codes, ['cdxj-json']);
  }
});

test('numbers without quotes, other spacing and other key orders are read the same', () => {
  const compact =
    'test,example)/a 20240301100000 {"offset":202,"length":409,"filename":"demo.warc.gz","status":200,"mime":"text/html",' +
    '"digest":"sha1:SPY26MJKW5H7YED73KP4SKZ3QEA5BN4S","url":"http://www.example.test/a"}';
  assert.deepEqual(parseCdxjLine(compact, refuse), parseCdxjLine(LINE, refuse));
});

test('other keys are kept in their order, whatever their values are', () => {
  const line = LINE.replace('}', ', "requestBody": "a=1&b=2", "method": "POST", "n": [1, {"x": null}]}');
  const entry = parseCdxjLine(line, refuse)!;
  assert.deepEqual(entry.extra, [
    ['requestBody', 'a=1&b=2'],
    ['method', 'POST'],
    ['n', [1, { x: null }]],
  ]);
  assert.equal(formatCdxjLine(entry), line);
});

test('text beyond ASCII is escaped as Python escapes it', () => {
  assert.equal(formatJson('é💡\x7f"\\\n\u2028'), String.raw`"\u00e9\ud83d\udca1\u007f\"\\\n\u2028"`);
  const entry = { ...parseCdxjLine(LINE, refuse)!, url: 'http://a/é' };
  assert.match(formatCdxjLine(entry), /"url": "http:\/\/a\/\\u00e9"/);
  assert.equal(parseCdxjLine(formatCdxjLine(entry), refuse)!.url, 'http://a/é');
});

test('the OpenWayback and InterPlanetary Wayback dialects are understood', () => {
  const openWayback = parseCdxjLine(
    '(com,adobe,)/favicon.ico 2007-08-21T13:31:36 response {"ref":"warcfile:IAH.arc.gz#1977239","hsc":200,"digest":"UV6T",' +
      '"rle":681,"uri":"http://www.adobe.com/favicon.ico","mct":"image/x-icon","ple":1150}',
    refuse,
  )!;
  assert.equal(openWayback.timestamp, '20070821133136');
  assert.equal(openWayback.url, 'http://www.adobe.com/favicon.ico');
  assert.equal(openWayback.filename, 'IAH.arc.gz');
  assert.equal(openWayback.offset, 1977239);
  assert.equal(openWayback.length, 681);
  assert.deepEqual(openWayback.extra, [['ple', 1150]]);
  const ipwb = parseCdxjLine(
    'com,x)/ 20170301192639 {"locator": "urn:ipfs/a/b", "original_uri": "http://x.com/", "mime_type": "image/png", "status_code": "200"}',
    refuse,
  )!;
  assert.deepEqual(
    [ipwb.url, ipwb.mime, ipwb.status, ipwb.extra],
    ['http://x.com/', 'image/png', '200', [['locator', 'urn:ipfs/a/b']]],
  );
});

test('lines that cannot be used are reported with the reason', () => {
  const codes: string[] = [];
  const read = (line: string) => parseCdxjLine(line, (code) => codes.push(code));
  assert.equal(read('not cdxj'), undefined);
  assert.equal(read('key 20240301100000 {"url": "x"'), undefined);
  assert.equal(read('key 20240301100000 ["url"]'), undefined);
  assert.equal(read('key 20240301100000 x"url": "y"}'), undefined);
  assert.equal(read('key someday {"url": "x"}'), undefined);
  assert.deepEqual(codes, ['cdxj-parts', 'cdxj-json', 'cdxj-json', 'cdxj-json', 'cdx-timestamp-invalid']);
});

test('an invalid value is reported and kept', () => {
  const codes: string[] = [];
  const line = 'key 20240301100000 {"url": "x", "offset": "far", "status": null}';
  const entry = parseCdxjLine(line, (code) => codes.push(code))!;
  assert.deepEqual(codes, ['cdxj-value']);
  assert.equal(entry.offset, undefined);
  assert.deepEqual(entry.extra, [['offset', 'far']]);
});

const text = fc.string({ unit: 'binary', maxLength: 30 });
const optional = fc.option(text, { nil: undefined });
const count = fc.option(fc.nat(Number.MAX_SAFE_INTEGER), { nil: undefined });
const value: fc.Arbitrary<JsonValue> = fc
  .jsonValue({ maxDepth: 2 })
  .map((json) => JSON.parse(JSON.stringify(json)) as JsonValue);
// JavaScript would move a key that looks like an array index to the front.
const key = fc.stringMatching(/^x[ -~]{0,10}$/);

const entries: fc.Arbitrary<CdxEntry> = fc.record(
  {
    urlKey: fc.stringMatching(/^[!-z]{1,30}$/),
    timestamp: fc.oneof(fc.stringMatching(/^[0-9]{14}$/), fc.stringMatching(/^[0-9]{17}$/)),
    url: text,
    mime: optional,
    status: optional,
    digest: optional,
    redirect: optional,
    robotFlags: optional,
    length: count,
    offset: count,
    filename: optional,
    extra: fc.uniqueArray(fc.tuple(key, value), { selector: ([name]) => name, maxLength: 4 }),
  },
  { noNullPrototype: true },
);

test('every entry is the same after writing and reading', () => {
  fc.assert(
    fc.property(entries, (entry) => {
      const line = formatCdxjLine(entry);
      assert.match(line, /^[ -~]+$/);
      assert.deepEqual(parseCdxjLine(line, refuse), entry);
    }),
  );
});

test('the fast path and the JSON parser give the same entries', () => {
  fc.assert(
    fc.property(entries, (entry) => {
      // The escaped letter makes the fast path leave the line to the JSON parser.
      const plain = { ...entry, url: 'http://a/', extra: [['note', 'A'] as const] };
      const line = formatCdxjLine(plain);
      assert.deepEqual(parseCdxjLine(line.replace('"A"', String.raw`"\u0041"`), refuse), parseCdxjLine(line, refuse));
    }),
  );
});

const corpora = fileURLToPath(new URL('../../../../shared/corpora/', import.meta.url));
const indexer = spawnSync('cdxj-indexer', ['--help']);
const skip =
  (!existsSync(corpora) && 'shared corpora absent') || (indexer.status !== 0 && 'cdxj-indexer is not installed');

test('all lines that cdxj-indexer writes for the corpora are read and written again byte for byte', { skip }, () => {
  let lines = 0;
  for (const folder of ['warc-valid', 'warc-revisit', 'warc-post', 'warc-http-bodies']) {
    const { stdout } = spawnSync('cdxj-indexer', ['-p', '-d', `${corpora}${folder}`], { maxBuffer: 2 ** 28 });
    for (const line of stdout.toString().split('\n')) {
      if (line === '') continue;
      lines++;
      const entry = parseCdxjLine(line, refuse)!;
      assert.equal(formatCdxjLine(entry), line);
    }
  }
  assert.ok(lines > 100, `${lines} lines`);
});
