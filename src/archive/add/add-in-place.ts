/**
 * Makes files read-only segments of the archive at their own places (`add --in-place`). Nothing is copied: a capture
 * whose content the archive already has is counted as a duplicate, but keeps its own record.
 *
 * The catalog lists the segment first, and the link is durable before any of its records is entered. Every step updates
 * the segment's length. So the next opening of the archive finishes an interrupted add (see heal.ts). Records that
 * share a compressed member do not have places of their own and cannot be read in place. A file with such records is
 * refused.
 *
 * A file on another server is copied into the scratch folder while its records are entered (remote-input.ts).
 *
 * Captures can be deleted between two steps. Compaction, migration and rebuilding, which number or move segments, wait
 * until all files are entered.
 */
import { createHash } from 'node:crypto';
import { basename, resolve } from 'node:path';
import { type Finding, fileError, PinakesError } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import {
  ARCHIVE_FIELDS,
  commitUntilTaken,
  isUndated,
  LeftOut,
  namedContent,
  type RecordFacts,
  ScanFacts,
} from '../../ledger/index.ts';
import { type InspectedFile, isRemoteUrl, type LinkedVolume, type RemotePlace } from '../../volume/index.ts';
import {
  type Coding,
  codingOf,
  notArchiveFile,
  readFileStart,
  readRecords,
  type ScanBatch,
  scanFiles,
  warcFinding,
} from '../../warc/index.ts';
import { inSegment } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { CatalogDraft } from '../revisit/catalog-draft.ts';
import { deletedOffsets } from '../segment/deleted-records.ts';
import { changeSegment, newSegment, unlistSegment } from '../segment/listed-segment.ts';
import { OddCounter } from '../segment/odd-records.ts';
import { placeOf } from '../segment/remote-place.ts';
import { Registrar } from '../write/registrar.ts';
import { renamed, workersFor } from './add-input.ts';
import { type AddOptions, type AddReport, emptyReport } from './add-report.ts';
import { isPackage } from './package-spool.ts';
import { copyRemote, type RemoteCopy } from './remote-input.ts';

/** The catalog's note for a file with errors, and its value when the disk could not read all of the file. */
const DAMAGED_NOTE = 'linked-damaged:';
const HAS_GAP = 'gap';
const STEP_RECORDS = 2000;
const STEM_LENGTH_MAX = 120;

/** A file to be linked. */
type Linkable = {
  /** Where its bytes are while they are entered. */
  readonly path: string;
  objectName(): Promise<string>;
  link(name: string): Promise<void>;
};

export async function addInPlace(
  archive: OpenedArchive,
  volume: LinkedVolume,
  files: readonly string[],
  options: AddOptions,
): Promise<AddReport> {
  const report = emptyReport();
  const distinct = [...new Set(files)];
  const local = distinct
    .filter((file) => !isRemoteUrl(file))
    .map((path) => ({
      path,
      objectName: () => objectName(path),
      link: (name: string) => volume.link(path, name),
    }));
  try {
    await enterFiles(archive, volume, local, report, options);
    for (const url of distinct.filter(isRemoteUrl)) await enterRemote(archive, volume, url, report, options);
    return report;
  } finally {
    archive.segmentRegistry.entering.clear();
  }
}

async function enterRemote(
  archive: OpenedArchive,
  volume: LinkedVolume,
  url: string,
  report: AddReport,
  options: AddOptions,
): Promise<void> {
  const { signal } = options;
  const onProgress = (bytes: number) => options.onProgress?.({ file: url, bytes, captures: report.captures });
  let file: InspectedFile;
  let name: string;
  let made: RemoteCopy;
  try {
    const found = await volume.remote.inspect(placeOf(archive, url, options.remote ?? {}), { signal });
    file = found.file;
    name = remoteObjectName(file, found.start);
    const known = await archive.segmentRegistry.byName(segmentName(options, name));
    if (known && (await damageNoted(archive, known)) === undefined) {
      await volume.read([{ name: known.name, offset: 0, length: 0 }]);
      report.files++;
      report.filesKnown++;
      return;
    }
    made = await copyRemote(archive, volume.remote, file, { signal, onBytes: onProgress });
  } catch (error) {
    if (!(error instanceof PinakesError) || error.code === 'DISK_FULL') throw error;
    report.failures.push(error);
    return;
  }
  await using copy = made;
  const input: Linkable = {
    path: copy.path,
    objectName: async () => name,
    link: (linked) => volume.linkRemote(file, copy.path, linked),
  };
  const failuresBefore = report.failures.length;
  await enterFiles(archive, volume, [input], report, {
    ...options,
    onFinding: (finding) => options.onFinding?.({ ...finding, file: url }),
    onProgress: () => onProgress(file.bytes),
  });
  report.failures.push(...report.failures.splice(failuresBefore).map((error) => renamed(error, copy.path, url)));
}

async function enterFiles(
  archive: OpenedArchive,
  volume: LinkedVolume,
  inputs: readonly Linkable[],
  report: AddReport,
  options: AddOptions,
): Promise<void> {
  const entries = new Map<string, LinkedEntry>();
  /** Known files with errors in them. They are read only to report the errors again, as an add by copying does. */
  const reportedAgain: string[] = [];
  for (const input of inputs) {
    const file = input.path;
    options.signal?.throwIfAborted();
    try {
      const linked = await linkFile(archive, volume, input, options);
      report.files++;
      const damage = linked.isNew ? undefined : await damageNoted(archive, linked.segment);
      // A missing volume may have tombstones of the file's captures, so the file is not entered again.
      const isReadAgain = damage === HAS_GAP && archive.volumes.failures().length === 0;
      if (linked.isNew || isReadAgain)
        entries.set(file, new LinkedEntry(archive, volume, linked.segment, report, isReadAgain));
      else if (damage !== undefined) reportedAgain.push(file);
      else report.filesKnown++;
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      report.failures.push(error);
    }
  }
  const unread = [...entries.keys(), ...reportedAgain];
  const workers = options.workers ?? (await workersFor(unread));
  let reachedBytes = 0;
  const scan = { workers, fields: ARCHIVE_FIELDS, judgesDigests: true, signal: options.signal };
  for await (const item of scanFiles(unread, scan)) {
    if (item.kind === 'batch') {
      for (const finding of item.batch.findings) options.onFinding?.(inSegment(finding));
      await entries.get(item.batch.file)?.take(item.batch);
      reachedBytes += item.bytes;
      options.onProgress?.({ file: item.batch.file, bytes: reachedBytes, captures: report.captures });
      continue;
    }
    reachedBytes = 0;
    if (item.kind === 'file-end') {
      if (item.isEmpty) options.onFinding?.(warcFinding('file-empty', item.file, 0));
      await entries.get(item.file)?.finish();
    } else {
      report.failures.push(item.error);
      await entries.get(item.file)?.giveUp();
    }
  }
}

async function damageNoted({ catalog }: OpenedArchive, { name }: Segment): Promise<string | undefined> {
  return (await catalog.notes(DAMAGED_NOTE + name))[DAMAGED_NOTE + name];
}

/** The segment that a file becomes or already is. */
async function linkFile(
  archive: OpenedArchive,
  volume: LinkedVolume,
  input: Linkable,
  options: AddOptions,
): Promise<{ readonly segment: Segment; readonly isNew: boolean }> {
  const collection = await archive.collections.number(collectionOf(options));
  const name = segmentName(options, await input.objectName());
  const known = await archive.segmentRegistry.byName(name);
  if (known) {
    // A read compares the file with the one that was linked. With a length of 0, it needs no byte, since the first one
    // may be unreadable.
    await volume.read([{ name, offset: 0, length: 0 }]);
    return { segment: known, isNew: false };
  }
  await assertLinkable(input.path);
  const segment = await newSegment(archive, { volume: volume.name, name, collection });
  try {
    await input.link(name);
  } catch (error) {
    await unlistSegment(archive, segment).catch(() => {});
    throw error;
  }
  archive.segmentRegistry.entering.add(name);
  return { segment, isNew: true };
}

function collectionOf({ collection = 'default' }: AddOptions): string {
  return collection;
}

function segmentName(options: AddOptions, object: string): string {
  return `${collectionOf(options)}/${object}`;
}

/** One file while it is being entered. */
class LinkedEntry {
  readonly #archive: OpenedArchive;
  readonly #volume: LinkedVolume;
  readonly #report: AddReport;
  #segment: Segment;
  /** Whether the file was entered before, except for the parts that the disk could not read. */
  readonly #isAgain: boolean;
  #isDamaged = false;
  #hasGap = false;
  /** Whole records so far. */
  #records = 0;
  readonly #odd = new OddCounter();

  constructor(archive: OpenedArchive, volume: LinkedVolume, segment: Segment, report: AddReport, isAgain: boolean) {
    this.#archive = archive;
    this.#volume = volume;
    this.#segment = segment;
    this.#report = report;
    this.#isAgain = isAgain;
  }

  async take(batch: ScanBatch): Promise<void> {
    this.#isDamaged ||= batch.findings.some((finding) => inSegment(finding).level === 'error');
    this.#hasGap ||= batch.findings.some(({ code }) => code === 'sector-unreadable');
    for (let from = 0; from < batch.count; from += STEP_RECORDS) {
      const records: RecordFacts[] = [];
      for (let record = from; record < Math.min(batch.count, from + STEP_RECORDS); record++) {
        const facts = new ScanFacts(batch, record);
        // A rebuild uses the same rule when it reads the segment.
        if (facts.isComplete && facts.length !== undefined) records.push(facts);
      }
      if (records.length > 0) await this.#archive.exclusive(() => this.#step(records));
    }
  }

  async #step(records: readonly RecordFacts[]): Promise<void> {
    const { segmentRegistry } = this.#archive;
    const before = { ...this.#report };
    const leftOut = new LeftOut<RecordFacts>();
    let entered: readonly RecordFacts[] = [];
    for (const facts of records) this.#odd.add(facts);
    this.#records += records.length;
    const last = records.at(-1)!;
    const to = this.#grown(last.offset + last.length!);
    await commitUntilTaken(async (refusal) => {
      if (refusal) leftOut.add(refusal, entered);
      Object.assign(this.#report, before);
      const draft = this.#archive.newDraft();
      entered = await this.#enter(records, draft, leftOut);
      draft.changeSegment(this.#segment, to);
      for (const [name, value] of Object.entries(this.#odd.notes(this.#segment.number))) draft.putNote(name, value);
      // Written with every step after a gap, so that an interrupted add has the note too.
      if (this.#hasGap) draft.putNote(DAMAGED_NOTE + this.#segment.name, HAS_GAP);
      return this.#archive.commitGroup(draft.group());
    });
    this.#segment = { ...this.#segment, ...to };
    segmentRegistry.grow(this.#segment);
  }

  /** Enters the records in the draft. Returns those with captures, in their order. */
  async #enter(
    records: readonly RecordFacts[],
    draft: CatalogDraft,
    leftOut: LeftOut<RecordFacts>,
  ): Promise<readonly RecordFacts[]> {
    const { catalog, collections, fingerprint } = this.#archive;
    const { number: segment, collection } = this.#segment;
    // A record that occurs twice in the files is entered as two captures.
    const collectionName = await collections.name(collection);
    const checks = { collectionName, mayRepeat: true };
    const registrar = new Registrar(catalog, draft, fingerprint, { segment, checks });
    await registrar.prepare(records);
    const dead = this.#isAgain ? await deletedOffsets(this.#archive, this.#segment) : new Set<number>();
    for (const facts of records) {
      this.#report.records++;
      if (isUndated(facts)) this.#report.undated++;
      if (dead.has(facts.offset)) continue;
      const place = { segment, offset: facts.offset, length: facts.length! };
      const why = leftOut.why(facts);
      if (why) {
        if (why === 'barred') this.#report.capturesBarred++;
        else this.#report.capturesDeleted++;
        draft.addDead(place, namedContent(facts, fingerprint));
        continue;
      }
      const { kind } = facts;
      const isHeld = kind !== undefined && kind !== 'revisit' && registrar.isHeld(facts);
      const { capture, isKnown } = await registrar.enter(facts, place, collection);
      if (!capture) continue;
      if (isKnown) continue;
      this.#report.captures++;
      if (capture.kind === 'revisit' && !capture.block) this.#report.unresolved++;
      if (!isHeld) continue;
      this.#report.duplicates++;
      this.#report.duplicateBytes += facts.payloadBytes;
    }
    return registrar.entered;
  }

  /** How the row of the segment changes when its records are entered up to this length. */
  #grown(toBytes: number) {
    const { bytes, records } = this.#segment;
    return { state: 'sealed', bytes: Math.max(bytes, toBytes), records: Math.max(records, this.#records) } as const;
  }

  /** Bytes after the last whole record stay in the file, as its writer left them. */
  async finish(): Promise<void> {
    const [info] = await this.#volume.stat([this.#segment.name]);
    await this.#archive.exclusive(async () => {
      const note = DAMAGED_NOTE + this.#segment.name;
      const notes = this.#isDamaged ? { putNotes: { [note]: this.#hasGap ? HAS_GAP : '' } } : { removeNotes: [note] };
      this.#segment = await changeSegment(this.#archive, this.#segment, this.#grown(info!.bytes), notes);
    });
  }

  /** Removes the link of a file without any entered record: it does not become a segment. */
  async giveUp(): Promise<void> {
    if (this.#segment.bytes > 0) return;
    await this.#volume.unlink([this.#segment.name]);
    await unlistSegment(this.#archive, this.#segment);
  }
}

/** A name that belongs to one path only and shows how the file is compressed. */
async function objectName(file: string): Promise<string> {
  const path = resolve(file);
  return nameFor(path, path, readFileStart(path).coding);
}

/** A name that belongs to one file on one server only. */
function remoteObjectName({ url, endpoint }: RemotePlace, start: Uint8Array): string {
  const path = /^s3:/.test(url) ? url : new URL(url).pathname;
  return nameFor(endpoint === undefined ? url : `${endpoint} ${url}`, path, codingOf(start));
}

function nameFor(place: string, path: string, coding: Coding): string {
  const format = /\.arc(\.|$)/i.test(path) ? 'arc' : 'warc';
  const suffix = `.${format}${coding === 'gzip' ? '.gz' : coding === 'zstd' ? '.zst' : ''}`;
  const stem = basename(path)
    .replace(/\.w?arc(\.gz|\.zst)?(\.open)?$/i, '')
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[.]+/, '')
    .slice(0, STEM_LENGTH_MAX);
  const print = createHash('sha256').update(place).digest('hex').slice(0, 12);
  return `${stem || 'file'}-${print}${suffix}`;
}

async function assertLinkable(file: string): Promise<void> {
  if (await isPackage(file)) throw new PinakesError('NOT_LINKABLE', { where: file, detail: 'it is a package' });
  try {
    let records = 0;
    let hasGap = false;
    const onFinding = ({ code }: Finding) => {
      hasGap ||= code === 'sector-unreadable';
    };
    for await (const record of readRecords(file, { skipsGaps: true, onFinding })) {
      for await (const _ of record.body());
      if (record.tail?.length === undefined) {
        // A record that is cut off by unreadable bytes does not have an end. The other records may still be linkable.
        if (hasGap && !record.tail?.isComplete) continue;
        const detail = 'its records share one compressed member, or it has several compressions';
        throw new PinakesError('NOT_LINKABLE', { where: file, detail });
      }
      if (++records === 2) return;
    }
    if (records === 0) throw notArchiveFile(file);
  } catch (cause) {
    throw fileError(cause, file);
  }
}
