/**
 * Looks at originals before anything leans on them (I1): is the record there, whole, of the URI and date that the revisits will name, and does
 * its payload have the digest and the size that its duplicates have? It is read and hashed once more for that, whatever the first pass said.
 */
import { type DigestAlgorithm, formatDigest, toHex } from '../base/index.ts';
import { type BlockFacts, judgeDigests, type RecordHead, verdictWants } from '../warc/index.ts';
import { SpanReader } from './span-reader.ts';

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
      readonly isFine: true;
      /** What revisits give as their payload digest, so that indexes put both under one digest. */
      readonly digestText: string;
      /** Content codings, joined; a duplicate with others stays what it is. Null when nobody looked. */
      readonly codings: string | null;
    }
  | { readonly isFine: false; readonly reason: string };

export function checkOriginals(check: OriginalCheck): OriginalVerdict[] {
  const { originals } = check;
  const verdicts: OriginalVerdict[] = [];
  const reader = new SpanReader(check.file);
  try {
    reader.read(originals, {
      wants: (index, head) => {
        const { algorithm } = digestIn(originals[index]!);
        const wants = verdictWants(head, [algorithm]);
        return head.get('warc-payload-digest') === undefined
          ? { ...wants, framed: [...new Set<DigestAlgorithm>([...(wants.framed ?? []), 'sha1'])] }
          : wants;
      },
      onRecord: (index, record) => {
        const original = originals[index]!;
        verdicts[index] = record
          ? judge(original, record.head, record.facts, check.digestBytes)
          : { isFine: false, reason: 'the record cannot be read any more' };
      },
    });
    return verdicts;
  } finally {
    reader.close();
  }
}

function judge(
  original: CheckedOriginal,
  head: RecordHead,
  facts: BlockFacts,
  digestBytes: number | undefined,
): OriginalVerdict {
  const no = (reason: string): OriginalVerdict => ({ isFine: false, reason });
  if (head.type !== 'response' && head.type !== 'resource') return no(`it is a ${head.type || 'nameless'} record`);
  if (head.targetUri !== original.uri || head.date !== original.date) return no('another record stands there');
  if (head.get('warc-truncated') !== undefined) return no('it is truncated');
  if (facts.chunkingBroken) return no('its chunks are broken');
  if (original.payloadBytes !== null && facts.payloadBytes !== original.payloadBytes) return no('its size is another');
  if (!hasDigest(facts, original.digest, digestBytes)) return no('its digest is another');
  return { isFine: true, digestText: digestTextOf(head, facts, original), codings: codingsOf(facts) };
}

/** Whether the payload has a digest of a manifest; one taken from a record's head may cover the chunk framing as well. */
export function hasDigest(facts: BlockFacts, digest: string, digestBytes: number | undefined): boolean {
  const wanted = digest.slice(digest.indexOf(':') + 1);
  const digits = digestBytes === undefined ? wanted.length : digestBytes * 2;
  return [...facts.payloadDigests, ...facts.framedDigests].some((found) => {
    const hex = toHex(found.bytes);
    return hex.length === wanted.length && hex.slice(0, digits) === wanted.slice(0, digits);
  });
}

export function codingsOf(facts: BlockFacts): string {
  return facts.http?.contentCodings.join(',') ?? '';
}

/** Whether a body can be taken for another: replay decodes with the codings of the one and shows it under the head of the other. */
export function hasCodings(facts: BlockFacts, codings: string | null): boolean {
  return codings === null || codingsOf(facts) === codings;
}

function digestIn(original: CheckedOriginal): { algorithm: DigestAlgorithm } {
  return { algorithm: original.digest.slice(0, original.digest.indexOf(':')) as DigestAlgorithm };
}

/**
 * Replay tools look for the original of a revisit under the digest that the revisit gives, letter by letter. So a revisit repeats the digest that
 * the original declares, if that is a digest of it at all; for an original without one it gives what indexers compute for such a record, which
 * is the SHA-1 of its stored body. A chunked body's would not be a payload digest, so there the true one stands.
 */
function digestTextOf(head: RecordHead, facts: BlockFacts, original: CheckedOriginal): string {
  const { algorithm } = digestIn(original);
  const computed = facts.payloadDigests.find((digest) => digest.algorithm === algorithm)!;
  if (head.format === 'arc') return formatDigest(computed);
  const declared = head.get('warc-payload-digest');
  if (declared !== undefined) {
    const { payload } = judgeDigests(head, facts, true);
    return payload === 'payload' || payload === 'framed' || payload === 'decoded' ? declared : formatDigest(computed);
  }
  const stored = facts.framedDigests.find((digest) => digest.algorithm === 'sha1');
  return stored && !facts.isChunked ? formatDigest(stored) : formatDigest(computed);
}
