import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { parseReplayPath, replayPath } from './replay-path.ts';

const NOON = Date.UTC(2024, 2, 1, 12);

const CAPTURES: readonly [path: string, time: string, modifier: string, url: string][] = [
  ['/web/20240301120000/https://example.org/', '2024-03-01T12:00:00.000Z', '', 'https://example.org/'],
  [
    '/web/20240301120000mp_/https://example.org/a?b=c&d',
    '2024-03-01T12:00:00.000Z',
    'mp_',
    'https://example.org/a?b=c&d',
  ],
  ['/web/2024id_/http://example.org', '2024-01-01T00:00:00.000Z', 'id_', 'http://example.org'],
  ['/web/20240/http://example.org/', '2024-01-01T00:00:00.000Z', '', 'http://example.org/'],
  ['/web/20240301120000250im_/http://example.org/', '2024-03-01T12:00:00.250Z', 'im_', 'http://example.org/'],
  ['/web/20240301120000/http:/example.org/a', '2024-03-01T12:00:00.000Z', '', 'http://example.org/a'],
  ['/web/20240301120000/example.org/a', '2024-03-01T12:00:00.000Z', '', 'http://example.org/a'],
  ['/web/20240301120000/HTTPS://example.org/a', '2024-03-01T12:00:00.000Z', '', 'https://example.org/a'],
  ['/web/20240301120000/http%3A%2F%2Fexample.org%2Fa', '2024-03-01T12:00:00.000Z', '', 'http://example.org/a'],
  ['/web/20240301120000fw_/http://example.org/%2e%41', '2024-03-01T12:00:00.000Z', 'if_', 'http://example.org/%2e%41'],
  ['/web/20240301120000/urn:x:y', '2024-03-01T12:00:00.000Z', '', 'urn:x:y'],
  ['/web/2/http://example.org/', '2999-01-01T00:00:00.000Z', '', 'http://example.org/'],
  ['/web/0/http://example.org/', '0000-01-01T00:00:00.000Z', '', 'http://example.org/'],
];

for (const [path, time, modifier, url] of CAPTURES) {
  test(`${path} is a capture`, () => {
    const parsed = parseReplayPath(path);
    assert.equal(parsed.kind, 'capture');
    if (parsed.kind !== 'capture') return;
    assert.deepEqual([new Date(parsed.time).toISOString(), parsed.modifier, parsed.url], [time, modifier, url]);
  });
}

test('a path without a time is the TimeGate', () => {
  assert.deepEqual(parseReplayPath('/web/https://example.org/x'), {
    kind: 'timegate',
    url: 'https://example.org/x',
    modifier: '',
  });
  assert.deepEqual(parseReplayPath('/web/id_/https://example.org/x'), {
    kind: 'timegate',
    url: 'https://example.org/x',
    modifier: 'id_',
  });
  assert.deepEqual(parseReplayPath('/web/example.org'), { kind: 'timegate', url: 'http://example.org', modifier: '' });
});

test('a star is a query for the captures of a URL, or of all URLs with that prefix', () => {
  assert.deepEqual(parseReplayPath('/web/*/https://example.org/x'), {
    kind: 'query',
    url: 'https://example.org/x',
    isPrefix: false,
  });
  assert.deepEqual(parseReplayPath('/web/*/example.org/x*'), {
    kind: 'query',
    url: 'http://example.org/x',
    isPrefix: true,
  });
  assert.deepEqual(parseReplayPath('/web/2023-2024*/example.org'), {
    kind: 'query',
    url: 'http://example.org',
    isPrefix: false,
    from: Date.UTC(2023, 0),
    to: Date.UTC(2025, 0) - 1,
  });
});

test('the path of a TimeMap has its format', () => {
  assert.deepEqual(parseReplayPath('/web/timemap/json/http://example.org/'), {
    kind: 'timemap',
    format: 'json',
    url: 'http://example.org/',
  });
  assert.deepEqual(parseReplayPath('/web/timemap/http://example.org/'), {
    kind: 'timemap',
    format: 'link',
    url: 'http://example.org/',
  });
});

for (const path of [
  '/',
  '/web/',
  '/web/20240301120000/',
  '/web/20240301120000/http://',
  '/web/20241332000000/http://example.org/',
  '/web/99999999999999999999/http://example.org/',
  '/web/2024xx_/http://example.org/',
  '/web/*/',
  `/web/2024/http://example.org/${'a'.repeat(40_000)}`,
]) {
  test(`${path.slice(0, 60)} is refused with a reason`, () => {
    const parsed = parseReplayPath(path);
    assert.equal(parsed.kind, 'bad');
    assert.ok(parsed.kind === 'bad' && parsed.problem.length > 5);
  });
}

test('any text is parsed without an error, and parsing a path returns the parts it was made of', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void parseReplayPath(`/web/${text}`)));
  fc.assert(
    fc.property(fc.webUrl({ withQueryParameters: true }), fc.constantFrom('', 'mp_', 'id_', 'im_'), (url, modifier) => {
      const parsed = parseReplayPath(replayPath(url, NOON, modifier as 'mp_'));
      assert.ok(
        parsed.kind === 'capture' && parsed.url === url && parsed.time === NOON && parsed.modifier === modifier,
      );
    }),
  );
});
