/** Many records, or the members made from them, in one piece of memory that can be passed between threads. */

import { closeHead, type OpenHead, RECORD_TRAILER } from '../record/new-record.ts';
import { MemberEncoder } from './member-encoder.ts';

/** Records, one after the other. */
export type RecordBatch = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /**
   * Four numbers per record: the length of its head, the length of its block, its compression level, and where in the
   * head its block digest belongs (0 when it needs none).
   */
  readonly numbers: readonly number[];
};

/** Members, one after the other. */
export type MemberBatch = { readonly bytes: Uint8Array<ArrayBuffer>; readonly lengths: readonly number[] };

/** A record that is to be put into a member. */
export type UnencodedRecord = {
  readonly head: Uint8Array | OpenHead;
  readonly block: Uint8Array;
  readonly level: number;
};

export function packRecords(records: readonly UnencodedRecord[]): RecordBatch {
  const numbers: number[] = [];
  const parts: Uint8Array[] = [];
  for (const { head, block, level } of records) {
    const [bytes, digestAt] = head instanceof Uint8Array ? [head, 0] : [head.bytes, head.digestAt];
    numbers.push(bytes.length, block.length, level, digestAt);
    parts.push(bytes, block, RECORD_TRAILER);
  }
  return { bytes: joined(parts), numbers };
}

export function unpackMembers({ bytes, lengths }: MemberBatch): Uint8Array[] {
  let at = 0;
  return lengths.map((length) => bytes.subarray(at, (at += length)));
}

const encoders = new Map<number, MemberEncoder>();

/** Puts each record into a gzip member, and computes the block digest of each open head. */
export function encodeBatch({ bytes, numbers }: RecordBatch): MemberBatch {
  const members: Uint8Array[] = [];
  let at = 0;
  for (let index = 0; index < numbers.length; ) {
    const blockAt = at + numbers[index++]!;
    const blockEnd = blockAt + numbers[index++]!;
    const level = numbers[index++]!;
    const digestAt = numbers[index++]!;
    if (digestAt > 0) closeHead({ bytes: bytes.subarray(at, blockAt), digestAt }, bytes.subarray(blockAt, blockEnd));
    const end = blockEnd + RECORD_TRAILER.length;
    members.push(encoderOf(level).encode([bytes.subarray(at, end)]));
    at = end;
  }
  return { bytes: joined(members), lengths: members.map(({ length }) => length) };
}

function encoderOf(level: number): MemberEncoder {
  let encoder = encoders.get(level);
  if (!encoder) encoders.set(level, (encoder = new MemberEncoder({ coding: 'gzip', level })));
  return encoder;
}

/** Joins the parts in new memory: a buffer that is passed to a thread must not be part of a pool. */
function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
