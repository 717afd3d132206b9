import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { fromUtf8 } from '../base/index.ts';
import { warcFields } from '../warc/index.ts';
import { formatOrigin, parseOrigin, type SegmentOrigin } from './warcinfo-fields.ts';

const block = (origin: SegmentOrigin) =>
  fromUtf8(warcFields([{ name: 'software', value: 'pinakes/1' }, ...formatOrigin(origin)]));

suite('The fields of a warcinfo record', () => {
  test('say under which lease a segment was begun, its number, and what it replaces', () => {
    const origin: SegmentOrigin = {
      lease: { name: 'compaction/main', incarnation: 3, epoch: 12 },
      sequence: 2 ** 40,
      replaces: ['main/a.warc.gz', 'main/b.warc.gz'],
    };
    assert.deepEqual(parseOrigin(block(origin)), { ...origin, damagedFields: [] });
  });

  test('are absent from the files of others, and from most segments of version 1', () => {
    const none = { lease: undefined, sequence: undefined, replaces: [], damagedFields: [] };
    assert.deepEqual(parseOrigin(''), none);
    assert.deepEqual(parseOrigin('software: x\r\nsequence: 4\r\n\r\n'), none);
    const v1 = 'software: x\r\npinakes-replaces: main/a.warc.gz\r\npinakes-replaces-tombstones: 12\r\n';
    assert.deepEqual(parseOrigin(v1), { ...none, replaces: ['main/a.warc.gz'] });
  });

  test('are reported when they cannot be read', () => {
    for (const value of ['x', 'x/1', 'x/1-', '/1-2', 'x/1-2-3x', 'x/99999999999999999-1'])
      assert.deepEqual(parseOrigin(`pinakes-lease: ${value}`).damagedFields, ['pinakes-lease'], value);
    for (const value of ['', '-1', '1.5', '9007199254740993', 'abc'])
      assert.deepEqual(parseOrigin(`pinakes-sequence: ${value}`).damagedFields, ['pinakes-sequence'], value);
    const { replaces, damagedFields } = parseOrigin('pinakes-replaces: ../x\npinakes-replaces: y\n');
    assert.deepEqual([replaces, damagedFields], [['y'], ['pinakes-replaces']]);
  });

  test('count once, as the first says', () => {
    assert.equal(parseOrigin('pinakes-sequence: 1\r\nPinakes-Sequence: 2\r\n').sequence, 1);
  });
});
