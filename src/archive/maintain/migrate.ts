/**
 * Moves the segments of one volume to another: copies each, reads the copy back, changes the volume in the catalog, and
 * removes the source.
 *
 * A segment keeps its number, its name and its offsets, so nothing else in the catalog changes. The copy is sealed only
 * after it was read back and is identical. The segment is read from the old volume until the catalog names the new one.
 * An interruption leaves at most two objects of one name. The next opening removes an unfinished copy. The next
 * migration compares a finished copy with the other object and removes the surplus one.
 */
import { PinakesError } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { listedObjects, refusalOf, type SegmentStore, wholeObject } from '../../ledger/index.ts';
import { isBadSector } from '../damage.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { changeSegment } from '../segment/listed-segment.ts';
import { ObjectCopy } from '../segment/object-copy.ts';
import { digestOfObject } from '../segment/segment-double.ts';
import { appliedNote, TOMBSTONES_SUFFIX } from '../segment/tombstones.ts';
import { sealOpenSegments } from './volume-admin.ts';

export type MigrateOptions = {
  /** Moves nothing and only reports what would be moved. */
  readonly dryRun?: boolean;
  readonly onProgress?: (progress: { segment: string; bytes: number }) => void;
  readonly signal?: AbortSignal | undefined;
};

export type MigrateReport = {
  segments: number;
  bytes: number;
  /** Free bytes in the target before the migration. Undefined: the target does not say. */
  readonly freeBytes: number | undefined;
  /** Segments that could not be moved, and why. */
  readonly failures: PinakesError[];
};

export async function migrateVolume(
  archive: OpenedArchive,
  fromName: string,
  toName: string,
  options: MigrateOptions = {},
): Promise<MigrateReport> {
  const storeOf = (name: string) => archive.stores.get(archive.volumes.named(name).name);
  const from = storeOf(fromName);
  const to = storeOf(toName);
  const isLinked = archive.volumes.linked(fromName) !== undefined;
  if (fromName === toName)
    throw new PinakesError('BAD_ARGUMENT', {
      where: `volume ${fromName}`,
      detail: 'it is both the source and the target',
    });
  if (!to.isWritable) throw new PinakesError('VOLUME_READ_ONLY', { where: `volume ${toName}` });
  if (!from.isWritable && !isLinked) {
    const detail = 'copied segments could not be removed from it';
    throw new PinakesError('VOLUME_READ_ONLY', { where: `volume ${fromName}`, detail });
  }
  const freeBytes = (await to.space())?.freeBytes;
  const report: MigrateReport = { segments: 0, bytes: 0, freeBytes, failures: [] };
  const migration = new Migration(archive, from, to, isLinked);
  if (!options.dryRun) await archive.exclusive(() => sealOpenSegments(archive, ({ volume }) => volume === fromName));
  for (const segment of (await archive.segmentRegistry.all()).filter(({ volume }) => volume === fromName)) {
    options.signal?.throwIfAborted();
    try {
      assertMovable(segment);
      const moved = options.dryRun ? segment : await archive.exclusive(() => migration.move(segment.number));
      if (!moved) continue;
      report.segments++;
      report.bytes += moved.bytes;
      options.onProgress?.({ segment: moved.name, bytes: report.bytes });
    } catch (error) {
      report.failures.push(segmentFailure(error));
    }
  }
  if (!options.dryRun) report.failures.push(...(await archive.exclusive(() => migration.removeDoubles())));
  return report;
}

/** Moves one segment. Undefined when it was already there, or no longer exists. */
export async function moveSegment(
  archive: OpenedArchive,
  number: number,
  fromName: string,
  toName: string,
): Promise<Segment | undefined> {
  const { stores } = archive;
  return new Migration(archive, stores.get(fromName), stores.get(toName), false).move(number);
}

/** Returns an error that concerns only one segment, so that the others are still moved. Throws any other error. */
function segmentFailure(error: unknown): PinakesError {
  if (!(error instanceof PinakesError) || (error.retryable && !isBadSector(error))) throw error;
  return error;
}

function assertMovable({ name }: Segment): void {
  if (!/\.arc(\.gz|\.zst)?$/i.test(name)) return;
  const detail = 'ARC files are added by copying, which makes WARC records of them';
  throw new PinakesError('NOT_LINKABLE', { where: name, detail });
}

/** After an append or a commit that failed, the next opening finds out what the segment has, and seals it. */
function unsealed({ name }: Segment): PinakesError {
  const detail = 'it could not be sealed; open the archive again, and run the migration again';
  return new PinakesError('OBJECT_MOVED', { where: name, detail });
}

/** The note of a segment that was moved out of a bucket. */
function leftNote(volume: string, name: string): string {
  return `left:${volume}:${name}`;
}

class Migration {
  readonly #archive: OpenedArchive;
  readonly #from: SegmentStore;
  readonly #to: SegmentStore;
  readonly #isLinked: boolean;

  constructor(archive: OpenedArchive, from: SegmentStore, to: SegmentStore, isLinked: boolean) {
    this.#archive = archive;
    this.#from = from;
    this.#to = to;
    this.#isLinked = isLinked;
  }

  /** The segment at its new place. Undefined when it was already there, or no longer exists. */
  async move(number: number): Promise<Segment | undefined> {
    const { segmentRegistry, tombstones } = this.#archive;
    let segment = await segmentRegistry.find(number);
    if (segment?.volume !== this.#from.volume) return undefined;
    if (segment.state !== 'sealed') {
      await sealOpenSegments(this.#archive, ({ volume }) => volume === this.#from.volume);
      segment = await segmentRegistry.find(number);
      if (!segment) return undefined;
      if (segment.state !== 'sealed') throw unsealed(segment);
    }
    const { name } = segment;
    await this.#assertNeverLeft(name);
    const copy = await this.#copy(name);
    await this.#copyTombstones(segment);
    await copy?.seal();
    const to = { state: 'sealed', volume: this.#to.volume } as const;
    const putNotes: Record<string, string> = await tombstones.appliedNotes(name);
    if (this.#from.hasParts) putNotes[leftNote(this.#from.volume, name)] = 'yes';
    const moved = await changeSegment(this.#archive, segment, to, { putNotes });
    await this.#removeSource(name);
    return moved;
  }

  /**
   * Removes segments that an interrupted migration left in the source, after comparing them with their copies. Returns
   * the errors that prevented a removal.
   */
  async removeDoubles(): Promise<PinakesError[]> {
    const { segmentRegistry } = this.#archive;
    const failures: PinakesError[] = [];
    for (const { name } of await listedObjects(this.#from)) {
      const segment = await segmentRegistry.byName(name);
      if (segment?.volume !== this.#to.volume) continue;
      try {
        await this.#assertSame(name, await digestOfObject(this.#from, name));
        await this.#removeSource(name);
      } catch (error) {
        failures.push(segmentFailure(error));
      }
    }
    return failures;
  }

  /** A copy that is read back and not sealed yet. Undefined: a sealed copy is there. */
  async #copy(name: string): Promise<ObjectCopy | undefined> {
    const { object } = await this.#to.find(name);
    if (object?.sealed) {
      await this.#assertSame(name, await digestOfObject(this.#from, name));
      return undefined;
    }
    const copy = await ObjectCopy.begin(this.#to, name);
    try {
      const whole = wholeObject(name);
      for await (const piece of this.#from.stream(whole, 0, whole.bytes)) await copy.append(piece);
      if (await copy.isAsWritten()) return copy;
      throw this.#isOther(name);
    } catch (error) {
      await copy.remove().catch(() => {});
      throw error;
    }
  }

  /**
   * A removal from a bucket whose answer was lost may be carried out at any later time. So a segment never goes back to
   * a bucket under the name that it had there.
   */
  async #assertNeverLeft(name: string): Promise<void> {
    const note = leftNote(this.#to.volume, name);
    if (!this.#to.hasParts || (await this.#archive.catalog.notes(note))[note] === undefined) return;
    const detail =
      `it was in the bucket of ${this.#to.volume} before, and a removal that is still on its way could take it; ` +
      'leave it where it is';
    throw new PinakesError('OBJECT_EXISTS', { where: name, detail });
  }

  async #copyTombstones(segment: Segment): Promise<void> {
    const { object } = await this.#from.find(segment.name + TOMBSTONES_SUFFIX);
    if (!object) return;
    const tombstones = await this.#archive.tombstones.listApplied(segment);
    await this.#archive.tombstones.add({ ...segment, volume: this.#to.volume }, tombstones);
  }

  async #assertSame(name: string, sourceDigest: string): Promise<void> {
    if ((await digestOfObject(this.#to, name)) !== sourceDigest) throw this.#isOther(name);
  }

  #isOther(name: string): PinakesError {
    const detail = `the copy in volume ${this.#to.volume} is not the same as the source in volume ${this.#from.volume}`;
    return new PinakesError('OBJECT_CHANGED', { where: name, detail });
  }

  async #removeSource(name: string): Promise<void> {
    // With this note left, the next opening would report these tombstones as lost.
    const removeNotes = [appliedNote(this.#from.volume, name)];
    refusalOf(await this.#archive.commitGroup({ removeNotes, durable: true }));
    // Linked files belong to their owner. Only the link is removed.
    if (this.#isLinked) await this.#archive.volumes.linked(this.#from.volume)!.unlink([name]);
    else await this.#from.remove([name, name + TOMBSTONES_SUFFIX]);
  }
}
