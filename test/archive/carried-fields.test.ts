/**
 * WARC fields of a response stay with its capture when the record becomes a revisit, and when the revisit becomes a
 * full record again.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Field } from '../../src/warc/index.ts';
import { type ForeignRecord, requestOf, response, warcinfo, writeForeign } from './foreign-file.ts';
import { audit, contentOf, makeArchive, NOON, walk } from './trial-archive.ts';

function fieldsFor(requestId: string): Field[] {
  return [
    { name: 'WARC-IP-Address', value: '192.0.2.7' },
    { name: 'WARC-Concurrent-To', value: requestId },
    { name: 'WARC-Concurrent-To', value: '<urn:foreign:another>' },
    { name: 'WARC-Warcinfo-ID', value: '<urn:foreign:info>' },
    { name: 'WARC-Protocol', value: 'h2' },
    { name: 'WARC-Protocol', value: 'tls/1.3' },
    { name: 'WARC-Cipher-Suite', value: 'TLS_AES_128_GCM_SHA256' },
    { name: 'WARC-Page-ID', value: 'page-1' },
    { name: 'warc-resource-type', value: 'document' },
    { name: 'WARC-JSON-Metadata', value: '{"key": "a: b"}' },
    { name: 'WARC-Identified-Payload-Type', value: 'text/html' },
  ];
}

/** A response, and a request that only the response names. */
function visit(url: string, time: number, body: string): ForeignRecord[] {
  const bare = response(url, time, contentOf(body));
  const { record, block } = requestOf(bare);
  const request = { record: { ...record, date: '2020-02-02T02:02:02Z', fields: [] }, block };
  return [{ ...bare, record: { ...bare.record, fields: fieldsFor(record.recordId) } }, request];
}

const reported = (fields: readonly Field[]) => fields.map(({ name, value }) => `${name.toLowerCase()}: ${value}`);

test('a duplicate keeps the fields of its capture as a revisit, and the revisit keeps them as a full record', async (t) => {
  const archive = await makeArchive(t);
  const first = visit('http://a.example/first', NOON, 'same');
  const second = visit('http://a.example/second', NOON + 1000, 'same');
  const file = await writeForeign(join(archive.directory, 'a.warc.gz'), [warcinfo(), ...first, ...second]);
  assert.equal((await archive.add([file])).duplicates, 1);
  const wanted = reported(second[0]!.record.fields!);
  const ofSecond = async (type: string) => {
    const records = await walk(archive);
    return records.find(({ head }) => head.type === type && head.targetUri === 'http://a.example/second')?.head;
  };
  const revisit = await ofSecond('revisit');
  assert.deepEqual(
    reported(revisit!.fields).filter((line) => wanted.includes(line)),
    wanted,
  );
  await archive.delete({ url: 'http://a.example/first' });
  await archive.compact();
  const full = await ofSecond('response');
  assert.deepEqual(
    reported(full!.fields).filter((line) => wanted.includes(line)),
    wanted,
  );
  assert.deepEqual(await audit(archive), []);
});

test("I6 Deleted means gone: the request that only a duplicate's response named goes with the duplicate", async (t) => {
  const archive = await makeArchive(t);
  const first = visit('http://a.example/first', NOON, 'same');
  const second = visit('http://a.example/second', NOON + 1000, 'same');
  await archive.add([await writeForeign(join(archive.directory, 'a.warc.gz'), [warcinfo(), ...first, ...second])]);
  await archive.delete({ url: 'http://a.example/second' });
  await archive.compact();
  const requests = (await walk(archive)).filter(({ head }) => head.type === 'request');
  assert.deepEqual(
    requests.map(({ head }) => head.targetUri),
    ['http://a.example/first'],
  );
});
