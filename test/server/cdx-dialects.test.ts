/**
 * Replies of the CDX server, byte for byte, in three dialects. The lines follow from the file in hand-over-warc.ts.
 */
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../archive/trial-archive.ts';
import { HELLO_SHA256, writeHandOver } from './hand-over-warc.ts';
import { ask, makeServer } from './trial-server.ts';

const AGAIN = '40857fd040760d43e3634e99672caf34c130e11ff26597571bc8a6e64e153342';
const LATER = '1d9283d848ea941ace1fe0d2378ef8b70056a0d4d1648b95a322d90163e78285';
const HELLO = 'ebd124fc4e4c92f8d1d08886925f12ece8727c21f05a54fd8a020cc8c86ab669';
const NOTHING = '1785cfc3bc6ac7738e8b38cdccd1af12563c2b9070e07af336a1bf8c0f772b6a';
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const PICTURE = 'fe1a4ab1fb6347036bead73597d5d2958b26ac0b96f68ca2f6dcee53a50f297e';

const IA_DOMAIN = `\
test,example)/a 20240301100000 http://www.example.test/a text/html 200 ${HELLO} 347
test,example)/a 20240303100000 http://www.example.test/a warc/revisit 304 ${HELLO} 524
test,example)/a 20240305000000 https://example.test/a text/html 200 ${AGAIN} 316
test,example)/a 20240305000000 https://example.test/a text/plain 503 ${LATER} 301
test,example)/a/deep?a=1&b=2 20240401120000 http://example.test/a/deep?b=2&a=1 text/plain 404 ${NOTHING} 316
test,example,cdn)/copy?id=7 20240302100000 http://cdn.example.test/copy?id=7 warc/revisit 200 ${HELLO} 540
test,example,pictures)/one%20two.png 20240501000000 http://pictures.example.test/one%20two.png image/png - ${PICTURE} 259
test,example:8080)/ 20240402120000 http://example.test:8080/ text/html 301 ${EMPTY} 309
`;

const IA_JSON = `\
[["urlkey","timestamp","original","mimetype","statuscode","digest","length"],
["test,example)/a","20240301100000","http://www.example.test/a","text/html","200","${HELLO}","347"],
["test,example)/a","20240303100000","http://www.example.test/a","warc/revisit","304","${HELLO}","524"],
["test,example)/a","20240305000000","https://example.test/a","text/html","200","${AGAIN}","316"],
["test,example)/a","20240305000000","https://example.test/a","text/plain","503","${LATER}","301"]]
`;

const pywbLine = (
  time: string,
  url: string,
  mime: string,
  status: string,
  digest: string,
  length: number,
  offset: number,
  file: string,
  more = '',
) =>
  `test,example)/a ${time} {"url": "${url}", "mime": "${mime}", "status": "${status}", "digest": "sha256:${digest}", "length": "${length}", "offset": "${offset}", "filename": "${file}"${more}}\n`;

test('the CDX server replies in the exact format of each dialect', async (t) => {
  const { archive, server, failures } = await makeServer(t);
  const path = await writeHandOver(await temporaryDirectory(t));
  await archive.add([path], { inPlace: true, collection: 'given' });
  const file = basename((await archive.segments())[0]!.name);
  const get = (target: string) => ask(server.uiAddress, target);
  assert.equal(HELLO_SHA256, HELLO);

  await t.test('IA: text with seven columns', async () => {
    const reply = await get('/cdx?url=*.example.test');
    assert.equal(reply.text, IA_DOMAIN);
    assert.equal(reply.headers['content-type'], 'text/plain; charset=utf-8');
    assert.equal((await get('/cdx/search/cdx?url=*.example.test')).text, IA_DOMAIN);
    assert.equal((await get('/cdx?url=example.test&matchType=domain')).text, IA_DOMAIN);
  });

  await t.test('IA: counters of duplicates and of skipped captures are additional columns', async () => {
    const duplicates = await get('/cdx?url=*.example.test&showDupeCount=true&limit=6');
    assert.equal(
      duplicates.text,
      `\
test,example)/a 20240301100000 http://www.example.test/a text/html 200 ${HELLO} 347 0
test,example)/a 20240303100000 http://www.example.test/a text/html 304 ${HELLO} 524 1
test,example)/a 20240305000000 https://example.test/a text/html 200 ${AGAIN} 316 0
test,example)/a 20240305000000 https://example.test/a text/plain 503 ${LATER} 301 0
test,example)/a/deep?a=1&b=2 20240401120000 http://example.test/a/deep?b=2&a=1 text/plain 404 ${NOTHING} 316 0
test,example,cdn)/copy?id=7 20240302100000 http://cdn.example.test/copy?id=7 text/html 200 ${HELLO} 540 2
`,
    );
    const skipped = await get(
      '/cdx?url=example.test/a&collapse=timestamp:4&showSkipCount=true&lastSkipTimestamp=true&output=json',
    );
    assert.equal(
      skipped.text,
      `[["urlkey","timestamp","original","mimetype","statuscode","digest","length","skipcount","endtimestamp"],
["test,example)/a","20240301100000","http://www.example.test/a","text/html","200","${HELLO}","347","3","20240305000000"]]
`,
    );
  });

  await t.test('IA: json is an array of arrays with a header, one on each line', async () => {
    const reply = await get('/cdx?url=example.test/a&output=json');
    assert.equal(reply.text, IA_JSON);
    assert.equal(reply.headers['content-type'], 'application/json; charset=utf-8');
    assert.equal((await get('/cdx?url=nothing.test&output=json')).text, '[]\n');
    assert.equal((await get('/cdx?url=nothing.test')).text, '');
  });

  await t.test('IA: resolved revisits have the position, status and type of their content', async () => {
    const reply = await get('/cdx?url=example.test/a&resolveRevisits=true&limit=2');
    assert.equal(
      reply.text,
      `test,example)/a 20240301100000 http://www.example.test/a text/html 200 ${HELLO} 347 - - -\n` +
        `test,example)/a 20240303100000 http://www.example.test/a text/html 200 ${HELLO} 524 347 0 ${file}\n`,
    );
  });

  await t.test('pywb: CDXJ as written by its indexer', async () => {
    const all =
      pywbLine('20240301100000', 'http://www.example.test/a', 'text/html', '200', HELLO, 347, 0, file) +
      pywbLine('20240303100000', 'http://www.example.test/a', 'warc/revisit', '304', HELLO, 524, 887, file) +
      pywbLine('20240305000000', 'https://example.test/a', 'text/html', '200', AGAIN, 316, 1411, file) +
      pywbLine('20240305000000', 'https://example.test/a', 'text/plain', '503', LATER, 301, 1727, file);
    const reply = await get('/cdx/pywb?url=http://example.test/a');
    assert.equal(reply.text, all);
    assert.equal(reply.headers['content-type'], 'text/x-cdxj; charset=utf-8');
    assert.equal((await get('/web-cdx?url=http://example.test/a')).text, all);
    assert.equal((await get('/cdx?dialect=pywb&url=http://example.test/a')).text, all);
    const resolved = await get('/cdx/pywb?url=http://example.test/a&resolveRevisits=1&limit=2');
    const place = `, "orig.length": "347", "orig.offset": "0", "orig.filename": "${file}"`;
    const none = ', "orig.length": "-", "orig.offset": "-", "orig.filename": "-"';
    assert.equal(
      resolved.text,
      pywbLine('20240301100000', 'http://www.example.test/a', 'text/html', '200', HELLO, 347, 0, file, none) +
        pywbLine('20240303100000', 'http://www.example.test/a', 'text/html', '200', HELLO, 524, 887, file, place),
    );
  });

  await t.test('pywb: json is one object on each line without absent values, and text has columns', async () => {
    const reply = await get('/cdx/pywb?url=pictures.example.test/*&output=json');
    const url = 'http://pictures.example.test/one%20two.png';
    assert.equal(
      reply.text,
      `{"urlkey": "test,example,pictures)/one%20two.png", "timestamp": "20240501000000", "url": "${url}", "mime": "image/png", "digest": "sha256:${PICTURE}", "length": "259", "offset": "2653", "filename": "${file}"}\n`,
    );
    const text = await get('/cdx/pywb?url=pictures.example.test/*&output=text&fields=urlkey,status,url');
    assert.equal(text.text, `test,example,pictures)/one%20two.png - ${url}\n`);
    const some = await get('/cdx/pywb?url=pictures.example.test/*&output=json&fl=url,nothing');
    assert.equal(some.text, `{"url": "${url}"}\n`);
  });

  await t.test('pywb: 404 without any line, and 400 for a page after the last', async () => {
    const none = await get('/cdx/pywb?url=nothing.test/');
    assert.equal(none.status, 404);
    assert.equal(JSON.parse(none.text).error.message, 'No Captures found for: nothing.test/');
    const beyond = await get('/cdx/pywb?url=*.example.test&page=1');
    assert.equal(beyond.status, 400);
    assert.equal(JSON.parse(beyond.text).error.message, 'Page 1 invalid: First Page is 0, Last Page is 0');
    const pages = await get('/cdx/pywb?url=*.example.test&showNumPages=true');
    assert.equal(pages.text, '{"pages": 1, "pageSize": 5, "blocks": 1}');
    assert.equal((await get('/cdx?url=*.example.test&showNumPages=true')).text, '1\n');
  });

  await t.test('IA: 400 for a page after the last, so that clients that do not count pages stop', async () => {
    for (const output of ['text', 'json']) {
      const query = `url=*.example.test&output=${output}`;
      assert.equal((await get(`/cdx?${query}&page=0&filter=statuscode:999`)).status, 200);
      const beyond = await get(`/cdx?${query}&page=1`);
      assert.equal(beyond.status, 400);
      assert.equal(JSON.parse(beyond.text).error.message, 'Page 1 invalid: First Page is 0, Last Page is 0');
      assert.equal((await get(`/cdx?url=nothing.test/&output=${output}&page=0`)).status, 200);
    }
  });

  await t.test('IA, OutbackCDX: a filter in the form of pywb is refused', async () => {
    for (const filter of ['=status:404', '!=status:200']) {
      for (const path of ['/cdx', '/cdx/outbackcdx']) {
        const { status, text } = await get(`${path}?url=*.example.test&filter=${encodeURIComponent(filter)}`);
        assert.equal(status, 400);
        assert.match(text, /dialect=pywb/);
      }
    }
  });

  await t.test('OutbackCDX: eleven columns, json without header and with numbers, objects on request', async () => {
    const text = await get('/cdx/outbackcdx/given?url=http://cdn.example.test/copy?id=7');
    const url = 'http://cdn.example.test/copy?id=7';
    assert.equal(
      text.text,
      `test,example,cdn)/copy?id=7 20240302100000 ${url} warc/revisit 200 ${HELLO} - - 540 347 ${file}\n`,
    );
    const json = await get('/cdx/outbackcdx?url=*.example.test&output=json&fl=timestamp,statuscode,mimetype,length');
    assert.equal(
      json.text,
      '[[20240301100000,200,"text/html",347],[20240303100000,304,"warc/revisit",524],[20240305000000,200,"text/html",316],' +
        '[20240305000000,503,"text/plain",301],[20240401120000,404,"text/plain",316],[20240302100000,200,"warc/revisit",540],' +
        '[20240501000000,0,"image/png",259],[20240402120000,301,"text/html",309]]',
    );
    const objects = await get('/cdx/outbackcdx?urlkey=test,example:8080)/&output=jsondict&fl=urlkey,status,range');
    assert.equal(objects.text, '[{"urlkey":"test,example:8080)/","status":301,"range":"bytes=2344-2652"}]');
    assert.equal((await get('/cdx/outbackcdx?url=nothing.test&output=json')).text, '[]');
  });
  assert.deepEqual(failures, []);
});
