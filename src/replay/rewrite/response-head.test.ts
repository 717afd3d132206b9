import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HttpHead, parseHttpHead } from '../../warc/index.ts';
import { LinkRewriter } from './link-rewriter.ts';
import { originalFields, originalLinks, safeValue } from './response-head.ts';

const TIME = Date.UTC(2024, 2, 1, 10);
const LINKS = new LinkRewriter('http://example.org/blog/', TIME);

function headOf(...fields: string[]): HttpHead {
  return parseHttpHead(Buffer.from(['HTTP/1.1 200 OK', ...fields, '', ''].join('\r\n'), 'latin1'));
}

function fieldsOf(...fields: string[]): [string, string][] {
  return originalFields(headOf(...fields), LINKS, 'mp_');
}

test('fields that control the browser are kept under another name', () => {
  for (const field of [
    'Set-Cookie: a=1',
    'Content-Security-Policy: default-src *',
    'Strict-Transport-Security: max-age=1',
    'Clear-Site-Data: "*"',
    'Access-Control-Allow-Origin: *',
    'Service-Worker-Allowed: /',
    'Content-Encoding: gzip',
    'Content-Length: 10',
    'Link: </a>; rel=preload',
    'X-Frame-Options: DENY',
  ]) {
    const [name, value] = field.split(': ') as [string, string];
    assert.deepEqual(fieldsOf(field), [[`X-Archive-Orig-${name}`, value]]);
  }
});

test('harmless fields act as they are', () => {
  const fields: [string, string][] = [
    ['Content-Language', 'de'],
    ['content-disposition', 'attachment; filename="a.zip"'],
  ];
  assert.deepEqual(fieldsOf(...fields.map((field) => field.join(': '))), fields);
});

test('a redirection leads into the archive with the modifier of the request', () => {
  const expected = [['Location', '/web/20240301100000if_/http://example.org/next']];
  for (const location of ['/next', 'http://example.org/next', ' ../next ', '//example.org/next'])
    assert.deepEqual(originalFields(headOf(`Location: ${location}`), LINKS, 'if_'), expected);
});

test('a Location that the archive cannot have is dropped', () => {
  for (const location of ['mailto:a@example.org', 'javascript:alert(1)', 'data:text/html,a', ''])
    assert.deepEqual(fieldsOf(`Location: ${location}`), []);
});

test('a Location in Latin-1 keeps its bytes, escaped', () => {
  const [[, location] = []] = fieldsOf('Location: /caf\u00e9');
  assert.equal(location, '/web/20240301100000mp_/http://example.org/caf%E9');
});

test('a refresh leads into the archive', () => {
  assert.deepEqual(fieldsOf('Refresh: 5; url=/next'), [
    ['Refresh', '5; url=/web/20240301100000mp_/http://example.org/next'],
  ]);
});

test('the media type is left to rewriting', () => {
  assert.deepEqual(fieldsOf('Content-Type: text/html'), []);
});

test('a field whose name is not a token is dropped', () => {
  assert.deepEqual(fieldsOf('Bad Name: 1', 'B\u00e4d: 1', `${'a'.repeat(129)}: 1`), []);
});

test('a long head is cut off, because clients refuse it', () => {
  const fields = fieldsOf(...Array.from({ length: 100 }, (_, at) => `X-${at}: ${'v'.repeat(1000)}`));
  const characters = fields.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
  assert.ok(fields.length > 0 && characters <= 6 * 1024);
});

test('without a head there are no fields and no links', () => {
  assert.deepEqual(originalFields(undefined, LINKS, 'mp_'), []);
  assert.deepEqual(originalLinks(undefined, LINKS), []);
});

test('links that load something for the page lead into the archive, each by its own modifier', () => {
  const cases: [link: string, modifier: string][] = [
    ['rel=stylesheet', 'cs_'],
    ['rel="modulepreload"', 'esm_'],
    ['rel=preload; as=style', 'cs_'],
    ['rel=preload; as=script', 'js_'],
    ['rel=preload; as="image"', 'im_'],
    ['rel=preload; as=font; crossorigin', 'oe_'],
  ];
  for (const [parameters, modifier] of cases) {
    const target = `</web/20240301100000${modifier}/http://example.org/blog/a>`;
    assert.deepEqual(originalLinks(headOf(`Link: <a>; ${parameters}`), LINKS), [`${target}; ${parameters}`]);
  }
});

test('one field may have several links', () => {
  const head = headOf('Link: <a.css>; rel=stylesheet, <b>; rel=next, </c.js>;rel=preload;as=script');
  assert.deepEqual(originalLinks(head, LINKS), [
    '</web/20240301100000cs_/http://example.org/blog/a.css>; rel=stylesheet',
    '</web/20240301100000js_/http://example.org/c.js>;rel=preload;as=script',
  ]);
});

test('other links are dropped, so that none leads out of the archive or names mementos of another one', () => {
  for (const relation of ['next', 'preconnect', 'dns-prefetch', 'timegate', 'memento', 'canonical'])
    assert.deepEqual(originalLinks(headOf(`Link: <https://other.example/>; rel=${relation}`), LINKS), []);
});

test('a preloading link loses its checksum, because the file may be rewritten', () => {
  const head = headOf('Link: <a.js>; rel=preload; as=script; integrity="sha256-abc"; crossorigin');
  assert.deepEqual(originalLinks(head, LINKS), [
    '</web/20240301100000js_/http://example.org/blog/a.js>; rel=preload; as=script; crossorigin',
  ]);
});

test('links end at a length that clients accept', () => {
  const head = headOf(`Link: ${Array.from({ length: 200 }, (_, at) => `<${at}.css>; rel=stylesheet`).join(', ')}`);
  const links = originalLinks(head, LINKS);
  assert.ok(links.length > 10 && links.join('').length <= 2 * 1024);
});

test('a value is sent without line ends and controls, in Latin-1, and not longer than clients accept', () => {
  assert.equal(safeValue('plain'), 'plain');
  assert.equal(safeValue(' a\r\nSet-Cookie: b\x00 '), 'a  Set-Cookie: b');
  assert.equal(safeValue('tab\there'), 'tab\there');
  assert.equal(safeValue('caf\u00e9 \u20ac'), 'caf\u00e9 %E2%82%AC');
  assert.equal(safeValue('\ud800'), '%EF%BF%BD');
  assert.equal(safeValue('v'.repeat(5000)).length, 2048);
});
