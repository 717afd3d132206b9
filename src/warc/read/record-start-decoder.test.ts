import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom, utf8 } from '../../base/index.ts';
import { recordParts } from '../record/new-record.ts';
import { MemberEncoder } from '../write/member-encoder.ts';
import { RecordStartDecoder } from './record-start-decoder.ts';

const HTTP_HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n';

/** A response whose body does not compress. */
function parts(bodyBytes: number): Uint8Array[] {
  const random = seededRandom(5);
  const body = Uint8Array.from({ length: bodyBytes }, () => Math.floor(random() * 256));
  const record = {
    type: 'response',
    recordId: '<urn:uuid:1>',
    date: '2024-03-01T10:00:00Z',
    targetUri: 'http://a.test/',
  };
  return recordParts({ ...record, type: 'response' }, Buffer.concat([utf8(HTTP_HEAD), body]));
}

for (const coding of ['gzip', 'none'] as const) {
  test(`the start of a record is decoded from the first bytes of a member, ${coding}, of any length`, () => {
    const encoder = new MemberEncoder({ coding });
    const decoder = new RecordStartDecoder();
    for (const bodyBytes of [0, 10, 100_000]) {
      const member = encoder.encode(parts(bodyBytes));
      const found = decoder.decode(member.subarray(0, 4096));
      assert.equal(found?.head.targetUri, 'http://a.test/');
      assert.equal(found?.head.contentLength, HTTP_HEAD.length + bodyBytes);
      assert.equal(found?.blockStart.toString('latin1', 0, HTTP_HEAD.length), HTTP_HEAD);
    }
    encoder.close();
    decoder.close();
  });

  test(`a member start that ends inside the head gives no start, ${coding}`, () => {
    const encoder = new MemberEncoder({ coding });
    const decoder = new RecordStartDecoder();
    const member = encoder.encode(parts(100_000));
    for (const bytes of [0, 1, 5, 9, 11, 40]) assert.equal(decoder.decode(member.subarray(0, bytes)), undefined);
    assert.ok(decoder.decode(member.subarray(0, 2000)));
    encoder.close();
    decoder.close();
  });
}

test('anything but a WARC record in a gzip member is left to the full reader', () => {
  const decoder = new RecordStartDecoder();
  const zstd = new MemberEncoder({ coding: 'zstd' });
  assert.equal(decoder.decode(zstd.encode(parts(10))), undefined);
  assert.equal(decoder.decode(utf8('http://a.test/ 192.0.2.1 20240301100000 text/html 57\n')), undefined);
  assert.equal(decoder.decode(Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff])), undefined);
  zstd.close();
  decoder.close();
});
