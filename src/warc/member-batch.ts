/** Many records, or the members they became, as one piece of memory that can be handed from thread to thread. */
import { MemberEncoder } from './member-encoder.ts';

/** One behind the other. */
export type MemberBatch = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lengths: readonly number[];
  /** How hard each is to be compressed. */
  readonly levels: readonly number[];
};

/** A record as `recordParts` gives it. */
export type LooseRecord = { readonly parts: readonly Uint8Array[]; readonly level: number };

export function packRecords(records: readonly LooseRecord[]): MemberBatch {
  const lengths = records.map(({ parts }) => parts.reduce((sum, part) => sum + part.length, 0));
  const bytes = joined(records.flatMap(({ parts }) => parts));
  return { bytes, lengths, levels: records.map(({ level }) => level) };
}

export function unpackMembers({ bytes, lengths }: MemberBatch): Uint8Array[] {
  let at = 0;
  return lengths.map((length) => bytes.subarray(at, (at += length)));
}

const encoders = new Map<number, MemberEncoder>();

/** Puts each record into a gzip member. */
export function encodeBatch(batch: MemberBatch): MemberBatch {
  const members = unpackMembers(batch).map((record, index) => encoderOf(batch.levels[index]!).encode([record]));
  return { bytes: joined(members), lengths: members.map(({ length }) => length), levels: batch.levels };
}

function encoderOf(level: number): MemberEncoder {
  let encoder = encoders.get(level);
  if (!encoder) encoders.set(level, (encoder = new MemberEncoder({ coding: 'gzip', level })));
  return encoder;
}

/** In memory of its own: what is handed over must not be part of a pool. */
function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
