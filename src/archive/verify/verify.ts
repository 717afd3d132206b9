/**
 * Verifies an archive: segments, digests, reference counts, revisits, and the catalog against the segments.
 *
 * ```
 *   check     every byte of the files of the catalog; nothing else begins until they are sound   (full only)
 *   walk      every segment from its beginning, record by record, against the catalog (quick: payloads are not hashed)
 *   count     captures and holders of each segment in the catalog against the walk, and references of each block
 *   examine   only where the sums differ: which captures and contents are affected
 * ```
 * Memory does not grow with the archive (I9): it contains sums of segments, never lists of records. A missing volume is
 * reported once, by name, and everything in other volumes is verified.
 *
 * Nobody waits for a verification, and it takes a small part of the time while others write (see pace.ts). It verifies
 * the segments that the archive has when it begins, up to their lengths at that moment, and the segments that replace
 * them meanwhile. What changes under it is looked at again before it is reported (see segment-watch.ts): a problem is
 * reported only if the archive has it at that moment. A rebuild makes the verification begin again.
 *
 * There is no view of the catalog for the whole of it, which may take days, since a view keeps what is removed. The
 * walk takes a view for each group of records. One view serves the count, and two the examination. Between the walk and
 * the count, records may have been deleted, and other records may hold their contents: the deleted ones are subtracted
 * from the sums of the walk, and segments whose contents have other holders are examined.
 */
import { PinakesError } from '../../base/index.ts';
import type { Capture, CatalogView, Place, Segment } from '../../catalog/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { isResolvable } from '../revisit/resolve-later.ts';
import { deletedRecords } from '../segment/deleted-records.ts';
import type { Problem, ProblemCode } from '../verify-problem.ts';
import { type CatalogCount, countCatalog, reportWrongReferences } from './catalog-count.ts';
import { checkDeletions } from './deletion-check.ts';
import { Examination } from './examination.ts';
import { LostParts } from './lost.ts';
import { Pace } from './pace.ts';
import { PlaceSum } from './place-sum.ts';
import { ProblemReporter } from './problem-reporter.ts';
import { ReferenceCount } from './reference-count.ts';
import { type Dead, type Walked, walkSegment } from './segment-walk.ts';
import { RebuiltMeanwhile, SegmentChanged, SegmentWatch } from './segment-watch.ts';

export type VerifyOptions = {
  /** Whether payloads are hashed. `quick` checks only structure and catalog. */
  readonly depth?: 'quick' | 'full';
  readonly onProblem?: (problem: Problem) => void | Promise<void>;
  readonly onProgress?: (progress: { segment: string; bytes: number }) => void;
  /** Checks that a full verification adds for files beside the segments and the catalog. */
  readonly others?: (signal: AbortSignal | undefined) => AsyncIterable<Problem>;
  readonly signal?: AbortSignal | undefined;
};

const NO_COUNTS = {
  segments: 0,
  bytes: 0,
  records: 0,
  captures: 0,
  blocks: 0,
  unresolved: 0,
  errors: 0,
  warnings: 0,
};

export type VerifyReport = typeof NO_COUNTS;

/** How often segments that replaced others meanwhile are walked. Those of later replacements are only examined. */
const ROUNDS_MAX = 3;
/** A file of the catalog is checked at once. */
const FILE_MS_MAX = 50;

export async function verifyArchive(archive: OpenedArchive, options: VerifyOptions = {}): Promise<VerifyReport> {
  const { stopwatch, closed } = archive;
  if (closed) throw closed;
  const pace = new Pace({ stopwatch, changes: () => archive.changes });
  const reporter = new ProblemReporter(options.onProblem);
  for (;;) {
    const verification = new Verification(archive, options, reporter, pace);
    try {
      return await verification.run();
    } catch (error) {
      if (archive.closed) throw archive.closed;
      // A rebuild also ends the views that were open, and with them what was being read.
      if (!(error instanceof RebuiltMeanwhile) && !verification.isOutdated) throw error;
      await archive.idle();
    }
  }
}

class Verification {
  readonly #archive: OpenedArchive;
  readonly #options: VerifyOptions;
  readonly #isFull: boolean;
  readonly #reporter: ProblemReporter;
  readonly #watch: SegmentWatch;
  readonly #walked = new Map<number, Walked>();
  readonly #lost = new LostParts();
  readonly #examination: Examination;
  #bytes = 0;
  /** Numbers of the segments with captures, and of those with holders, that the walk may not have met. */
  #doubted: Record<'captures' | 'holders', ReadonlySet<number>> = { captures: new Set(), holders: new Set() };

  constructor(archive: OpenedArchive, options: VerifyOptions, reporter: ProblemReporter, pace: Pace) {
    const { signal } = options;
    this.#archive = archive;
    this.#options = options;
    this.#isFull = options.depth !== 'quick';
    this.#reporter = reporter;
    this.#watch = new SegmentWatch(archive, pace, signal);
    this.#examination = new Examination(archive, {
      isFull: this.#isFull,
      watch: this.#watch,
      lost: this.#lost,
      isDoubted: (place, of) => this.#isDoubted(place, of),
      report: reporter.report,
      signal,
    });
  }

  /** Whether the archive was rebuilt since this began. */
  get isOutdated(): boolean {
    return this.#watch.isOutdated;
  }

  async run(): Promise<VerifyReport> {
    const { damage } = this.#archive.snapshots;
    const { report } = this.#reporter;
    if (damage) await report('snapshots-damaged', {}, { detail: `${damage.where}, ${damage.detail}` });
    // A damaged catalog is not queried, since it may answer wrongly or end the process.
    if (this.#isFull && (await this.#isCatalogDamaged())) return this.#finish(undefined);
    for (const { name } of this.#archive.volumes.settings()) {
      const failure = this.#archive.volumes.failureOf(name);
      if (failure) this.#lost.loseVolume(name, failure);
      else
        for (const file of await this.#archive.volumes.misnamed(name))
          await report('segment-misnamed', { volume: name, segment: file });
    }
    const segments = await this.#watch.begin();
    await this.#walk(segments);
    for (const segment of this.#archive.segmentRegistry.unread.difference(new Set(segments.map(({ name }) => name))))
      await report('segment-unreadable', { segment });
    const count = await this.#count();
    if (this.#doubted.holders.size > 0 || this.#lost.size > 0) await this.#examination.examineContents();
    if (this.#doubted.captures.size > 0 || this.#lost.size > 0) await this.#examination.examineCaptures();
    for (const lost of await this.#lost.left((number) => this.#watch.now(number))) await lost.reportTo(report);
    return this.#finish(count);
  }

  /** The checks of files that are not part of the catalog or the volumes. */
  async #finish(count: CatalogCount | undefined): Promise<VerifyReport> {
    const { others, signal } = this.#options;
    if (this.#isFull && others) for await (const problem of others(signal)) await this.#reporter.pass(problem);
    const report: VerifyReport = { ...NO_COUNTS };
    const { errors, warnings } = this.#reporter;
    if (!count) return { ...report, errors, warnings };
    for (const { number, bytes } of count.segments.values()) {
      const walked = this.#walked.get(number);
      if (!walked && !this.#lost.isSegment(number)) continue;
      report.segments++;
      report.bytes += walked?.segment.bytes ?? bytes;
      report.records += walked?.records ?? 0;
    }
    const { captures, blocks, unresolved } = count;
    return { ...report, captures, blocks, unresolved, errors, warnings };
  }

  /** Checks the files of the catalog. While others write, a file may look damaged once. */
  async #isCatalogDamaged(): Promise<boolean> {
    let damaged = await this.#catalogDamage();
    if (damaged.size > 0) {
      await this.#archive.idle();
      damaged = damaged.intersection(await this.#catalogDamage());
    }
    for (const detail of damaged) await this.#reporter.report('catalog-damaged', {}, { detail });
    return damaged.size > 0;
  }

  async #catalogDamage(): Promise<Set<string>> {
    const damaged = new Set<string>();
    for await (const { file, detail } of this.#archive.catalog.check(() => this.#watch.rest(FILE_MS_MAX)))
      damaged.add(`${file}: ${detail}`);
    this.#watch.assertGoesOn();
    return damaged;
  }

  /** Walks the segments of the beginning, and those that replaced them before they could be walked. */
  async #walk(segments: readonly Segment[]): Promise<void> {
    let left: readonly Segment[] = segments;
    for (let round = 0; round < ROUNDS_MAX && left.length > 0; round++) {
      for (const segment of left) await this.#verifySegment(segment);
      const all = await this.#archive.segmentRegistry.all();
      left = this.#watch.ofBeginning(all).filter(({ number }) => !this.#walked.has(number) && !this.#lost.of(number));
    }
  }

  async #verifySegment({ number }: Segment): Promise<void> {
    for (;;) {
      const segment = await this.#watch.now(number);
      if (!segment) return;
      const volume = this.#archive.volumes.find(segment.volume);
      try {
        await this.#walkSegment(segment);
        return;
      } catch (error) {
        if (error instanceof SegmentChanged) continue;
        if (!(error instanceof PinakesError)) throw error;
        const now = await this.#watch.now(number);
        // A volume that gets other settings is closed and opened again.
        if (now?.volume !== segment.volume || this.#archive.volumes.find(segment.volume) !== volume) continue;
        if (error.code === 'VOLUME_MISSING') this.#lost.loseWith(segment, this.#lost.loseVolume(segment.volume, error));
        else this.#lost.lose(segment, 'segment-unreadable', error.message);
        this.#bytes += segment.bytes;
        return;
      }
    }
  }

  async #walkSegment(segment: Segment): Promise<void> {
    const { volume, name, number } = segment;
    const lostVolume = this.#lost.volumes.get(volume);
    if (lostVolume) {
      this.#lost.loseWith(segment, lostVolume);
      return;
    }
    const bytes = await this.#archive.stores.get(volume).lengthOf(segment);
    await this.#watch.assertUnchanged(segment);
    if (bytes === undefined) {
      this.#lost.lose(segment, 'segment-missing', '');
      return;
    }
    if (bytes < segment.bytes) await this.#reportSegment(segment, 'segment-short', sizesOf(bytes, segment));
    const isUnread = await this.#reportGrown(segment);
    const before = this.#bytes;
    const walked = await walkSegment(this.#archive, segment, {
      isFull: this.#isFull,
      watch: this.#watch,
      deadIn: (one, view) => this.#deadIn(one, view),
      report: this.#reporter.report,
      onBytes: (read) => this.#options.onProgress?.({ segment: name, bytes: before + read }),
      signal: this.#options.signal,
    });
    if (isUnread) await this.#reportSegment(segment, 'segment-unreadable', sizesOf(bytes, segment));
    await checkDeletions(this.#archive, segment, { watch: this.#watch, report: this.#reporter.report });
    this.#walked.set(number, walked);
    this.#bytes += segment.bytes;
  }

  /** Returns whether the segment is longer than in the catalog because it could not be read when it was opened. */
  async #reportGrown({ number }: Segment): Promise<boolean> {
    const { segmentRegistry, stores } = this.#archive;
    const { grown } = await this.#watch.untilCertain(async () => {
      const before = await this.#watch.now(number);
      const bytes = before && (await stores.get(before.volume).lengthOf(before));
      const segment = await this.#watch.now(number);
      const isWritten = segment && (this.#archive.isWriting(segment) || segmentRegistry.entering.has(segment.name));
      if (!segment || !bytes || isWritten || bytes <= segment.bytes) return { grown: undefined, doubt: undefined };
      const isStale = segment.bytes !== before?.bytes;
      return { grown: { segment, bytes }, doubt: { segments: [segment], isStale } };
    });
    if (!grown) return false;
    if (segmentRegistry.unread.has(grown.segment.name)) return true;
    await this.#reportSegment(grown.segment, 'segment-grown', sizesOf(grown.bytes, grown.segment));
    return false;
  }

  /** Deleted records of a segment. Their tombstones may be in another volume, which may be missing. */
  async #deadIn(segment: Segment, view: CatalogView): Promise<Dead> {
    const { tombstones } = this.#archive;
    const onMissing = (volume: string, failure: PinakesError) => void this.#lost.loseVolume(volume, failure);
    const deleted = await deletedRecords(this.#archive, segment, { onMissing, view });
    let areAllKnown = true;
    for (const [volume, { tombstonesOf }] of this.#lost.volumes) {
      if (!(await tombstones.areIn(volume, segment.name))) continue;
      tombstonesOf.add(segment.name);
      areAllKnown = false;
    }
    return { offsets: new Set(deleted.map(({ offset }) => offset)), areAllKnown };
  }

  async #count(): Promise<CatalogCount> {
    await using view = await this.#archive.catalog.view();
    const options = {
      watch: this.#watch,
      references: new ReferenceCount(),
      limitsOf: (segments: readonly Segment[]) => this.#limitsOf(segments),
      onUnresolved: (capture: Capture) => this.#reportUnresolved(capture),
      report: this.#reporter.report,
    };
    const count = await countCatalog(view, options);
    await this.#compareSums(count, view);
    await reportWrongReferences(view, options);
    return count;
  }

  /** The lengths of the segments when they were walked. Segments that others began since do not count. */
  async #limitsOf(segments: readonly Segment[]): Promise<ReadonlyMap<number, number>> {
    const ofBeginning = new Set(this.#watch.ofBeginning(segments));
    const limits = new Map<number, number>();
    for (const segment of segments) {
      const walked = this.#walked.get(segment.number);
      if (walked) limits.set(segment.number, walked.segment.bytes);
      else if (!ofBeginning.has(segment)) limits.set(segment.number, 0);
    }
    return limits;
  }

  async #compareSums({ segments, captureSums, holderSums }: CatalogCount, view: CatalogView): Promise<void> {
    const captures = new Set<number>();
    const holders = new Set<number>();
    for (const [number, sum] of captureSums) {
      const walked = this.#walked.get(number);
      const segment = segments.get(number);
      if (!walked || !segment || walked.hasUncatalogued) captures.add(number);
      else if (!sum.equals(walked.captures) && !sum.equals(await this.#livingOf(walked, segment, view)))
        captures.add(number);
      await this.#watch.rest(1);
    }
    for (const [number, sum] of holderSums) if (!this.#walked.get(number)?.holders.equals(sum)) holders.add(number);
    for (const numbers of [captures, holders])
      for (const number of numbers) if (this.#lost.of(number)) numbers.delete(number);
    this.#doubted = { captures, holders };
  }

  /** The records that a walk met, without those that are deleted in a view of the catalog. */
  async #livingOf({ captures, segment: { bytes } }: Walked, segment: Segment, view: CatalogView): Promise<PlaceSum> {
    const living = new PlaceSum();
    living.addAll(captures);
    const { offsets } = await this.#deadIn(segment, view);
    for (const offset of offsets) if (offset < bytes) living.subtract(offset);
    return living;
  }

  #isDoubted({ segment, offset }: Place, of: 'captures' | 'holders'): boolean {
    if (!this.#doubted[of].has(segment)) return false;
    const walked = this.#walked.get(segment);
    return walked === undefined || offset < walked.segment.bytes;
  }

  async #reportUnresolved(capture: Capture): Promise<void> {
    const current = await this.#examination.currentOf(capture, this.#archive.catalog);
    if (!current || current.block || (await isResolvable(this.#archive, current))) return;
    const fault = { code: 'revisit-unresolved', detail: current.url } as const;
    await this.#examination.reportAt(current.place, fault, 1, [current.url]);
  }

  #reportSegment({ volume, name }: Segment, code: ProblemCode, detail: string): Promise<void> {
    return this.#reporter.report(code, { volume, segment: name }, { detail });
  }
}

function sizesOf(bytes: number, segment: Segment): string {
  return `${bytes} bytes, ${segment.bytes} in the catalog`;
}
