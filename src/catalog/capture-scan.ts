/** Questions for captures: those about one moment are answered by one scan. */
import { assert, type EpochMs } from '../base/index.ts';
import type { UrlKey } from '../url/index.ts';
import type { Capture, CapturePosition, CaptureQuestion } from './catalog.ts';
import { clampTime } from './key-order.ts';

/** The rule of `nearest`, applied to all captures of a key in order. */
export function nearestOf(
  captures: readonly Capture[],
  time: EpochMs,
  side: 'either' | 'notAfter' = 'either',
): Capture | undefined {
  let best: Capture | undefined;
  for (const capture of captures) {
    if (side === 'notAfter' && capture.time > time) break;
    const isFarther = best && capture.time > time && capture.time - time >= time - best.time;
    if (isFarther && capture.time !== best!.time) break;
    best = capture;
  }
  return best;
}

/** A scan of the captures of one moment, for all questions about them. */
export type Scan<Found> = {
  readonly question: CaptureQuestion;
  /** The wanted hashes; undefined for all. */
  hashes: Set<number> | undefined;
  readonly found: Found[];
};

/**
 * The scans that answer the questions, except for questions that name a place, and the scan of each question.
 */
export function scansFor<Found>(questions: readonly CaptureQuestion[]): {
  scans: Scan<Found>[];
  scanOf: Map<CaptureQuestion, Scan<Found>>;
} {
  const scans: Scan<Found>[] = [];
  const ofKey = new Map<UrlKey, Scan<Found>[]>();
  const scanOf = new Map<CaptureQuestion, Scan<Found>>();
  for (const question of questions) {
    if (question.at) continue;
    const { urlKey, ofHash } = question;
    assert(ofHash === undefined || question.limit === undefined, 'a question for a hash has no limit');
    const earlier = ofKey.get(urlKey);
    const same = earlier?.find((scan) => isSameScan(scan.question, question));
    const scan = same ?? { question, hashes: ofHash === undefined ? undefined : new Set<number>(), found: [] };
    if (ofHash === undefined) scan.hashes = undefined;
    else scan.hashes?.add(ofHash);
    scanOf.set(question, scan);
    if (same) continue;
    scans.push(scan);
    if (earlier) earlier.push(scan);
    else ofKey.set(urlKey, [scan]);
  }
  return { scans, scanOf };
}

function isSameScan(a: CaptureQuestion, b: CaptureQuestion): boolean {
  return a.time === b.time && a.timeTo === b.timeTo && a.limit === b.limit;
}

/** The answer of a scan to a question: all captures, or those with the hash. */
export function answersOf(
  { hashes }: Pick<Scan<unknown>, 'hashes'>,
  captures: readonly Capture[],
): (ofHash?: number) => readonly Capture[] {
  let byHash = hashes && Map.groupBy(captures, ({ hash }) => hash);
  return (ofHash) => {
    if (ofHash === undefined) return captures;
    byHash ??= Map.groupBy(captures, ({ hash }) => hash);
    return byHash.get(ofHash) ?? [];
  };
}

export function positionText(
  { urlKey, time }: Pick<Capture, 'urlKey' | 'time'>,
  { segment, offset }: CapturePosition['place'],
) {
  return `${segment} ${offset} ${time} ${urlKey}`;
}

export function isWholeTime(time: EpochMs): boolean {
  return clampTime(time) === time && Number.isInteger(time);
}
