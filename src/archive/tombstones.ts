/**
 * Tombstones: which records of a segment were deleted and still stand in it. They lie beside the segment, under its name with `.tombstones` behind, and
 * are part of the truth: a rebuild must not bring back what was deleted.
 *
 * ```
 *   <offset> LF        one line a deleted record; appended and synced before the catalog forgets the capture
 * ```
 */
import { fromLatin1, PinakesError, utf8 } from '../base/index.ts';
import type { Segment } from '../catalog/index.ts';
import type { Volume } from '../volume/index.ts';
import type { VolumeSet } from './volume-set.ts';

export const TOMBSTONES_SUFFIX = '.tombstones';

export class Tombstones {
  readonly #volumes: VolumeSet;

  constructor(volumes: VolumeSet) {
    this.#volumes = volumes;
  }

  /** Offsets of the deleted records of a segment. A volume may have been read-only for a while: what lies in other volumes counts too. */
  async read(segment: Segment): Promise<Set<number>> {
    const name = segment.name + TOMBSTONES_SUFFIX;
    const offsets = new Set<number>();
    for (const volume of this.#volumes.available()) {
      const [info] = await volume.stat([name]);
      if (!info) continue;
      const [bytes] = await volume.read([{ name, offset: 0, length: info.bytes }]);
      // A line without its end was torn by a crash before anybody was told that the deletion had happened.
      const text = fromLatin1(bytes!);
      for (const line of text.slice(0, text.lastIndexOf('\n') + 1).split('\n'))
        if (line !== '') offsets.add(Number(line));
    }
    return offsets;
  }

  /** Adds offsets, durably. */
  async add(segment: Segment, offsets: readonly number[]): Promise<void> {
    const name = segment.name + TOMBSTONES_SUFFIX;
    const volume = this.#volumeOf(segment);
    const [info] = await volume.stat([name]);
    let length = info?.bytes ?? 0;
    if (!info) await volume.create(name);
    if (length > 0) length = await this.#cutTornLine(segment, length);
    await volume.append(name, length, [utf8(offsets.map((offset) => `${offset}\n`).join(''))]);
    await volume.sync([name]);
  }

  async remove(segment: Segment): Promise<void> {
    for (const volume of this.#volumes.writable()) await volume.remove([segment.name + TOMBSTONES_SUFFIX]);
  }

  async #cutTornLine(segment: Segment, length: number): Promise<number> {
    const name = segment.name + TOMBSTONES_SUFFIX;
    const volume = this.#volumeOf(segment);
    const [bytes] = await volume.read([{ name, offset: Math.max(0, length - 32), length: 32 }]);
    const text = fromLatin1(bytes!);
    if (text.endsWith('\n')) return length;
    const whole = length - (text.length - (text.lastIndexOf('\n') + 1));
    await volume.truncate(name, whole);
    return whole;
  }

  /** Beside the segment when that can be written to, else in the first volume that can. */
  #volumeOf(segment: Segment): Volume {
    const volume = this.#volumes.get(segment.volume);
    const chosen = volume.writable ? volume : this.#volumes.writable()[0];
    if (!chosen) throw new PinakesError('NO_WRITABLE_VOLUME');
    return chosen;
  }
}
