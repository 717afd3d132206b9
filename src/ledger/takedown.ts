/**
 * A takedown: contents and URLs are barred for good, and every capture of them is deleted (D3).
 *
 * The bars are in the first commit, with the captures that are found by then. From that commit on no writer, heal, copy
 * or rebuild can enter them again. What was stored between the search and the commit is found by searching again, until
 * nothing is found. A search sees the catalog of one instant. Captures that were found are deleted where they are then.
 *
 * Bytes that were barred may be in any segment that is not sealed: in records that are dead now, and in what a writer
 * put before its commit was refused. Compaction removes bytes of sealed segments only. So the takedown asks for every
 * such segment to be sealed, by a note that its writer reads when it renews its lease, and waits for it:
 *
 * ```
 *   note  seal:<name of the segment>     id of the request
 * ```
 * A writer that is gone is healed, which seals. `proveTakedown` says what is still missing until the bytes are gone:
 * segments to seal, and dead records to compact away. On a volume whose signed PUTs may arrive late, the caller also
 * waits until these have expired.
 */
import { equal, PinakesError, toHex } from '../base/index.ts';
import type { Bar, Capture, Catalog, CatalogView, CommitGroup, DeadRecord, Lease, Segment } from '../catalog/index.ts';
import { rangeOfKey } from '../catalog/index.ts';
import { askAgain } from './ask-again.ts';
import type { Deleter } from './delete.ts';
import { DELETED_AT_ONCE_MAX, isDeletionSegment } from './deletion-record.ts';

export const SEAL_NOTE = 'seal:';

export type TakedownRequest = {
  readonly id: string;
  /** At most as many as a deletion record lists. */
  readonly bars: readonly Bar[];
};

export type TakedownReport = {
  readonly captures: number;
  /** Segments that may hold the bytes and are not sealed yet. */
  readonly unsealed: readonly string[];
};

export type TakedownOptions = {
  readonly catalog: Catalog;
  /** That of the deleter. */
  readonly lease: Lease | undefined;
  readonly deleter: Deleter;
  /** Runs a step while this process changes nothing else. Searches are not in a step, since they read everything. */
  readonly exclusive?: <Answer>(step: () => Promise<Answer>) => Promise<Answer>;
  /** Seals those of these segments that this process writes, and heals those whose writers are gone. */
  readonly seal: (names: readonly string[]) => Promise<void>;
  readonly sleep: (ms: number) => Promise<void>;
  /** How long to wait for others to seal. Default: two lives of a lease. */
  readonly waitMs?: number;
};

const WAIT_MS = 120_000;
const POLL_MS = 1000;

export async function takeDown(options: TakedownOptions, { id, bars }: TakedownRequest): Promise<TakedownReport> {
  const { catalog, deleter, exclusive = (step) => step() } = options;
  // Asked for before anything is barred too: if this process dies, the proof still names these segments.
  const asked = await exclusive(() => askToSeal(options, id));
  let captures = 0;
  for (let isBarred = false; ; isBarred = true) {
    const found = await capturesUnder(catalog, bars, DELETED_AT_ONCE_MAX);
    if (isBarred && found.length === 0) break;
    const report = await exclusive(() => deleter.deleteCaptures(found, id, isBarred ? [] : bars));
    captures += report.captures;
  }
  const unsealed = await exclusive(async () => {
    for (const name of await askToSeal(options, id)) asked.add(name);
    return sealed(options, [...asked]);
  });
  return { captures, unsealed };
}

/** Captures that the bars apply to, at most `limit`. Captures are not indexed by content, so all of them are read. */
async function capturesUnder(
  catalog: Pick<CatalogView, 'captures'>,
  bars: readonly Bar[],
  limit: number,
): Promise<Capture[]> {
  const found = new Map<string, Capture>();
  const add = (capture: Capture) => found.set(`${capture.place.segment} ${capture.place.offset}`, capture);
  for (const bar of bars) {
    if (bar.kind !== 'url') continue;
    for await (const page of catalog.captures(rangeOfKey(bar.urlKey)))
      for (const capture of page) if (found.size < limit) add(capture);
  }
  const digests = new Set(bars.flatMap((bar) => (bar.kind === 'content' ? [toHex(bar.digest)] : [])));
  if (digests.size > 0)
    for await (const page of catalog.captures({})) {
      for (const capture of page)
        if (found.size < limit && capture.block && digests.has(toHex(capture.block.digest))) add(capture);
      if (found.size >= limit) break;
    }
  return [...found.values()];
}

/** Asks for all segments to be sealed that are open now. Returns their names. */
async function askToSeal({ catalog, lease }: TakedownOptions, id: string): Promise<Set<string>> {
  const asked = new Set((await unsealedSegments(catalog)).map(({ name }) => name));
  const putNotes = Object.fromEntries(Array.from(asked, (name) => [SEAL_NOTE + name, id]));
  if (asked.size > 0) await changeNotes(catalog, { lease, putNotes });
  return asked;
}

/** Waits until these segments are sealed. Returns those that are not. */
async function sealed(
  { catalog, lease, seal, sleep, waitMs = WAIT_MS }: TakedownOptions,
  asked: readonly string[],
): Promise<string[]> {
  if (asked.length === 0) return [];
  let left = asked;
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    await seal(left);
    const unsealed = new Set((await unsealedSegments(catalog)).map(({ name }) => name));
    left = left.filter((name) => unsealed.has(name));
    if (left.length === 0 || waitedMs >= waitMs) break;
    await sleep(POLL_MS);
  }
  const removeNotes = asked.filter((name) => !left.includes(name)).map((name) => SEAL_NOTE + name);
  if (removeNotes.length > 0) await changeNotes(catalog, { lease, removeNotes });
  return [...left];
}

async function changeNotes(
  catalog: Catalog,
  group: Pick<CommitGroup, 'lease' | 'putNotes' | 'removeNotes'>,
): Promise<void> {
  const { kind } = await askAgain(() => catalog.commit(group));
  if (kind === 'fenced') throw new PinakesError('LEASE_LOST', { detail: 'not all segments are asked to be sealed' });
}

/** Segments that captures may be in and that are not sealed. Even an empty one may have parts that were put. */
async function unsealedSegments(catalog: Pick<CatalogView, 'segments'>): Promise<Segment[]> {
  const segments = await catalog.segments();
  return segments.filter((segment) => segment.state !== 'sealed' && !isDeletionSegment(segment));
}

/** Which of these segments a takedown wants sealed. For a writer, when it renews its lease. */
export async function segmentsToSeal(catalog: Pick<CatalogView, 'notes'>, names: readonly string[]): Promise<string[]> {
  const asked = await catalog.notes(SEAL_NOTE);
  return names.filter((name) => asked[SEAL_NOTE + name] !== undefined);
}

/** What keeps the bytes of barred contents in the archive. */
export type TakedownProof = {
  /** Captures that are still there: the takedown did not come to its end. */
  readonly captures: number;
  /** Segments that are not sealed and were there when the takedown asked for it. */
  readonly unsealed: readonly string[];
  /**
   * Segments with dead records of the contents, which compaction has to remove. Dead records do not say their URLs, so
   * for a barred URL these are all segments with dead records.
   */
  readonly uncompacted: readonly string[];
};

export async function proveTakedown(catalog: CatalogView, bars: readonly Bar[]): Promise<TakedownProof> {
  const asked = await catalog.notes(SEAL_NOTE);
  const digests = bars.flatMap((bar) => (bar.kind === 'content' ? [bar.digest] : []));
  const hasUrl = bars.some(({ kind }) => kind === 'url');
  const uncompacted: string[] = [];
  const unsealed: string[] = [];
  for (const { number, name, deadBytes, state } of await catalog.segments()) {
    if (state !== 'sealed' && asked[SEAL_NOTE + name] !== undefined) unsealed.push(name);
    if (deadBytes === 0) continue;
    const dead = hasUrl ? [] : await catalog.deadRecords(number);
    const isBarred = ({ block }: DeadRecord) => block && digests.some((digest) => equal(digest, block.digest));
    if (hasUrl || dead.some(isBarred)) uncompacted.push(name);
  }
  const { length: captures } = await capturesUnder(catalog, bars, 1);
  return { captures, unsealed, uncompacted };
}
