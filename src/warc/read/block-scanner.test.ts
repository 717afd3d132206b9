import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { digestOf, formatDigest, HTTP_HEAD_BYTES_MAX } from '../../base/index.ts';
import { RecordHead } from '../record/record-head.ts';
import { type BlockFacts, BlockScanner, type BlockScanOptions, holdsHttp } from './block-scanner.ts';

function head(type: string, contentType: string | undefined, uri: string, length?: number): RecordHead {
  const fields = [
    { name: 'WARC-Type', value: type },
    { name: 'WARC-Target-URI', value: uri },
    ...(contentType === undefined ? [] : [{ name: 'Content-Type', value: contentType }]),
    ...(length === undefined ? [] : [{ name: 'Content-Length', value: String(length) }]),
  ];
  return new RecordHead('warc', '1.1', fields, new Uint8Array(0));
}

const HTTP = 'application/http; msgtype=response';
const WANTS: BlockScanOptions = { block: ['sha1'], payload: ['sha256', 'sha1'], framed: ['sha1'], decoded: ['sha1'] };

type Scanned = { facts: BlockFacts; payload: string };

function scan(block: Buffer, pieces: readonly Buffer[], recordHead?: RecordHead): Scanned {
  const parts: Buffer[] = [];
  const onPayload = (bytes: Uint8Array) => parts.push(Buffer.from(bytes));
  const scanner = new BlockScanner(recordHead ?? head('response', HTTP, 'http://a.test/', block.length), {
    ...WANTS,
    onPayload,
  });
  for (const piece of pieces) scanner.push(piece);
  return { facts: scanner.end(), payload: Buffer.concat(parts).toString('latin1') };
}

const whole = (text: string | Buffer, recordHead?: RecordHead) => {
  const block = Buffer.from(text as string);
  return scan(block, [block], recordHead);
};

const sha1 = (bytes: Buffer | string) => formatDigest(digestOf('sha1', Buffer.from(bytes as string)));
const formatted = (digests: BlockFacts['blockDigests']) => digests.map(formatDigest);

test('head, payload and all digests of a chunked and compressed response are returned', () => {
  const page = Buffer.from('<p>hello</p>\n');
  const coded = gzipSync(page);
  const framed = Buffer.concat([Buffer.from(`${coded.length.toString(16)}\r\n`), coded, Buffer.from('\r\n0\r\n\r\n')]);
  const http = Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n');
  const block = Buffer.concat([http, framed]);
  const { facts, payload } = whole(block);
  assert.equal(facts.http?.status, 200);
  assert.equal(Buffer.from(facts.http.bytes).toString(), http.toString());
  assert.equal(payload, coded.toString('latin1'));
  assert.equal(facts.blockBytes, block.length);
  assert.equal(facts.payloadBytes, coded.length);
  assert.ok(facts.isChunked && !facts.isChunkingBroken && !facts.isCodingBroken && !facts.isHttpMissing);
  assert.deepEqual(formatted(facts.blockDigests), [sha1(block)]);
  assert.deepEqual(formatted(facts.payloadDigests), [formatDigest(digestOf('sha256', coded)), sha1(coded)]);
  assert.deepEqual(formatted(facts.framedDigests), [sha1(framed)]);
  assert.deepEqual(formatted(facts.decodedDigests), [sha1(page)]);
});

test('the payload of a record without an HTTP message is its block', () => {
  for (const recordHead of [
    head('resource', 'text/plain', 'http://a.test/'),
    head('response', 'text/dns', 'dns:a.test'),
    head('response', HTTP, 'ftp://a.test/'),
    head('metadata', 'application/warc-fields', 'http://a.test/'),
    head('response', 'text/html', 'http://a.test/'),
  ]) {
    assert.equal(holdsHttp(recordHead), false);
    const { facts, payload } = whole('HTTP/1.1 200 OK\r\n\r\nbody', recordHead);
    assert.equal(facts.http, undefined);
    assert.equal(payload, 'HTTP/1.1 200 OK\r\n\r\nbody');
    assert.equal(facts.isHttpMissing, false);
  }
});

test('requests and revisits contain HTTP messages too', () => {
  const request = head('request', 'application/http; msgtype=request', 'https://a.test/');
  const { facts, payload } = whole('POST / HTTP/1.1\r\nHost: a.test\r\n\r\na=1', request);
  assert.equal(facts.http?.method, 'POST');
  assert.equal(payload, 'a=1');
  const revisit = head('revisit', HTTP, 'http://a.test/');
  assert.equal(whole('HTTP/1.1 304 Not Modified\r\n\r\n', revisit).facts.http?.status, 304);
  assert.equal(whole('', revisit).facts.isHttpMissing, false);
});

test('a response without an HTTP head is reported, and its block is its payload', () => {
  for (const text of ['<html></html>', 'Once upon a time\r\n\r\nthere was a page']) {
    const { facts, payload } = whole(text);
    assert.ok(facts.isHttpMissing);
    assert.equal(facts.http, undefined);
    assert.equal(payload, text);
  }
});

test('a head without a body has the digest of the empty payload', () => {
  const { facts } = whole('HTTP/1.1 204 No Content\r\n\r\n');
  assert.equal(facts.payloadBytes, 0);
  assert.deepEqual(formatted(facts.payloadDigests)[1], sha1(''));
  assert.deepEqual(formatted(facts.framedDigests), [sha1('')]);
});

test('a block that ends early is hashed as far as it goes', () => {
  const block = Buffer.from('HTTP/1.1 200 OK\r\n\r\nhalf');
  const { facts } = scan(block, [block], head('response', HTTP, 'http://a.test/', 1000));
  assert.deepEqual(formatted(facts.framedDigests), [sha1('half')]);
  const cutHead = Buffer.from('HTTP/1.1 200 OK\r\nA: b');
  assert.equal(scan(cutHead, [cutHead], head('response', HTTP, 'http://a.test/', 1000)).facts.http?.get('a'), 'b');
});

test('a head longer than the limit is part of the body', () => {
  const block = Buffer.from(`HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(HTTP_HEAD_BYTES_MAX / 5)}`);
  const pieces = Array.from({ length: 12 }, (_, i) => block.subarray(i * 150_000, (i + 1) * 150_000));
  const { facts } = scan(block, pieces);
  assert.ok(facts.isHttpMissing);
  assert.equal(facts.payloadBytes, block.length);
});

test('wrong chunking and wrong codings are reported', () => {
  const chunked = whole('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<p>not chunked</p>\n');
  assert.ok(chunked.facts.isChunkingBroken);
  assert.equal(chunked.payload, '<p>not chunked</p>\n');
  const coded = whole('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nplain');
  assert.ok(coded.facts.isCodingBroken);
  assert.deepEqual(formatted(coded.facts.decodedDigests), [sha1('plain')]);
});

test('only the requested digests are computed', () => {
  const block = Buffer.from('HTTP/1.1 200 OK\r\n\r\nbody');
  const scanner = new BlockScanner(head('response', HTTP, 'http://a.test/', block.length), {});
  scanner.push(block);
  const facts = scanner.end();
  assert.deepEqual(
    [facts.blockDigests, facts.payloadDigests, facts.framedDigests, facts.decodedDigests],
    [[], [], [], []],
  );
  assert.equal(facts.payloadBytes, 4);
});

test('the digests and payload do not depend on the pieces of a block', () => {
  const blocks = fc.constantFrom(
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    'HTTP/1.1 200 OK\nContent-Encoding: br\n\nplain after all',
    'HTTP/1.1 200 OK\r\nA: b\r\n',
    'no head here',
    'HTTP',
    '',
  );
  fc.assert(
    fc.property(blocks, fc.array(fc.nat(20)), fc.boolean(), (text, sizes, lengthKnown) => {
      const block = Buffer.from(text);
      const pieces: Buffer[] = [];
      let at = 0;
      for (const size of sizes) pieces.push(block.subarray(at, (at += size)));
      pieces.push(block.subarray(at));
      const recordHead = head('response', HTTP, 'http://a.test/', lengthKnown ? block.length : undefined);
      assert.deepEqual(
        scan(
          block,
          pieces.filter(({ length }) => length > 0),
          recordHead,
        ),
        scan(block, block.length > 0 ? [block] : [], recordHead),
      );
    }),
  );
});
