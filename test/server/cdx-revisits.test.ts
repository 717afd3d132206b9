/**
 * Resolved revisits in CDX replies have the position, status and type of their content, whatever fields the revisit
 * has.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { EMPTY, formatW3cDate, utf8 } from '../../src/base/index.ts';
import { type ForeignRecord, foreignId, response, revisitOf, sha1Of, writeForeign } from '../archive/foreign-file.ts';
import { contentOf, NOON } from '../archive/trial-archive.ts';
import { ask, makeServer } from './trial-server.ts';

test('resolved revisits have the status and type of their content, even if the revisit has no HTTP head', async (t) => {
  const { archive, server } = await makeServer(t);
  const original = response('http://site.example/', NOON, contentOf('shared'));
  const withHead = (url: string, head: string): ForeignRecord => ({
    ...revisitOf(original, url, NOON + 1000),
    block: utf8(`HTTP/1.1 ${head}\r\n\r\n`),
  });
  const body = contentOf('a picture');
  const picture: ForeignRecord = {
    record: {
      type: 'resource',
      recordId: foreignId(),
      date: formatW3cDate(NOON),
      targetUri: 'http://site.example/picture',
      payloadDigest: sha1Of(body),
      contentType: 'image/png',
    },
    block: body,
  };
  const records = [
    original,
    picture,
    { ...revisitOf(original, 'http://site.example/a-headless', NOON + 1000), block: EMPTY },
    { ...revisitOf(picture, 'http://site.example/b-picture', NOON + 1000), block: EMPTY },
    withHead('http://site.example/c-unchanged', '304 Not Modified'),
    withHead('http://site.example/d-untyped', '404 Not Found'),
    withHead('http://site.example/e-own', '404 Not Found\r\nContent-Type: text/plain'),
  ];
  const { unresolved } = await archive.add([await writeForeign(join(archive.directory, 'a.warc.gz'), records)]);
  assert.equal(unresolved, 0);
  const reply = await ask(
    server.uiAddress,
    '/cdx?url=site.example/*&resolveRevisits=true&fl=original,mimetype,statuscode',
  );
  assert.equal(
    reply.text,
    `http://site.example/ text/html 200
http://site.example/a-headless text/html 200
http://site.example/b-picture image/png -
http://site.example/c-unchanged text/html 200
http://site.example/d-untyped text/html 404
http://site.example/e-own text/plain 404
http://site.example/picture image/png -
`,
  );
});
