/**
 * Rows of what may not come back: marks of deleted captures, and bars.
 *
 *     't'  mark (16 bytes)                         ->  nothing
 *     'x'  'c'  digest (32 bytes)                  ->  nothing
 *     'x'  'u'  URL key, shortened when it is long ->  URL key
 */
import { assert, EMPTY, utf8, view } from '../../base/index.ts';
import type { UrlKey } from '../../url/index.ts';
import type { Bar, Mark } from '../catalog.ts';
import { sortableKey } from '../key-order.ts';
import { DamagedRow } from '../row-bytes.ts';
import { TABLE } from '../table.ts';

const MARK_BYTES = 16;
const CONTENT = 0x63;
const URL = 0x75;

export function markKey(mark: Mark): Buffer {
  assert(mark.length === MARK_BYTES, 'a mark does not have 16 bytes');
  return Buffer.concat([Buffer.of(TABLE.deleted), mark]);
}

export function markOfKey(key: Buffer): Mark {
  return new Uint8Array(key.subarray(1));
}

export function barKey(bar: Bar): Buffer {
  const isContent = bar.kind === 'content';
  const id = isContent ? bar.digest : sortableKey(bar.urlKey);
  return Buffer.concat([Buffer.of(TABLE.bars, isContent ? CONTENT : URL), id]);
}

export function barValue(bar: Bar): Buffer {
  return view(bar.kind === 'content' ? EMPTY : utf8(bar.urlKey));
}

export function readBar(key: Buffer, value: Buffer): Bar {
  if (key[1] === CONTENT) return { kind: 'content', digest: new Uint8Array(key.subarray(2)) };
  if (key[1] === URL) return { kind: 'url', urlKey: value.toString('utf8') as UrlKey };
  throw new DamagedRow('a bar is of an unknown kind');
}
