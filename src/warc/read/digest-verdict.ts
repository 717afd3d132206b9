/**
 * Judges whether the digests that a record declares are right.
 *
 * Payload digests in real archives cover one of three things: the payload as the standard defines it, the body with its
 * chunk framing, or the body without its content coding. A verdict says which one matched. Some digests are not judged:
 * revisits and segmented records declare digests of bytes that are elsewhere, and truncated records declare digests of
 * bytes that are lost.
 */
import { type Digest, type DigestAlgorithm, parseDigest, sameDigest } from '../../base/index.ts';
import type { FindingCode } from '../record/finding-catalogue.ts';
import type { RecordHead } from '../record/record-head.ts';
import type { BlockFacts, BlockScanOptions } from './block-scanner.ts';

export type PayloadMatch = 'payload' | 'framed' | 'decoded' | 'none' | 'malformed' | 'unjudged';
export type BlockMatch = 'block' | 'none' | 'malformed' | 'unjudged';

export type DigestVerdict = { readonly block: BlockMatch; readonly payload: PayloadMatch };

/** What a scanner must hash so that the record can be judged. `also` lists further algorithms. */
export function verdictScanOptions(head: RecordHead, also: readonly DigestAlgorithm[] = []): BlockScanOptions {
  const algorithmsWith = (digest: Digest | undefined) => [...new Set([...(digest ? [digest.algorithm] : []), ...also])];
  const block = declared(head, 'warc-block-digest');
  const payload = declared(head, 'warc-payload-digest');
  const payloads = algorithmsWith(payload);
  const blocks = [...new Set([...algorithmsWith(block), ...(payload ? [payload.algorithm] : [])])];
  return { block: blocks, payload: payloads, framed: payloads, decoded: payload ? [payload.algorithm] : [] };
}

function declared(head: RecordHead, name: string): Digest | undefined {
  const value = head.get(name);
  return value === undefined ? undefined : parseDigest(value);
}

export function judgeDigests(head: RecordHead, facts: BlockFacts, isComplete: boolean): DigestVerdict {
  return { block: judgeBlock(head, facts, isComplete), payload: judgePayload(head, facts, isComplete) };
}

/**
 * Whether a declared digest is in doubt after the payload alone was hashed, with one algorithm. A digest in doubt can
 * still be right: to decide, hash everything that `verdictScanOptions` names.
 */
export function isDoubtful(head: RecordHead, facts: BlockFacts, isComplete: boolean): boolean {
  const algorithm = facts.payloadDigests[0]?.algorithm;
  const wasHashed = (name: string) => declared(head, name)?.algorithm === algorithm;
  if (wasHashed('warc-payload-digest') && judgePayload(head, facts, isComplete) === 'none') return true;
  if (facts.payloadBytes !== facts.blockBytes || !wasHashed('warc-block-digest')) return false;
  return judgeBlock(head, { ...facts, blockDigests: facts.payloadDigests }, isComplete) === 'none';
}

function judgeBlock(head: RecordHead, facts: BlockFacts, isComplete: boolean): BlockMatch {
  if (head.get('warc-block-digest') === undefined) return 'unjudged';
  const digest = declared(head, 'warc-block-digest');
  if (!digest) return 'malformed';
  if (!isComplete) return 'unjudged';
  return holds(facts.blockDigests, digest) ? 'block' : 'none';
}

function judgePayload(head: RecordHead, facts: BlockFacts, isComplete: boolean): PayloadMatch {
  if (head.get('warc-payload-digest') === undefined) return 'unjudged';
  const digest = declared(head, 'warc-payload-digest');
  if (!digest) return 'malformed';
  const isElsewhere = head.type === 'revisit' || head.get('warc-segment-number') !== undefined;
  if (isElsewhere || !isComplete || head.get('warc-truncated') !== undefined) return 'unjudged';
  if (holds(facts.payloadDigests, digest)) return 'payload';
  if (holds(facts.framedDigests, digest)) return 'framed';
  // Heritrix and other crawlers give records without an HTTP payload the digest of their whole block.
  if (holds(facts.blockDigests, digest)) return 'payload';
  return holds(facts.decodedDigests, digest) ? 'decoded' : 'none';
}

function holds(digests: readonly Digest[], wanted: Digest): boolean {
  return digests.some((digest) => sameDigest(digest, wanted));
}

/** The findings for declared digests that do not match the bytes of the record. */
export function digestMismatches(head: RecordHead, facts: BlockFacts, isComplete: boolean): FindingCode[] {
  const { block, payload } = judgeDigests(head, facts, isComplete);
  const codes: FindingCode[] = [];
  if (block === 'none') codes.push('block-digest-mismatch');
  if (payload === 'none') codes.push('payload-digest-mismatch');
  return codes;
}

/** All findings that follow from a verdict. */
export function verdictFindings(verdict: DigestVerdict, facts: BlockFacts): FindingCode[] {
  const codes: FindingCode[] = [];
  if (verdict.block === 'none') codes.push('block-digest-mismatch');
  if (verdict.block === 'malformed') codes.push('block-digest-malformed');
  if (verdict.payload === 'none') codes.push('payload-digest-mismatch');
  if (verdict.payload === 'malformed') codes.push('payload-digest-malformed');
  if (verdict.payload === 'framed' && facts.isChunked) codes.push('payload-digest-framed');
  if (verdict.payload === 'decoded') codes.push('payload-digest-decoded');
  if (facts.isChunkingBroken) codes.push('chunking-broken');
  if (facts.isCodingBroken) codes.push('content-coding-broken');
  if (facts.isHttpMissing) codes.push('http-head-missing');
  return codes;
}
