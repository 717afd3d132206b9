/**
 * The problems that a verification can find, sorted by code. A problem is data for the caller, with its place and the
 * captures that depend on it.
 */
import type { Finding, FindingLevel } from '../base/index.ts';

export type ProblemLevel = FindingLevel;

type ProblemEntry = { readonly level: ProblemLevel; readonly says: string };

const entry = (level: ProblemLevel, says: string): ProblemEntry => ({ level, says });

/** `error`: something cannot be read, or an answer is wrong. `warning`: nothing is lost, but something is unusual. */
export const PROBLEM_CATALOGUE = {
  'capture-without-record': entry('error', 'the catalog has a capture whose record is not at its place'),
  'catalog-damaged': entry('error', 'the catalog is damaged'),
  'content-changed': entry('error', 'the payload is not the one that was stored'),
  'content-lost': entry('error', 'the record that holds a content cannot be read'),
  'content-missing': entry('error', 'captures have a content that the catalog does not hold'),
  'crawl-state-damaged': entry('error', 'the state of crawls is damaged'),
  'deleted-catalogued': entry('error', 'a deleted record is still in the catalog'),
  'deletion-undone': entry('error', 'the catalog lacks a deletion that is recorded'),
  'deletion-unreadable': entry('error', 'the record of a deletion cannot be read'),
  'digest-disagrees': entry('warning', 'the digest that the record declares does not match its bytes'),
  'index-damaged': entry('error', 'the search index, or an order of URLs made from it, is damaged'),
  'record-damaged': entry('error', 'bytes of the segment cannot be read as records'),
  'record-odd': entry('warning', 'a record breaks a rule of the standard'),
  'record-uncatalogued': entry('error', 'a record is not in the catalog'),
  'references-wrong': entry('error', 'the catalog counts the captures of a content wrongly'),
  'revisit-target-gone': entry(
    'warning',
    'the record that a revisit names is not in the archive, although its content is',
  ),
  'revisit-unresolved': entry('warning', 'the original of a revisit is not in the archive'),
  'segment-grown': entry('warning', 'the segment is longer than in the catalog'),
  'segment-misnamed': entry('warning', 'a file is not a segment because of the characters in its name'),
  'segment-missing': entry('error', 'the segment is not in its volume'),
  'segment-short': entry('error', 'the segment is shorter than in the catalog'),
  'segment-unreadable': entry('error', 'the segment cannot be read'),
  'snapshots-damaged': entry('error', 'the list of snapshots cannot be read, and nothing is compacted'),
  'totals-wrong': entry('error', 'the totals of the catalog do not match its contents'),
  'volume-missing': entry('error', 'the volume is not there'),
} as const satisfies Record<string, ProblemEntry>;

export type ProblemCode = keyof typeof PROBLEM_CATALOGUE;

export type Problem = {
  readonly code: ProblemCode;
  readonly level: ProblemLevel;
  /** The affected volume and segment, if any. */
  readonly volume: string | undefined;
  readonly segment: string | undefined;
  /** Where the record begins in the segment. */
  readonly offset: number | undefined;
  readonly message: string;
  /** How many captures cannot be read, or not correctly, because of the problem. */
  readonly leaning: number;
  /** URLs of some of these captures. */
  readonly examples: readonly string[];
};

export type ProblemPlace = {
  readonly volume?: string | undefined;
  readonly segment?: string | undefined;
  readonly offset?: number | undefined;
};

/** A problem as a finding in a file, by default with the message of the catalogue. */
export function problemFinding(code: ProblemCode, file: string, offset: number, message?: string): Finding {
  const { level, says } = PROBLEM_CATALOGUE[code];
  return { code, level, file, offset, message: message ?? says };
}

export function verifyProblem(
  code: ProblemCode,
  place: ProblemPlace,
  more: { detail?: string; leaning?: number; examples?: readonly string[] } = {},
): Problem {
  const { level, says } = PROBLEM_CATALOGUE[code];
  return {
    code,
    level,
    volume: place.volume,
    segment: place.segment,
    offset: place.offset,
    message: more.detail ? `${says}: ${more.detail}` : says,
    leaning: more.leaning ?? 0,
    examples: more.examples ?? [],
  };
}
