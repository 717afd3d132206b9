import assert from 'node:assert/strict';
import { test } from 'node:test';
import { utf8 } from '../../base/index.ts';
import { warcFields } from '../../warc/index.ts';
import { parseReplaced, replacedFields } from './replacement.ts';

test('the replaced segment is read back from the warcinfo of its replacement', () => {
  const replacement = { name: 'c/c-20260101120000000-00001-host.warc.gz', tombstoneBytes: 123 };
  const block = warcFields([{ name: 'software', value: 'pinakes' }, ...replacedFields(replacement)]);
  assert.deepEqual(parseReplaced(block), replacement);
});

test("another writer's warcinfo names no replaced segment", () => {
  assert.equal(parseReplaced(utf8('software: another\r\nformat: WARC\r\n')), undefined);
});
