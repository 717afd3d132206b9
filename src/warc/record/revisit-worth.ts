/**
 * Decides when a revisit replaces a full record: one rule for adding, storing, crawling and slimming.
 *
 * A payload is shared when it is larger than what a revisit adds to the record's own head. Both sizes are uncompressed:
 * compressed sizes depend on the file and on the level, and a record must not be shared in one place and kept in
 * another. An empty payload is never shared (I7).
 */
import { fieldsOf } from './new-record.ts';
import type { Field } from './record-head.ts';

/**
 * Payloads up to this size are never shared: the fields of a revisit are longer, even with the shortest possible URI
 * and date of an original. For larger payloads the heads decide.
 */
export const UNSHARED_BYTES_MAX: number = leastGrowth();

/**
 * Whether a revisit with one head replaces the record with the other head. `payloadBytesMin` can only raise the limit.
 */
export function isWorthRevisit(
  payloadBytes: number,
  heads: { readonly own: readonly Field[]; readonly revisit: readonly Field[] },
  payloadBytesMin = 0,
): boolean {
  if (payloadBytes <= UNSHARED_BYTES_MAX || payloadBytes < payloadBytesMin) return false;
  return payloadBytes > bytesOf(heads.revisit) - bytesOf(heads.own);
}

function bytesOf(fields: readonly Field[]): number {
  let bytes = 0;
  for (const { name, value } of fields) bytes += Buffer.byteLength(name) + Buffer.byteLength(value) + 4;
  return bytes;
}

function leastGrowth(): number {
  const record = { recordId: '', date: '', targetUri: 'a:' } as const;
  const revisit = { profile: 'server-not-modified', refersToTargetUri: 'a:', refersToDate: '2000' } as const;
  return (
    bytesOf(fieldsOf({ ...record, type: 'revisit', revisit }, 0)) -
    bytesOf(fieldsOf({ ...record, type: 'response' }, 0))
  );
}
