import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { digestOf, formatDigest, toHex } from '../../base/index.ts';
import { RecordHead } from '../record/record-head.ts';
import { BlockScanner } from './block-scanner.ts';
import { type DigestVerdict, judgeDigests, verdictFindings, verdictScanOptions } from './digest-verdict.ts';

const PAGE = '<p>hello</p>\n';
const HTTP_HEAD = [
  'HTTP/1.1 200 OK',
  'Date: Fri, 01 Mar 2024 10:00:00 GMT',
  'Content-Type: text/html',
  'Last-Modified: Thu, 29 Feb 2024 09:00:00 GMT',
  'ETag: "v1"',
  'Transfer-Encoding: chunked',
  '',
  '',
].join('\r\n');
/** The block of the worked example. */
const BLOCK = Buffer.from(`${HTTP_HEAD}d\r\n${PAGE}\r\n0\r\n\r\n`);
const PAYLOAD_DIGEST = 'sha1:SPY26MJKW5H7YED73KP4SKZ3QEA5BN4S';
const FRAMED_DIGEST = 'sha1:2RHWU7KDTV7HL6GRN6J37ZNFRUQ7IHXN';
const BLOCK_DIGEST = 'sha1:I35SW6OABBTEB5GF5Z3LEOZTNU7Q7TC2';

type Judged = { verdict: DigestVerdict; findings: string[] };

function judge(block: Buffer, fields: Record<string, string>, isComplete = true): Judged {
  const all = {
    'WARC-Type': 'response',
    'WARC-Target-URI': 'http://www.example.test/a',
    'Content-Type': 'application/http;msgtype=response',
    'Content-Length': String(block.length),
    ...fields,
  };
  const named = Object.entries(all).map(([name, value]) => ({ name, value }));
  const head = new RecordHead('warc', '1.1', named, new Uint8Array(0));
  const scanner = new BlockScanner(head, verdictScanOptions(head));
  scanner.push(block);
  const facts = scanner.end();
  const verdict = judgeDigests(head, facts, isComplete);
  return { verdict, findings: verdictFindings(verdict, facts) };
}

test('the worked example has the digests it declares', () => {
  assert.equal(BLOCK.length, 190);
  assert.deepEqual(judge(BLOCK, { 'WARC-Payload-Digest': PAYLOAD_DIGEST, 'WARC-Block-Digest': BLOCK_DIGEST }), {
    verdict: { block: 'block', payload: 'payload' },
    findings: [],
  });
});

test('a digest over the chunk framing is recognised and reported', () => {
  assert.deepEqual(judge(BLOCK, { 'WARC-Payload-Digest': FRAMED_DIGEST }), {
    verdict: { block: 'unjudged', payload: 'framed' },
    findings: ['payload-digest-framed'],
  });
});

test('a digest over the decoded body is recognised and reported', () => {
  const block = Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n'), gzipSync(PAGE)]);
  const declared = formatDigest(digestOf('sha256', Buffer.from(PAGE)));
  assert.deepEqual(judge(block, { 'WARC-Payload-Digest': declared }), {
    verdict: { block: 'unjudged', payload: 'decoded' },
    findings: ['payload-digest-decoded'],
  });
});

test('a digest of the whole block is accepted as a payload digest, with or without a block digest', () => {
  assert.equal(judge(BLOCK, { 'WARC-Payload-Digest': BLOCK_DIGEST }).verdict.payload, 'payload');
  const both = { 'WARC-Payload-Digest': BLOCK_DIGEST, 'WARC-Block-Digest': BLOCK_DIGEST };
  assert.equal(judge(BLOCK, both).verdict.payload, 'payload');
});

test('a payload digest is accepted in every spelling', () => {
  const hex = toHex(digestOf('sha1', Buffer.from(PAGE)).bytes);
  assert.equal(hex, '93f1af312ab74ffc107fda9fc92b3b8101d0b792');
  for (const value of [`sha1:${hex}`, `SHA-1:${hex.toUpperCase()}`, PAYLOAD_DIGEST.toLowerCase()]) {
    assert.equal(judge(BLOCK, { 'WARC-Payload-Digest': value }).verdict.payload, 'payload', value);
  }
});

test('wrong digests are reported', () => {
  const wrong = { 'WARC-Payload-Digest': `sha1:${'A'.repeat(32)}`, 'WARC-Block-Digest': `sha256:${'0'.repeat(64)}` };
  assert.deepEqual(judge(BLOCK, wrong), {
    verdict: { block: 'none', payload: 'none' },
    findings: ['block-digest-mismatch', 'payload-digest-mismatch'],
  });
});

test('malformed digests are reported', () => {
  const wrong = { 'WARC-Payload-Digest': 'sha1:short', 'WARC-Block-Digest': 'crc32:abcdef01' };
  assert.deepEqual(judge(BLOCK, wrong), {
    verdict: { block: 'malformed', payload: 'malformed' },
    findings: ['block-digest-malformed', 'payload-digest-malformed'],
  });
});

test('digests of bytes that are elsewhere or lost are not judged', () => {
  const wrong = `sha1:${'A'.repeat(32)}`;
  for (const fields of [{ 'WARC-Type': 'revisit' }, { 'WARC-Segment-Number': '1' }, { 'WARC-Truncated': 'length' }]) {
    assert.equal(judge(BLOCK, { 'WARC-Payload-Digest': wrong, ...fields }).verdict.payload, 'unjudged');
  }
  const both = { 'WARC-Payload-Digest': wrong, 'WARC-Block-Digest': wrong };
  assert.deepEqual(judge(BLOCK, both, false).verdict, { block: 'unjudged', payload: 'unjudged' });
  assert.deepEqual(judge(BLOCK, {}).verdict, { block: 'unjudged', payload: 'unjudged' });
  assert.equal(judge(BLOCK, { ...both, 'WARC-Type': 'revisit' }).verdict.block, 'none');
});

test('faults of the block itself are reported besides the verdict', () => {
  const lies = Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\nneither\n');
  const declared = formatDigest(digestOf('sha1', Buffer.from('neither\n')));
  assert.deepEqual(judge(lies, { 'WARC-Payload-Digest': declared }).findings, [
    'chunking-broken',
    'content-coding-broken',
  ]);
  assert.deepEqual(judge(Buffer.from('<p>'), {}).findings, ['http-head-missing']);
});
