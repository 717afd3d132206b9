/**
 * Records in members without a checksum: uncompressed members, and zstd frames written without one, which is the
 * default of libzstd. A flipped bit in such a member decodes to wrong bytes without an error. Only the digests that the
 * record declares can show it.
 */
import { type DigestAlgorithm, type Finding, view } from '../../base/index.ts';
import { codingOf } from '../member/file-coding.ts';
import { parseFrameHead } from '../member/zstd-frame.ts';
import type { RecordHead } from '../record/record-head.ts';
import type { BlockFacts, BlockScanOptions } from './block-scanner.ts';
import { verdictScanOptions } from './digest-verdict.ts';

/** Returns what is wrong with the bytes of a record that was read to its end. */
export type DigestCheck = (head: RecordHead, facts: BlockFacts, isComplete: boolean) => Promise<readonly Finding[]>;

const CAPTURE_TYPES = new Set(['response', 'resource', 'conversion']);

/** Whether the member has a checksum, which reveals damage. */
export function memberHasChecksum(member: Uint8Array): boolean {
  const coding = codingOf(member);
  if (coding !== 'zstd') return coding === 'gzip';
  const head = parseFrameHead(view(member), 0, member.length);
  return typeof head === 'object' && head.hasChecksum;
}

/**
 * Options that hash what is needed to check a record in a member without a checksum. The payload is also hashed with
 * `also`, the algorithm of the archive's own digests. For a capture, the rare digests of a framed or decoded body are
 * not tried.
 */
export function checksumlessScanOptions(head: RecordHead, also: DigestAlgorithm): BlockScanOptions {
  const { block = [], payload = [], ...others } = verdictScanOptions(head);
  const options = { block, payload: [...new Set([also, ...payload])] };
  return CAPTURE_TYPES.has(head.type) ? options : { ...options, ...others };
}
