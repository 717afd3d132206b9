/**
 * Stored bytes (`id_`) have Content-Encoding only if they begin like that coding. A client fails if the body does not
 * match.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { utf8 } from '../../src/base/index.ts';
import { SPRING } from '../browser/sample-site.ts';
import { ReplayTrial } from './replay-trial.ts';

const PLAIN = utf8('plain text, though its head says otherwise');

for (const [coding, body, expected] of [
  ['gzip', gzipSync('packed'), 'gzip'],
  ['gzip', PLAIN, undefined],
  ['x-gzip', gzipSync('packed'), 'x-gzip'],
  ['deflate', deflateSync('packed'), 'deflate'],
  ['deflate', PLAIN, undefined],
  ['zstd', zstdCompressSync('packed'), 'zstd'],
  ['zstd', PLAIN, undefined],
  ['br', brotliCompressSync('packed'), 'br'],
  ['gzip, br', brotliCompressSync(gzipSync('packed')), 'gzip, br'],
  ['br, gzip', PLAIN, undefined],
  ['gzip', utf8(''), undefined],
] as const) {
  const name = body.length === 0 ? 'nothing' : body === PLAIN ? 'plain text' : 'a body that is so coded';
  test(`stored bytes: ${name} under ${coding} is sent ${expected === undefined ? 'without the coding' : 'with it'}`, async (t) => {
    const url = 'http://coded.example/raw';
    const fields = [`Content-Encoding: ${coding}`, 'Transfer-Encoding: chunked'];
    // Chunks of one byte, so that the coding shows only in several chunks.
    const chunks = [...body].map((byte) => Buffer.concat([utf8('1\r\n'), Uint8Array.of(byte), utf8('\r\n')]));
    const chunked = Buffer.concat([...chunks, utf8('0\r\n\r\n')]);
    const trial = await ReplayTrial.with(t, [{ url, type: 'text/plain', fields, body: chunked }]);
    const { bytes, field } = await trial.ask({ url, at: SPRING, modifier: 'id_' });
    assert.ok(bytes.equals(body));
    assert.equal(field('content-encoding'), expected);
  });
}
