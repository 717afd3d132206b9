import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { requestBodyQuery, requestKey } from './request-key.ts';
import { urlKey } from './url-key.ts';

const FORM = 'application/x-www-form-urlencoded';

/** Requests with their key as cdxj-indexer 1.5.0 makes it. */
const VECTORS: readonly (readonly [url: string, method: string, body: string, contentType: string, key: string])[] = [
  ['http://example.com/api', 'HEAD', '', '', 'com,example)/api?__wb_method=head'],
  [
    'http://example.com/api',
    'OPTIONS',
    'x',
    'application/x-www-form-urlencoded',
    'com,example)/api?__wb_method=options',
  ],
  ['http://example.com/api', 'POST', '', 'application/x-www-form-urlencoded', 'com,example)/api?__wb_method=post'],
  [
    'http://example.com/api?z=1',
    'POST',
    'foo=bar&dir=%2Fbaz',
    'application/x-www-form-urlencoded',
    'com,example)/api?__wb_method=post&dir=/baz&foo=bar&z=1',
  ],
  [
    'http://example.com/api',
    'PUT',
    'a=1+2&b=%C3%A9&c=%E9',
    'application/x-www-form-urlencoded',
    'com,example)/api?__wb_method=put&a=1%202&b=%c3%a9&c=%ef%bf%bd',
  ],
  [
    'http://example.com/api',
    'POST',
    'a=%23b&c=d',
    'application/x-www-form-urlencoded',
    'com,example)/api?__wb_method=post&a=',
  ],
  [
    'http://example.com/api',
    'POST',
    'a=\u00e9',
    'application/x-www-form-urlencoded; charset=utf-8',
    'com,example)/api?__wb_method=post&a=%c3%a9',
  ],
  [
    'http://example.com/api',
    'POST',
    '{"Action":"List","b":{"c":[1,2,{"d":true}],"e":null},"f":false}',
    'application/json',
    'com,example)/api?__wb_method=post&action=list&c=1&c.2_=2&d=true&e=none&f=false',
  ],
  [
    'http://example.com/api',
    'POST',
    '{"a":1,"x":{"a":2},"y":[{"a":3}]}',
    'application/json',
    'com,example)/api?__wb_method=post&a=1&a.2_=2&a.3_=3',
  ],
  [
    'http://example.com/api',
    'POST',
    '{"10":"x","b":1,"2":"y","q":{"10":"z"}}',
    'application/json',
    'com,example)/api?10=x&10.2_=z&2=y&__wb_method=post&b=1',
  ],
  [
    'http://example.com/api',
    'POST',
    '{"a":1.0,"b":1e5,"c":1E+16,"d":0.00001,"e":-0,"f":123456789012345678901234567890,"g":1e400,"h":-2.50,"i":0.0001}',
    'application/json',
    'com,example)/api?__wb_method=post&a=1.0&b=100000.0&c=1e+16&d=1e-05&e=0&f=123456789012345678901234567890&g=inf&h=-2.5&i=0.0001',
  ],
  [
    'http://example.com/api',
    'POST',
    '{"a":NaN,"b":-Infinity}',
    'application/json',
    'com,example)/api?__wb_method=post&a=nan&b=-inf',
  ],
  ['http://example.com/api', 'POST', '[1,2]', 'application/json', 'com,example)/api?__wb_method=post'],
  ['http://example.com/api', 'POST', '{"a":"1","a":"2"}', 'application/json', 'com,example)/api?__wb_method=post&a=2'],
  ['http://example.com/api', 'POST', '{"a":', 'application/json', 'com,example)/api?__wb_method=post'],
  [
    'http://example.com/api',
    'POST',
    '{"a":1}\n{"a":2}',
    'application/json',
    'com,example)/api?__wb_method=post&a=1&a.2_=2',
  ],
  ['http://example.com/api', 'POST', '{"a":1}\n', 'application/json', 'com,example)/api?__wb_method=post&a=1'],
  ['http://example.com/api', 'POST', '{"a":1}\n{"b":', 'application/json', 'com,example)/api?__wb_method=post'],
  [
    'http://example.com/api',
    'POST',
    '{"a":"\\ud83d\\ude00 &=\\u00e9"}',
    'application/json',
    'com,example)/api?=%c3%a9&__wb_method=post&a=%f0%9f%98%80+',
  ],
  ['http://example.com/api', 'POST', '{"a":"\\ud800"}', 'application/json', 'com,example)/api?__wb_method=post'],
  ['http://example.com/api', 'POST', '\ufeff{"a":1}', 'application/json', 'com,example)/api?__wb_method=post&a=1'],
  ['http://example.com/api', 'POST', '{"a":1}', 'text/plain', 'com,example)/api?__wb_method=post&a=1'],
  [
    'http://example.com/api',
    'POST',
    'hello',
    'text/plain;charset=UTF-8',
    'com,example)/api?__wb_method=post&__wb_post_data=agvsbg8=',
  ],
  [
    'http://example.com/api',
    'POST',
    'hello',
    'application/octet-stream',
    'com,example)/api?__wb_method=post&__wb_post_data=agvsbg8=',
  ],
  ['http://example.com/api', 'POST', 'hello', '', 'com,example)/api?__wb_method=post&__wb_post_data=agvsbg8='],
  ['http://example.com/api', 'POST', '', 'image/png', 'com,example)/api?__wb_method=post&__wb_post_data='],
  [
    'http://example.com/api',
    'POST',
    '--XX\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--XX\r\nContent-Disposition: form-data; name="b c"\r\n\r\nx&y\r\nz\r\n--XX\r\nContent-Disposition: form-data; name="f"; filename="n.bin"\r\nContent-Type: image/png\r\n\r\n\u00ff\r\n--XX\r\nContent-Disposition: form-data; name="q%22"\r\n\r\n\r\n--XX--\r\n',
    'multipart/form-data; boundary=XX',
    'com,example)/api?__wb_method=post&a=1&b+c=x&f=%c3%bf&q"=&y%0d%0az',
  ],
  [
    'http://example.com/api',
    'POST',
    '--XX',
    'multipart/form-data',
    'com,example)/api?__wb_method=post&__wb_post_data=ls1ywa==',
  ],
  [
    'http://example.com/api',
    'POST',
    'a=b',
    'Application/X-WWW-Form-Urlencoded',
    'com,example)/api?__wb_method=post&__wb_post_data=yt1i',
  ],
  [
    'http://www.example.com:8080/A/',
    'POST',
    'b=2&a=1',
    'application/x-www-form-urlencoded',
    'com,example:8080)/a?__wb_method=post&a=1&b=2',
  ],
];

function bytes(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}

test('a request has the same key as in cdxj-indexer', () => {
  for (const [url, method, body, contentType, key] of VECTORS) {
    assert.equal(requestKey(url, method, bytes(body), contentType), key, `${method} ${contentType} ${body}`);
  }
});

test('the key of a GET is the key of its URL, whatever its body', () => {
  assert.equal(requestKey('http://example.com/a', 'GET', bytes('a=b'), FORM), urlKey('http://example.com/a'));
  assert.equal(requestKey('http://example.com/a', 'get', bytes(''), ''), 'com,example)/a');
});

test('a fragment does not swallow the method', () => {
  assert.equal(requestKey('http://example.com/a#x', 'POST', bytes('b=1'), FORM), 'com,example)/a?__wb_method=post&b=1');
});

test('a form that is not UTF-8 is kept as base64', () => {
  assert.equal(requestBodyQuery(Uint8Array.of(0x61, 0xe9), FORM), '__wb_post_data=Yek=');
});

test('an incomplete multipart body is kept as base64 as a whole', () => {
  const type = 'multipart/form-data; boundary=XX';
  const part = '--XX\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n';
  for (const body of [part, `${part}--XX\r\nno name\r\n\r\n2\r\n--XX--`, `junk${part}--XX--`, '']) {
    assert.match(requestBodyQuery(bytes(body), type), /^__wb_post_data=/);
  }
  assert.equal(requestBodyQuery(bytes(`${part}--XX--\r\n`), type), 'a=1');
});

test('a quoted boundary and parameters after it are understood', () => {
  const body = bytes('--X Y\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--X Y--');
  assert.equal(requestBodyQuery(body, 'multipart/form-data; boundary="X Y"; charset=utf-8'), 'a=1');
});

test('the query of a body is cut after 4096 characters, never inside a character', () => {
  assert.equal(requestBodyQuery(bytes('x'.repeat(5000)), FORM).length, 4096);
  assert.equal(requestBodyQuery(bytes('\u{1f600}'.repeat(5000)), FORM), '\u{1f600}'.repeat(4096));
  assert.equal(requestBodyQuery(bytes('x'.repeat(5000)), 'image/png').length, 4096);
});

test('JSON of very many values fills the query up to its limit, and the part after the limit must be JSON too', () => {
  const list = Array.from({ length: 3000 }, (_, at) => `{"a":"\u00e9${at}"}`).join(',');
  const whole = Array.from({ length: 3000 }, (_, at) => `${at === 0 ? 'a' : `a.${at + 1}_`}=%C3%A9${at}`).join('&');
  assert.equal(requestBodyQuery(bytes(`[${list}]`), 'application/json'), whole.slice(0, 4096));
  assert.equal(requestBodyQuery(bytes(`[${list},{"a":"\\ud800"}]`), 'application/json'), '');
});

test('an absurdly long boundary is ignored', () => {
  const boundary = 'X'.repeat(5000);
  const body = bytes(`--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--${boundary}--`);
  assert.match(requestBodyQuery(body, `multipart/form-data; boundary=${boundary}`), /^__wb_post_data=/);
});

test('absurdly deep JSON does not count as JSON and does no harm', () => {
  const deep = `{"a":${'['.repeat(200_000)}`;
  assert.equal(requestBodyQuery(bytes(deep), 'application/json'), '');
  const level = 800;
  assert.equal(requestBodyQuery(bytes(`{"a":${'['.repeat(level)}1${']'.repeat(level)}}`), 'application/json'), 'a=1');
});

test('a large body of one long token gives a query within the limit', () => {
  const long = 'x'.repeat(10_000_000);
  assert.equal(requestBodyQuery(bytes(`{"a":"${long}"}`), 'application/json').length, 4096);
  assert.equal(requestBodyQuery(bytes('%41'.repeat(3_000_000)), FORM), 'A'.repeat(4096));
  assert.equal(requestBodyQuery(bytes(`{"a":${'1'.repeat(10_000_000)}}`), 'application/json'), '');
});

test('any body of any type gives a key', () => {
  const types = fc.constantFrom(FORM, 'application/json', 'text/plain', 'multipart/form-data; boundary=a', 'x/y', '');
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), types, fc.string(), (body, type, method) => {
      assert.match(requestKey('http://example.com/', method, body, type), /^com,example\)\//);
    }),
    { numRuns: 3000 },
  );
});

test('numbers and leaves of JSON written by the platform are read under their names', () => {
  const value = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant(null));
  fc.assert(
    fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), value, { maxKeys: 5 }), (members) => {
      const pairs = new URLSearchParams(requestBodyQuery(bytes(JSON.stringify(members)), 'application/json'));
      for (const [name, expected] of Object.entries(members)) {
        const python =
          expected === null ? 'None' : expected === true ? 'True' : expected === false ? 'False' : String(expected);
        assert.equal(pairs.get(name), python.toWellFormed());
      }
    }),
    { numRuns: 2000 },
  );
});
