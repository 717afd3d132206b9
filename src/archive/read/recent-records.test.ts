import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WholeRecord } from './content-copies.ts';
import { RecentRecords } from './recent-records.ts';

const record = (blockBytes: number) => ({ block: new Uint8Array(blockBytes) }) as WholeRecord;

describe('the cache of recent records', () => {
  it('returns a record by its place', () => {
    const recent = new RecentRecords();
    const one = record(10);
    recent.keep('1.warc.gz', 23, one);
    assert.equal(recent.get('1.warc.gz', 23), one);
    assert.equal(recent.get('12.warc.gz', 3), undefined);
    assert.equal(recent.get('1.warc.gz', 2), undefined);
  });

  it('has a limit in bytes and forgets the records that were used longest ago', () => {
    const recent = new RecentRecords(20_000);
    for (const offset of [1, 2, 3]) recent.keep('1.warc.gz', offset, record(5000));
    recent.get('1.warc.gz', 1);
    recent.keep('1.warc.gz', 4, record(5000));
    assert.equal(recent.get('1.warc.gz', 2), undefined);
    for (const offset of [1, 3, 4]) assert.ok(recent.get('1.warc.gz', offset), `record ${offset}`);
  });

  it('does not store large records, and keeps the first record of a place', () => {
    const recent = new RecentRecords(20_000);
    recent.keep('1.warc.gz', 1, record(200_000));
    assert.equal(recent.get('1.warc.gz', 1), undefined);
    const first = record(8000);
    recent.keep('1.warc.gz', 2, first);
    recent.keep('1.warc.gz', 2, record(8000));
    recent.keep('1.warc.gz', 3, record(8000));
    assert.equal(recent.get('1.warc.gz', 2), first);
    assert.ok(recent.get('1.warc.gz', 3));
  });

  it('forgets everything for a rebuild', () => {
    const recent = new RecentRecords();
    recent.keep('1.warc.gz', 1, record(10));
    recent.forget();
    assert.equal(recent.get('1.warc.gz', 1), undefined);
  });
});
