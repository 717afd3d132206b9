/**
 * Tombstones: how earlier versions listed the records that were deleted and are still in a segment. They are in a file
 * beside the segment, with `.tombstones` appended to its name, and are part of the truth: a rebuild must not bring back
 * what they deleted. Deletions are records of their own now (see deleter.ts), so only those that a compaction or a
 * migration keeps are written again. When the volume of a segment cannot be written to, its tombstones go to another
 * volume. A volume of immutable objects never gets any.
 *
 * ```
 *   <offset> SP <content> LF      one line a deleted record; appended and synced before the catalog forgets the capture
 *
 *   content    <hex digest>~<overflow>, or `-` when it is not known: what compaction asks the catalog about
 * ```
 * The catalog notes how many bytes of the lines it has carried out. Lines after these bytes belong to an unfinished
 * deletion. If a crash interrupted it, the next opening carries it out. If it failed, the next deletion cuts its lines
 * off.
 */
import { fromHex, fromLatin1, PinakesError, toHex, utf8 } from '../../base/index.ts';
import type { BlockKey, Capture, CatalogView, Segment } from '../../catalog/index.ts';
import { type AnyVolume, isPartVolume, type Volume } from '../../volume/index.ts';
import type { VolumeSet } from './volume-set.ts';

export const TOMBSTONES_SUFFIX = '.tombstones';
export const APPLIED_NOTE = 'tombstones:';

/** Called with a volume that is missing. */
export type MissingVolume = (volume: string, failure: PinakesError) => void;

export type Tombstone = { readonly offset: number; readonly block: BlockKey | undefined };

/** The range of lines that were added. */
export type AddedTombstones = {
  readonly volume: string;
  readonly segmentName: string;
  readonly before: number;
  readonly after: number;
};

/** The note with the number of bytes of a segment's tombstones in a volume that the catalog has carried out. */
export function appliedNote(volume: string, segmentName: string): string {
  return `${APPLIED_NOTE}${volume}:${segmentName}`;
}

export function tombstoneOf(capture: Capture): Tombstone {
  return { offset: capture.place.offset, block: capture.block };
}

export class Tombstones {
  readonly #volumes: VolumeSet;
  readonly #catalog: CatalogView;

  constructor(volumes: VolumeSet, catalog: CatalogView) {
    this.#volumes = volumes;
    this.#catalog = catalog;
  }

  /** Whether a volume has tombstones of a segment. */
  async has(segmentName: string): Promise<boolean> {
    for (const volume of this.#volumes.available()) {
      // An error of a volume is reported when it is written to.
      const [found] = await volume.stat([segmentName + TOMBSTONES_SUFFIX]).catch(() => []);
      if (found) return true;
    }
    return false;
  }

  /** Offsets of the deleted records of a segment. */
  async read(segment: Segment): Promise<Set<number>> {
    return new Set((await this.list(segment)).map(({ offset }) => offset));
  }

  /** The tombstones of a segment in all volumes, since its own volume may have been read-only for a while. */
  async list(segment: Segment): Promise<Tombstone[]> {
    const all: Tombstone[] = [];
    for (const volume of this.#volumes.available()) {
      const { lines } = await readLines(volume, segment.name);
      for (const { tombstone } of lines) all.push(tombstone);
    }
    return all;
  }

  /**
   * The tombstones that the catalog has carried out. A missing volume is passed to `onMissing`. Without `onMissing`,
   * the call fails. `catalog`: a view of the catalog in which they were carried out.
   */
  async listApplied(
    segment: Segment,
    onMissing?: MissingVolume,
    catalog: Pick<CatalogView, 'notes'> = this.#catalog,
  ): Promise<Tombstone[]> {
    const applied: Tombstone[] = [];
    for (const volume of this.#volumes.available()) {
      const { lines } = await readLines(volume, segment.name).catch((error: unknown) => {
        if (!onMissing || !(error instanceof PinakesError && error.code === 'VOLUME_MISSING')) throw error;
        onMissing(volume.name, error);
        return NO_LINES;
      });
      if (lines.length === 0) continue;
      const limit = (await appliedBytes(catalog, volume.name, segment.name)) ?? Number.POSITIVE_INFINITY;
      for (const { tombstone, end } of lines) if (end <= limit) applied.push(tombstone);
    }
    return applied;
  }

  /**
   * Tombstones in one volume that the catalog has not carried out, the length that the note will have, and the number
   * of damaged lines.
   */
  async listUnapplied(
    volume: Pick<AnyVolume, 'name' | 'stat' | 'read'>,
    segmentName: string,
  ): Promise<{ tombstones: Tombstone[]; bytes: number; damagedLines: number }> {
    const from = (await this.#appliedBytes(volume.name, segmentName)) ?? 0;
    const { lines, bytes, damagedLines } = await readLines(volume, segmentName);
    const tombstones = lines.flatMap(({ tombstone, end }) => (end > from ? [tombstone] : []));
    return { tombstones, bytes, damagedLines };
  }

  /** Adds tombstones durably after those that the catalog has carried out. */
  async add(segment: Segment, tombstones: readonly Tombstone[]): Promise<AddedTombstones> {
    const name = segment.name + TOMBSTONES_SUFFIX;
    const volume = this.#target(segment);
    const [info] = await volume.stat([name]);
    if (!info) await volume.create(name);
    const before = info ? await this.#keptBytes(volume, segment.name, info.bytes) : 0;
    if (info && info.bytes > before) await volume.truncate(name, before);
    const lines = utf8(tombstones.map(formatLine).join(''));
    const added = { volume: volume.name, segmentName: segment.name, before, after: before + lines.length };
    try {
      await volume.append(name, before, [lines]);
      await volume.sync([name]);
      return added;
    } catch (error) {
      await this.takeBack(added);
      throw error;
    }
  }

  /** Undoes an addition as far as the volume allows. The next addition cuts off the rest. */
  async takeBack({ volume, segmentName, before }: AddedTombstones): Promise<void> {
    const written = this.#volumes.get(volume);
    if (!isPartVolume(written)) await written.truncate(segmentName + TOMBSTONES_SUFFIX, before).catch(() => {});
  }

  /** Bytes of a segment's tombstones in all volumes. */
  async bytes(segmentName: string): Promise<number> {
    let bytes = 0;
    for (const volume of this.#volumes.available())
      bytes += (await volume.stat([segmentName + TOMBSTONES_SUFFIX]))[0]?.bytes ?? 0;
    return bytes;
  }

  /** The notes that mark all tombstones of a segment as carried out, for a segment that arrived with its tombstones. */
  async appliedNotes(segmentName: string): Promise<Record<string, string>> {
    const notes: Record<string, string> = {};
    for (const volume of this.#volumes.available()) {
      const [info] = await volume.stat([segmentName + TOMBSTONES_SUFFIX]);
      if (info) notes[appliedNote(volume.name, segmentName)] = String(info.bytes);
    }
    return notes;
  }

  async remove(segment: Pick<Segment, 'name'>): Promise<void> {
    for (const volume of this.#volumes.writable()) await volume.remove([segment.name + TOMBSTONES_SUFFIX]);
  }

  /** Whether the catalog has carried out tombstones of a segment that are in this volume. */
  async areIn(volume: string, segmentName: string): Promise<boolean> {
    return ((await this.#appliedBytes(volume, segmentName)) ?? 0) > 0;
  }

  #appliedBytes(volume: string, segmentName: string): Promise<number | undefined> {
    return appliedBytes(this.#catalog, volume, segmentName);
  }

  /** The length of the lines that stay: those that the catalog has carried out, or without a note, all whole lines. */
  async #keptBytes(volume: Volume, segmentName: string, length: number): Promise<number> {
    const applied = await this.#appliedBytes(volume.name, segmentName);
    if (applied !== undefined) return Math.min(applied, length);
    return (await readLines(volume, segmentName)).bytes;
  }

  /** The volume of the segment if it can be appended to, otherwise the first one that can. */
  #target(segment: Segment): Volume {
    const all = [this.#volumes.get(segment.volume), ...this.#volumes.writable()];
    for (const volume of all) if (volume.writable && !isPartVolume(volume)) return volume;
    const [writable] = this.#volumes.writable();
    if (!writable) throw this.#volumes.noneWritable();
    const detail = 'it has a list of deleted records of an earlier version; run `pinakes compact` before it is moved';
    throw new PinakesError('VOLUME_READ_ONLY', { where: `volume ${writable.name}: ${segment.name}`, detail });
  }
}

async function appliedBytes(
  catalog: Pick<CatalogView, 'notes'>,
  volume: string,
  segmentName: string,
): Promise<number | undefined> {
  const note = appliedNote(volume, segmentName);
  const value = (await catalog.notes(note))[note];
  return value === undefined ? undefined : Number(value);
}

type Lines = {
  /** The tombstones, each with the offset of the end of its line. */
  readonly lines: readonly { readonly tombstone: Tombstone; readonly end: number }[];
  /** Bytes up to the end of the last whole line. */
  readonly bytes: number;
  /** Lines that are not tombstones. */
  readonly damagedLines: number;
};

const NO_LINES: Lines = { lines: [], bytes: 0, damagedLines: 0 };

async function readLines(volume: Pick<AnyVolume, 'stat' | 'read'>, segmentName: string): Promise<Lines> {
  const name = segmentName + TOMBSTONES_SUFFIX;
  const [info] = await volume.stat([name]);
  if (!info) return NO_LINES;
  const [bytes] = await volume.read([{ name, offset: 0, length: info.bytes }]);
  const text = fromLatin1(bytes!);
  const lines: { tombstone: Tombstone; end: number }[] = [];
  let damagedLines = 0;
  let at = 0;
  // A crash tore a line without an end before its deletion was acknowledged.
  for (let end = text.indexOf('\n') + 1; end > 0; at = end, end = text.indexOf('\n', at) + 1) {
    const tombstone = parseLine(text.slice(at, end - 1));
    if (tombstone) lines.push({ tombstone, end });
    else damagedLines++;
  }
  if (!TORN_LINE.test(text.slice(at))) damagedLines++;
  return { lines, bytes: at, damagedLines };
}

/**
 * The possible beginnings of a line. Other bytes without a line end, such as NULs from a failing disk, may have been
 * any number of lines.
 */
const TORN_LINE = /^(\d{1,15}( (-|[0-9a-f]{0,64}|[0-9a-f]{64}~\d{0,5})?)?)?$/;

function formatLine({ offset, block }: Tombstone): string {
  return `${offset} ${block ? `${toHex(block.digest)}~${block.overflow}` : '-'}\n`;
}

function parseLine(line: string): Tombstone | undefined {
  const match = /^(\d{1,15}) (?:-|([0-9a-f]{64})~(\d{1,5}))$/.exec(line);
  if (!match) return undefined;
  const [, offset, hex, overflow] = match;
  const digest = hex === undefined ? undefined : fromHex(hex);
  return { offset: Number(offset), block: digest && { digest, overflow: Number(overflow) } };
}
