import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UrlKey } from '../../url/index.ts';
import type { Capture } from '../catalog.ts';
import { RecentKeys } from './recent-keys.ts';

const key = (text: string) => text as UrlKey;
const capturesOf = (urlKey: string, count = 1) =>
  Array.from({ length: count }, () => ({ urlKey, url: urlKey }) as Capture);

describe('the cache of recent keys', () => {
  it('returns the captures that were kept, also an empty list', () => {
    const recent = new RecentKeys();
    const captures = capturesOf('a', 2);
    recent.keep(key('a'), captures, recent.changes);
    recent.keep(key('b'), [], recent.changes);
    assert.equal(recent.get(key('a')), captures);
    assert.deepEqual(recent.get(key('b')), []);
    assert.equal(recent.get(key('c')), undefined);
  });

  it('forgets the keys of a batch and no others', () => {
    const recent = new RecentKeys();
    for (const name of ['put', 'removed', 'other']) recent.keep(key(name), capturesOf(name), recent.changes);
    recent.changed({ putCaptures: capturesOf('put'), removeCaptures: capturesOf('removed') });
    assert.equal(recent.get(key('put')), undefined);
    assert.equal(recent.get(key('removed')), undefined);
    assert.equal(recent.get(key('other'))?.length, 1);
  });

  it('does not keep captures that were read before a change', () => {
    const recent = new RecentKeys();
    const { changes } = recent;
    recent.changed({ putCaptures: capturesOf('a') });
    recent.keep(key('a'), [], changes);
    assert.equal(recent.get(key('a')), undefined);
    const later = recent.changes;
    recent.clear();
    recent.keep(key('a'), [], later);
    assert.equal(recent.get(key('a')), undefined);
  });

  it('keeps a bounded number of captures and forgets the least recently used keys', () => {
    const recent = new RecentKeys(6);
    recent.keep(key('a'), capturesOf('a', 2), recent.changes);
    recent.keep(key('b'), capturesOf('b', 2), recent.changes);
    recent.keep(key('empty'), [], recent.changes);
    recent.get(key('a'));
    recent.keep(key('c'), capturesOf('c', 3), recent.changes);
    assert.equal(recent.get(key('b')), undefined);
    assert.equal(recent.get(key('a'))?.length, 2);
    assert.equal(recent.get(key('c'))?.length, 3);
    assert.deepEqual(recent.get(key('empty')), []);
  });

  it('counts long URLs as several captures and keeps no long keys', () => {
    const recent = new RecentKeys(6);
    const long = capturesOf('long').map((capture) => ({ ...capture, url: 'x'.repeat(2500) }));
    recent.keep(key('a'), capturesOf('a', 2), recent.changes);
    recent.keep(key('long'), long, recent.changes);
    assert.equal(recent.get(key('a')), undefined);
    assert.equal(recent.get(key('long'))?.length, 1);
    recent.keep(key('x'.repeat(2500)), [], recent.changes);
    assert.equal(recent.get(key('x'.repeat(2500))), undefined);
  });
});
