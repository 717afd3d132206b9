import assert from 'node:assert/strict';
import { test } from 'node:test';
import { utf8 } from '../../base/index.ts';
import { formatOrigin } from '../../ledger/index.ts';
import { warcFields } from '../../warc/index.ts';
import { parseReplaced, tombstonesField } from './replacement.ts';

test('the replaced segment is read back from the warcinfo of its replacement', () => {
  const replacement = {
    name: 'c/c-20260101120000000-00001-host.warc.gz',
    tombstoneBytes: 123,
    isNotedWhenSwapped: true,
  };
  const origin = formatOrigin({ lease: undefined, sequence: 3, replaces: [replacement.name] });
  const fields = [{ name: 'software', value: 'pinakes' }, ...origin, tombstonesField(replacement.tombstoneBytes)];
  const block = warcFields(fields);
  assert.deepEqual(parseReplaced(block), replacement);
  const ofEarlierVersion = utf8(`pinakes-replaces: ${replacement.name}\r\npinakes-replaces-tombstones: 123\r\n`);
  assert.deepEqual(parseReplaced(ofEarlierVersion), { ...replacement, isNotedWhenSwapped: false });
});

test("another writer's warcinfo names no replaced segment", () => {
  assert.equal(parseReplaced(utf8('software: another\r\nformat: WARC\r\n')), undefined);
});
