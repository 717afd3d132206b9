import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ascii, toBase32, toHex } from './bytes.ts';
import {
  DIGEST_ALGORITHMS,
  type Digest,
  digestOf,
  formatDigest,
  isCollisionProne,
  isDigestOfNothing,
  parseDigest,
  parseDigestValue,
  RunningDigest,
  sameDigest,
} from './digest.ts';

const HELLO_SHA1 = '93f1af312ab74ffc107fda9fc92b3b8101d0b792';
const HELLO_SHA1_BASE32 = 'SPY26MJKW5H7YED73KP4SKZ3QEA5BN4S';
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

function parsed(text: string): Digest {
  const digest = parseDigest(text);
  assert.ok(digest, `not understood: ${text}`);
  return digest;
}

test('a SHA-1 is recognised in every form that archives write', () => {
  const expected = digestOf('sha1', ascii('<p>hello</p>\n'));
  for (const text of [
    `sha1:${HELLO_SHA1_BASE32}`,
    `sha1:${HELLO_SHA1_BASE32.toLowerCase()}`,
    `sha1:${HELLO_SHA1}`,
    `sha1:${HELLO_SHA1.toUpperCase()}`,
    `SHA1:${HELLO_SHA1_BASE32}`,
    `SHA-1:${HELLO_SHA1_BASE32}`,
    `sha-1:${HELLO_SHA1}`,
    ` sha1: ${HELLO_SHA1_BASE32} `,
  ]) {
    assert.ok(sameDigest(parsed(text), expected), text);
    assert.equal(formatDigest(parsed(text)), `sha1:${HELLO_SHA1_BASE32}`);
  }
});

test('a SHA-256 is hexadecimal at 64 characters, and base32 at 56 with padding or 52 without', () => {
  const expected = digestOf('sha256', new Uint8Array(0));
  const base32 = toBase32(expected.bytes);
  assert.equal(base32.length, 52);
  for (const value of [EMPTY_SHA256, EMPTY_SHA256.toUpperCase(), base32, `${base32}====`, base32.toLowerCase()]) {
    assert.ok(sameDigest(parsed(`sha256:${value}`), expected), value);
    assert.ok(sameDigest(parsed(`SHA-256:${value}`), expected), value);
  }
  assert.equal(formatDigest(expected), `sha256:${EMPTY_SHA256}`);
});

test('an MD5 of 32 characters is hexadecimal unless it is padded', () => {
  const digest = digestOf('md5', ascii('abc'));
  const hex = toHex(digest.bytes);
  const base32 = `${toBase32(digest.bytes)}======`;
  assert.equal(hex.length, 32);
  assert.equal(base32.length, 32);
  assert.ok(sameDigest(parsed(`md5:${hex}`), digest));
  assert.ok(sameDigest(parsed(`md5:${base32}`), digest));
  assert.ok(sameDigest(parsed(`md5:${base32.slice(0, 26)}`), digest));
  // All 32 letters are in both alphabets. The length decides: hexadecimal.
  const both = 'a2b3c4d5e6f7a2b3c4d5e6f7a2b3c4d5';
  assert.equal(toHex(parsed(`md5:${both}`).bytes), both);
});

test('digests of every algorithm are read from hexadecimal and base32 in any case and padding', () => {
  const anyBytes = fc.uint8Array({ maxLength: 40 });
  fc.assert(
    fc.property(fc.constantFrom(...DIGEST_ALGORITHMS), anyBytes, fc.boolean(), (algorithm, bytes, lower) => {
      const digest = digestOf(algorithm, bytes);
      const base32 = toBase32(digest.bytes);
      const padded = base32.padEnd(Math.ceil(base32.length / 8) * 8, '=');
      for (const value of [toHex(digest.bytes), base32, padded]) {
        const back = parseDigestValue(algorithm, lower ? value.toLowerCase() : value.toUpperCase());
        assert.ok(back && sameDigest(back, digest), `${algorithm}:${value}`);
      }
      assert.ok(sameDigest(parsed(formatDigest(digest)), digest));
    }),
  );
});

test('a text that is not a digest gives undefined', () => {
  for (const text of [
    '',
    ':',
    'sha1',
    'sha1:',
    HELLO_SHA1_BASE32,
    'sha1:-',
    `sha1:${HELLO_SHA1_BASE32.slice(1)}`,
    `sha1:${HELLO_SHA1_BASE32}A`,
    `sha1:${HELLO_SHA1.slice(2)}`,
    `sha1:${HELLO_SHA1.replace('9', 'g')}`,
    `sha1:${HELLO_SHA1_BASE32.replace('S', '1')}`,
    `sha256:${HELLO_SHA1}`,
    `sha1:${EMPTY_SHA256}`,
    `sha-2-56:${EMPTY_SHA256}`,
    `crc32:00000000`,
    `s-ha1:${HELLO_SHA1}`,
    `urn:sha1:${HELLO_SHA1_BASE32}`,
    // 27 letters decode to 16 bytes, but no base32 writer gives that length.
    'md5:AAAAAAAAAAAAAAAAAAAAAAAAAAA',
  ]) {
    assert.equal(parseDigest(text), undefined, text);
  }
});

test('digests of different algorithms are never the same, whatever their bytes', () => {
  const bytes = new Uint8Array(20);
  assert.equal(sameDigest({ algorithm: 'sha1', bytes }, { algorithm: 'sha256', bytes }), false);
  assert.equal(sameDigest({ algorithm: 'sha1', bytes }, { algorithm: 'sha1', bytes: new Uint8Array(20) }), true);
});

test('I7: the digest of no bytes is recognised in every form of every algorithm', () => {
  for (const text of [
    'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ',
    'sha1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj',
    'sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709',
    `sha256:${EMPTY_SHA256}`,
    'md5:d41d8cd98f00b204e9800998ecf8427e',
    `sha512:${toHex(digestOf('sha512', new Uint8Array(0)).bytes)}`,
  ]) {
    assert.equal(isDigestOfNothing(parsed(text)), true, text);
  }
  assert.equal(isDigestOfNothing(digestOf('sha1', new Uint8Array(1))), false);
  assert.equal(isDigestOfNothing(parsed(`sha1:${HELLO_SHA1}`)), false);
});

test('I7: MD5 and SHA-1 are known to collide, the others are not', () => {
  assert.deepEqual(DIGEST_ALGORITHMS.filter(isCollisionProne), ['md5', 'sha1']);
});

test('a digest computed in pieces equals the one computed at once', () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 6 });
  fc.assert(
    fc.property(fc.constantFrom(...DIGEST_ALGORITHMS), pieces, (algorithm, parts) => {
      const running = new RunningDigest(algorithm);
      for (const part of parts) running.update(part);
      assert.ok(sameDigest(running.finish(), digestOf(algorithm, Buffer.concat(parts))));
    }),
  );
});
