/**
 * Checks originals before a revisit refers to them (I1). The record must be complete and have the URI and date that the
 * revisits will name, and its payload must have the digest and size of its duplicates. The payload is always read and
 * hashed again for this check.
 */
import {
  assert,
  type Digest,
  type DigestAlgorithm,
  formatDigest,
  PinakesError,
  parseDigest,
  sameDigest,
  toHex,
} from '../../base/index.ts';
import {
  type BlockFacts,
  type BlockScanOptions,
  type HttpHead,
  judgeDigests,
  type RecordHead,
  verdictScanOptions,
} from '../../warc/index.ts';
import { ARC_NAME } from '../collection.ts';
import { SpanReader, type SpanRecord } from './span-reader.ts';

/** The algorithm of the digests that converted ARC records declare. */
export const ARC_ALGORITHM: DigestAlgorithm = 'sha256';
/** The algorithm with which indexers compute the digest of a record that does not declare one. */
const INDEXER_ALGORITHM: DigestAlgorithm = 'sha1';

export type OriginalCheck = {
  readonly file: string;
  readonly originals: readonly CheckedOriginal[];
  /** How many leading bytes of a digest are compared; for tests that make digests collide. */
  readonly digestBytes?: number | undefined;
};

export type CheckedOriginal = {
  readonly offset: number;
  readonly length: number;
  readonly uri: string;
  readonly date: string;
  /** `algorithm:hex`, as in the manifest. */
  readonly digest: string;
  readonly payloadBytes: number | null;
};

export type OriginalVerdict =
  | {
      readonly isUsable: true;
      /** The payload digest for the revisits, so that indexes list both records under one digest. */
      readonly digestText: string;
      /**
       * Content codings and chunking, joined. A duplicate with other codings stays. Null when the original was not
       * read.
       */
      readonly codings: string | null;
    }
  | { readonly isUsable: false; readonly reason: string };

/**
 * Revisits can refer to ARC records only after conversion. Without it, these records have no id, and indexes list them
 * under another digest.
 */
export const NOT_CONVERTED = 'the record is in an ARC file that is not converted';

/** Checks the originals in one file. When the file cannot be read, none of them is usable; that is not an error. */
export function checkOriginals(check: OriginalCheck): OriginalVerdict[] {
  let reader: SpanReader;
  try {
    reader = new SpanReader(check.file);
  } catch (error) {
    if (!(error instanceof PinakesError)) throw error;
    return check.originals.map(() => refusal('its file cannot be read'));
  }
  using _ = reader;
  return checkIn(reader, check);
}

function checkIn(reader: SpanReader, check: OriginalCheck): OriginalVerdict[] {
  const { originals } = check;
  const verdicts: OriginalVerdict[] = [];
  /** Originals whose declared digest is not the digest of the plain payload; it may cover other bytes. */
  const unclear: number[] = [];
  reader.read(originals, {
    wants: (index, head) => plainWants(originals[index]!, head),
    onRecord: (index, record) => {
      const isUnconverted = record?.head.format === 'arc' && !ARC_NAME.test(check.file);
      const verdict = isUnconverted ? refusal(NOT_CONVERTED) : judge(originals[index]!, record, check.digestBytes);
      if (verdict === 'unclear') unclear.push(index);
      else verdicts[index] = verdict;
    },
  });
  const spans = unclear.map((index) => originals[index]!);
  reader.read(spans, {
    wants: (index, head) => verdictScanOptions(head, [algorithmOf(spans[index]!)]),
    onRecord: (index, record) => {
      verdicts[unclear[index]!] = judgeClosely(spans[index]!, record, check.digestBytes);
    },
  });
  return verdicts;
}

/** The digests to compute: the digest in the manifest, and the digest that `plainDigestText` returns. */
function plainWants(original: CheckedOriginal, head: RecordHead): BlockScanOptions {
  const algorithm = algorithmOf(original);
  if (head.format === 'arc') return { payload: [...new Set([algorithm, ARC_ALGORITHM])] };
  const declared = head.get('warc-payload-digest');
  if (declared === undefined) return { payload: [algorithm], framed: [INDEXER_ALGORITHM] };
  return { payload: [...new Set([algorithm, parseDigest(declared)?.algorithm ?? algorithm])] };
}

function refusal(reason: string): OriginalVerdict {
  return { isUsable: false, reason };
}

function judge(
  original: CheckedOriginal,
  record: SpanRecord | undefined,
  digestBytes: number | undefined,
): OriginalVerdict | 'unclear' {
  const fault = faultOf(original, record);
  if (fault !== undefined || !record) return refusal(fault ?? '');
  const { head, facts } = record;
  const isRight = hasDigest(facts, original.digest, digestBytes);
  const digestText = isRight ? plainDigestText(head, facts) : undefined;
  if (digestText === undefined) return 'unclear';
  return { isUsable: true, digestText, codings: codingsOf(facts.http) };
}

/** Judges an original with all digests computed that a declared digest can cover. */
function judgeClosely(
  original: CheckedOriginal,
  record: SpanRecord | undefined,
  digestBytes: number | undefined,
): OriginalVerdict {
  const fault = faultOf(original, record);
  if (fault !== undefined || !record) return refusal(fault ?? '');
  const { head, facts } = record;
  if (!hasDigest(facts, original.digest, digestBytes)) return refusal('it has another digest');
  const { payload } = judgeDigests(head, facts, true);
  const isTrue = payload === 'payload' || payload === 'framed' || payload === 'decoded';
  const declared = head.get('warc-payload-digest');
  if (!isTrue || declared === undefined) return refusal('it declares a wrong digest');
  return { isUsable: true, digestText: declared, codings: codingsOf(facts.http) };
}

/** Why revisits may not refer to a record, apart from its digest; undefined when they may. */
function faultOf(original: CheckedOriginal, record: SpanRecord | undefined): string | undefined {
  if (!record) return 'the record cannot be read any more';
  const { head, facts } = record;
  if (head.type !== 'response') return `it is a ${head.type || 'typeless'} record`;
  if (head.targetUri !== original.uri || head.date !== original.date) return 'another record is at its place';
  if (head.get('warc-truncated') !== undefined) return 'it is truncated';
  if (facts.isChunkingBroken) return 'its chunks are broken';
  const isOfSize = original.payloadBytes === null || facts.payloadBytes === original.payloadBytes;
  return isOfSize ? undefined : 'it has another size';
}

/**
 * The payload digest for the revisits, as text. Replay tools look up the original under exactly this text. So a revisit
 * repeats the digest that the original declares. For an original without a declared digest, the revisit has the digest
 * that indexers compute: the SHA-1 of the stored body, chunk framing included. For an ARC record, the revisit has the
 * digest that the conversion will declare. Undefined when the declared digest is not the digest of the plain payload.
 */
function plainDigestText(head: RecordHead, facts: BlockFacts): string | undefined {
  if (head.format === 'arc') return textIn(facts.payloadDigests, ARC_ALGORITHM);
  const declared = head.get('warc-payload-digest');
  if (declared !== undefined) {
    const digest = parseDigest(declared);
    const isTrue = digest !== undefined && facts.payloadDigests.some((found) => sameDigest(found, digest));
    return isTrue ? declared : undefined;
  }
  return textIn(facts.framedDigests, INDEXER_ALGORITHM);
}

function textIn(digests: readonly Digest[], algorithm: DigestAlgorithm): string {
  const digest = digests.find((found) => found.algorithm === algorithm);
  assert(digest !== undefined, `${algorithm} was computed`);
  return formatDigest(digest);
}

export function algorithmOf({ digest }: { readonly digest: string }): DigestAlgorithm {
  return digest.slice(0, digest.indexOf(':')) as DigestAlgorithm;
}

/**
 * Whether the payload has this digest. A digest that was taken from the head of a record may also cover chunk framing.
 */
export function hasDigest(facts: BlockFacts, digest: string, digestBytes: number | undefined): boolean {
  const wanted = digest.slice(digest.indexOf(':') + 1);
  const digits = digestBytes === undefined ? wanted.length : digestBytes * 2;
  return [...facts.payloadDigests, ...facts.framedDigests].some((found) => {
    const hex = toHex(found.bytes);
    return hex.length === wanted.length && hex.slice(0, digits) === wanted.slice(0, digits);
  });
}

function codingsOf(http: HttpHead | undefined): string {
  return [...(http?.contentCodings ?? []), ...(http?.isChunked ? ['chunked'] : [])].join(',');
}

/**
 * Whether the codings are the same. They must be the same, because replay decodes the body of the original and shows it
 * with the head of the duplicate.
 */
export function hasCodings(http: HttpHead, codings: string | null): boolean {
  return codings === null || codingsOf(http) === codings;
}
