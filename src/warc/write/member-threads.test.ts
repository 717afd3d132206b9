import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf, seededRandom, utf8 } from '../../base/index.ts';
import { type NewRecord, openHead, RECORD_TRAILER, recordParts } from '../record/new-record.ts';
import { MemberEncoder } from './member-encoder.ts';
import { MemberThreads } from './member-threads.ts';

const encoders = new Map([0, 6].map((level) => [level, new MemberEncoder({ coding: 'gzip', level })]));

function assertMembers(members: readonly Uint8Array[], expected: readonly Uint8Array[]): void {
  assert.equal(members.length, expected.length);
  for (const [index, member] of members.entries())
    assert.equal(Buffer.compare(member, expected[index]!), 0, `member ${index} of ${expected.length}`);
}

test('a thread makes the same members as an encoder for whole records, in order', async (t) => {
  const threads = new MemberThreads();
  t.after(() => threads.close());
  const random = seededRandom(7);
  for (const count of [1, 40]) {
    const records = Array.from({ length: count }, (_, index) => ({
      head: utf8(`head ${index}\r\n`),
      block: utf8('scroll '.repeat(Math.floor(random() * 40_000))),
      level: index % 5 === 0 ? 0 : 6,
    }));
    const expected = records.map(({ head, block, level }) =>
      encoders.get(level)!.encode([Buffer.concat([head, block, RECORD_TRAILER])]),
    );
    assertMembers(await threads.encode(records), expected);
  }
  assert.deepEqual(await threads.encode([]), []);
});

test('an open block digest becomes the digest of the block, even when another field looks like it', async (t) => {
  const threads = new MemberThreads();
  t.after(() => threads.close());
  const record: NewRecord = {
    type: 'resource',
    recordId: '<urn:uuid:1>',
    date: '2026-01-01T00:00:00Z',
    targetUri: 'https://example.org/WARC-Block-Digest: sha256:00',
    fields: [{ name: 'WARC-Block-Digest', value: 'sha1:of another' }],
  };
  const blocks = ['', 'a scroll', 'WARC-Block-Digest: '].map(utf8);
  const members = await threads.encode(
    blocks.map((block) => ({ head: openHead(record, block.length), block, level: 6 })),
  );
  const expected = blocks.map((block) => {
    const parts = recordParts({ ...record, blockDigest: digestOf('sha256', block) }, block);
    return encoders.get(6)!.encode([Buffer.concat(parts)]);
  });
  assertMembers(members, expected);
});
