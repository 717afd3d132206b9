import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { fromUtf8, utf8 } from '../base/index.ts';
import { urlKey } from '../url/index.ts';
import { MemberEncoder, readRecords, recordParts } from '../warc/index.ts';
import {
  DELETED_AT_ONCE_MAX,
  DELETION_BYTES_MAX,
  type Deletion,
  deletionRecord,
  isDeletionRecord,
  parseDeletion,
} from './deletion-record.ts';

const mark = (fill: number) => new Uint8Array(16).fill(fill);
const deletion: Deletion = {
  time: '2026-01-02T03:04:05.678Z',
  request: 'request-1',
  marks: [mark(1), mark(255)],
  bars: [],
};
const takedown: Deletion = {
  ...deletion,
  bars: [
    { kind: 'content', digest: new Uint8Array(32).fill(9) },
    { kind: 'url', urlKey: urlKey('http://example.org/ä?b=1') },
  ],
};
const collection: Deletion = {
  ...deletion,
  marks: [],
  collection: { name: 'main', snapshot: { before: 7, open: [['main/a.warc.gz', 100]] } },
};

/** With arrays of numbers instead of bytes, in JSON. */
function plain({ marks, bars, ...rest }: Deletion): string {
  const plainBars = bars.map((bar) => (bar.kind === 'url' ? bar.urlKey : [...bar.digest]));
  return JSON.stringify({ ...rest, marks: marks.map((one) => [...one]), bars: plainBars });
}

suite('A deletion record', () => {
  test('is read as it was written', () => {
    for (const one of [deletion, takedown, collection]) {
      const parsed = parseDeletion(deletionRecord(one, '<urn:uuid:1>').block);
      assert.equal(parsed.problem, undefined);
      assert.equal(plain(parsed.deletion!), plain(one));
    }
  });

  test('has the form that is documented', () => {
    const { block } = deletionRecord(takedown, '<urn:uuid:1>');
    assert.equal(
      fromUtf8(block),
      `{"deletion":1,"time":"2026-01-02T03:04:05.678Z","request":"request-1","marks":["AQEBAQEBAQEBAQEBAQEBAQ","_____________________w"],"bars":[{"content":"sha256:${'09'.repeat(32)}"},{"url":"org,example)/%c3%a4?b=1"}]}`,
    );
  });

  test('is a WARC record that readers of WARC files understand, and not a capture', async () => {
    const { record, block } = deletionRecord(deletion, '<urn:uuid:1>');
    const member = new MemberEncoder({ coding: 'gzip' }).encode(recordParts(record, block));
    for await (const found of readRecords(
      (async function* () {
        yield member;
      })(),
    )) {
      assert.ok(isDeletionRecord(found.head));
      const bytes = await found.bytes(DELETION_BYTES_MAX);
      assert.deepEqual(found.damage, []);
      assert.ok(parseDeletion(bytes).deletion);
    }
  });

  test('fits into memory with as many captures as are deleted at once', () => {
    const marks = Array.from({ length: 2 * DELETED_AT_ONCE_MAX }, (_, index) => mark(index % 256));
    const { block } = deletionRecord({ ...deletion, marks }, '<urn:uuid:1>');
    assert.ok(block.length < 128 * 1024, `${block.length}`);
    assert.equal(parseDeletion(block).deletion?.marks.length, marks.length);
    assert.throws(() => deletionRecord({ ...deletion, marks: [...marks, mark(0)] }, '<urn:uuid:1>'));
  });

  test('is a problem when any part of it is damaged, unknown or missing', () => {
    const sound = JSON.parse(fromUtf8(deletionRecord(takedown, '<urn:uuid:1>').block)) as Record<string, unknown>;
    assert.ok(parseDeletion(utf8(JSON.stringify(sound))).deletion);
    const damaged: Record<string, unknown>[] = [
      { ...sound, deletion: 2 },
      { ...sound, deletion: undefined },
      { ...sound, more: 1 },
      { ...sound, time: 'yesterday' },
      { ...sound, time: undefined },
      { ...sound, request: 5 },
      { ...sound, marks: undefined },
      { ...sound, marks: 'AQEBAQEBAQEBAQEBAQEBAQ' },
      { ...sound, marks: ['AQEBAQEBAQEBAQEBAQEB'] },
      { ...sound, marks: ['AQEBAQEBAQEBAQEBAQEBA='] },
      { ...sound, marks: ['AQEBAQEBAQEBAQEBAQEBAR'] },
      { ...sound, marks: [5] },
      { ...sound, bars: {} },
      { ...sound, bars: [{ content: 'sha1:abc' }] },
      { ...sound, bars: [{ content: `md5:${'0'.repeat(32)}` }] },
      { ...sound, bars: [{ url: '' }] },
      { ...sound, bars: [{ url: 'x', content: `sha256:${'0'.repeat(64)}` }] },
      { ...sound, bars: [{}] },
      { ...sound, marks: [], bars: [] },
      { ...sound, collection: {} },
      { ...sound, collection: { name: 'main' } },
      { ...sound, collection: { name: '', snapshot: { before: 1, open: [] } } },
      { ...sound, collection: { name: 'main', snapshot: { before: 1, open: 'all' } } },
    ];
    for (const value of damaged) {
      const { problem, deletion: read } = parseDeletion(utf8(JSON.stringify(value)));
      assert.ok(problem && !read, JSON.stringify(value));
    }
    const text = JSON.stringify(sound);
    for (const torn of ['', '{', text.slice(0, -1), `${text}}`, `[${text}]`, '5', 'null'])
      assert.ok(parseDeletion(utf8(torn)).problem, torn);
  });
});
