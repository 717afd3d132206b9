/**
 * Looks at originals before anything leans on them (I1): is the record there, whole, of the URI and date that the
 * revisits will name, and does its payload have the digest and the size that its duplicates have? It is read and hashed
 * once more for that, whatever the first pass said.
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

/** Of the digests that records of ARC files declare once they are converted. */
export const ARC_ALGORITHM: DigestAlgorithm = 'sha256';
/** What indexers give a record that declares no digest. */
const INDEXER_ALGORITHM: DigestAlgorithm = 'sha1';

export type OriginalCheck = {
  readonly file: string;
  /** `algorithm:hex`, as in the manifest. */
  readonly originals: readonly CheckedOriginal[];
  /** How many leading bytes of a digest count; all of them, except in tests that make digests collide. */
  readonly digestBytes?: number | undefined;
};

export type CheckedOriginal = {
  readonly offset: number;
  readonly length: number;
  readonly uri: string;
  readonly date: string;
  readonly digest: string;
  readonly payloadBytes: number | null;
};

export type OriginalVerdict =
  | {
      readonly isUsable: true;
      /** What revisits give as their payload digest, so that indexes put both under one digest. */
      readonly digestText: string;
      /** Content codings and chunking, joined; a duplicate with others stays what it is. Null when nobody looked. */
      readonly codings: string | null;
    }
  | { readonly isUsable: false; readonly reason: string };

/**
 * Revisits refer to what conversion makes of ARC records; as they are, they have no id, and indexes have them under
 * another digest.
 */
export const NOT_CONVERTED = 'it is a record of an ARC file that is not converted';

/** A file that cannot be read is no failure here: nothing can lean on what is in it, and that is all. */
export function checkOriginals(check: OriginalCheck): OriginalVerdict[] {
  let reader: SpanReader;
  try {
    reader = new SpanReader(check.file);
  } catch (error) {
    if (!(error instanceof PinakesError)) throw error;
    return check.originals.map(() => no('its file cannot be read'));
  }
  return checkIn(reader, check);
}

function checkIn(reader: SpanReader, check: OriginalCheck): OriginalVerdict[] {
  const { originals } = check;
  const verdicts: OriginalVerdict[] = [];
  try {
    /** Originals whose declared digest is not one of the plain payload: it may cover something else. */
    const unclear: number[] = [];
    reader.read(originals, {
      wants: (index, head) => plainWants(originals[index]!, head),
      onRecord: (index, record) => {
        const isLeft = record?.head.format === 'arc' && !ARC_NAME.test(check.file);
        const verdict = isLeft ? no(NOT_CONVERTED) : judge(originals[index]!, record, check.digestBytes);
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
  } finally {
    reader.close();
  }
}

/**
 * Of the manifest, and what `plainDigestText` gives: of the record's own declaration, or as indexers and the conversion
 * of ARC files compute it.
 */
function plainWants(original: CheckedOriginal, head: RecordHead): BlockScanOptions {
  const algorithm = algorithmOf(original);
  if (head.format === 'arc') return { payload: [...new Set([algorithm, ARC_ALGORITHM])] };
  const declared = head.get('warc-payload-digest');
  if (declared === undefined) return { payload: [algorithm], framed: [INDEXER_ALGORITHM] };
  return { payload: [...new Set([algorithm, parseDigest(declared)?.algorithm ?? algorithm])] };
}

function no(reason: string): OriginalVerdict {
  return { isUsable: false, reason };
}

function judge(
  original: CheckedOriginal,
  record: SpanRecord | undefined,
  digestBytes: number | undefined,
): OriginalVerdict | 'unclear' {
  const fault = faultOf(original, record);
  if (fault !== undefined || !record) return no(fault ?? '');
  const { head, facts } = record;
  const isRight = hasDigest(facts, original.digest, digestBytes);
  const digestText = isRight ? plainDigestText(head, facts) : undefined;
  if (digestText === undefined) return 'unclear';
  return { isUsable: true, digestText, codings: codingsOf(facts.http) };
}

/** With everything hashed that a declared digest can cover. */
function judgeClosely(
  original: CheckedOriginal,
  record: SpanRecord | undefined,
  digestBytes: number | undefined,
): OriginalVerdict {
  const fault = faultOf(original, record);
  if (fault !== undefined || !record) return no(fault ?? '');
  const { head, facts } = record;
  if (!hasDigest(facts, original.digest, digestBytes)) return no('its digest is another');
  const { payload } = judgeDigests(head, facts, true);
  const isTrue = payload === 'payload' || payload === 'framed' || payload === 'decoded';
  const declared = head.get('warc-payload-digest');
  if (!isTrue || declared === undefined) return no('it declares a digest that is not its own');
  return { isUsable: true, digestText: declared, codings: codingsOf(facts.http) };
}

/** What keeps a record from being leaned on, its digest apart. */
function faultOf(original: CheckedOriginal, record: SpanRecord | undefined): string | undefined {
  if (!record) return 'the record cannot be read any more';
  const { head, facts } = record;
  if (head.type !== 'response') return `it is a ${head.type || 'nameless'} record`;
  if (head.targetUri !== original.uri || head.date !== original.date) return 'another record stands there';
  if (head.get('warc-truncated') !== undefined) return 'it is truncated';
  if (facts.isChunkingBroken) return 'its chunks are broken';
  const isOfSize = original.payloadBytes === null || facts.payloadBytes === original.payloadBytes;
  return isOfSize ? undefined : 'its size is another';
}

/**
 * Replay tools look for the original of a revisit under the digest that the revisit gives, letter by letter. So a
 * revisit repeats the digest that the original declares; for an original without one it gives what indexers compute for
 * such a record, which is the SHA-1 of its body as it is stored, in chunks if it is; and for a record of an ARC file
 * what its conversion will declare. Undefined when the declared digest is none of the plain payload.
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
  assert(digest !== undefined, `${algorithm} was asked for`);
  return formatDigest(digest);
}

function algorithmOf(original: CheckedOriginal): DigestAlgorithm {
  return original.digest.slice(0, original.digest.indexOf(':')) as DigestAlgorithm;
}

/**
 * Whether the payload has a digest of a manifest; one taken from a record's head may cover the chunk framing as well.
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
 * Whether a body can be taken for another: replay decodes with the codings of the one and shows it under the head of
 * the other.
 */
export function hasCodings(http: HttpHead, codings: string | null): boolean {
  return codings === null || codingsOf(http) === codings;
}
