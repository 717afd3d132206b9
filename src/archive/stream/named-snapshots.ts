/**
 * Snapshots with names. A snapshot lists the segments of the archive at one instant, until it is removed. While a
 * snapshot exists, compaction leaves its segments as they are, so that a stream of it, or an index made from it, stays
 * complete. Deleted captures are still not delivered: a snapshot keeps their bytes without giving access to them.
 *
 * ```
 *   snapshots.json   { "version": 1, "sha256": hex, "snapshots": [{ name, time, segments: [[volume, name, bytes] ...],
 *                    mark }] }; in the archive's directory; truth
 * ```
 * The digest is of the list of snapshots as compact JSON. Files of earlier versions do not have one.
 *
 * An archive with a damaged file still opens. The file stays as it is, and nothing is written to it. Until it is
 * restored or moved away, no snapshot is created or removed, and compaction leaves every segment as it is, since a
 * snapshot may keep it.
 *
 * The bounds of a snapshot (`mark` in the file) are valid for streams until the next rebuild, which numbers segments
 * again. The names of the segments stay valid.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  digestOf,
  type EpochMs,
  Exclusive,
  fileError,
  PinakesError,
  replaceFile,
  toHex,
  utf8,
} from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { PLAIN_NAME } from '../collections.ts';
import { Snapshot, type SnapshotArchive, type SnapshotBounds } from './snapshot.ts';

const FILE_NAME = 'snapshots.json';
const FILE_VERSION = 1;

export type NamedSnapshot = {
  readonly name: string;
  readonly time: EpochMs;
  /** Volume, name and length of every segment. */
  readonly segments: readonly (readonly [string, string, number])[];
  /** The bounds of the snapshot. The file calls them `mark`. */
  readonly mark: SnapshotBounds;
};

export class NamedSnapshots {
  readonly #path: string;
  /** One change at a time, since each writes the whole file. */
  readonly #changes = new Exclusive();
  #snapshots: NamedSnapshot[] = [];
  #damage: PinakesError | undefined;

  constructor(directory: string) {
    this.#path = join(directory, FILE_NAME);
  }

  async load(): Promise<void> {
    this.#damage = undefined;
    try {
      const text = await readFile(this.#path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
        if (cause.code === 'ENOENT') return undefined;
        throw fileError(cause, this.#path);
      });
      this.#snapshots = text === undefined ? [] : parseFile(text);
    } catch (cause) {
      const detail = cause instanceof PinakesError ? cause.message : (cause as Error).message;
      this.#damage = new PinakesError('SNAPSHOTS_DAMAGED', { where: this.#path, detail, cause });
      this.#snapshots = [];
    }
  }

  /** Why the snapshots are unknown. Undefined when they are known. */
  get damage(): PinakesError | undefined {
    return this.#damage;
  }

  all(): readonly NamedSnapshot[] {
    if (this.#damage) throw this.#damage;
    return this.#snapshots;
  }

  get(name: string): NamedSnapshot {
    const found = this.all().find((snapshot) => snapshot.name === name);
    if (!found) throw new PinakesError('SNAPSHOT_MISSING', { where: name });
    return found;
  }

  /** Creates a snapshot of the archive as it is now, durably. */
  create(archive: SnapshotArchive, name: string): Promise<NamedSnapshot> {
    return this.#changes.run(() => this.#create(archive, name));
  }

  async #create(archive: SnapshotArchive, name: string): Promise<NamedSnapshot> {
    if (!PLAIN_NAME.test(name)) {
      const detail = 'the letters A-Z and a-z, digits, dots, dashes and underscores; the first a letter or a digit';
      throw new PinakesError('BAD_ARGUMENT', { where: `snapshot ${name}`, detail });
    }
    if (this.all().some((snapshot) => snapshot.name === name))
      throw new PinakesError('SNAPSHOT_EXISTS', { where: name });
    const snapshot = await Snapshot.take(archive);
    return archive.exclusive(async () => {
      await snapshot.lineage.refresh();
      const segments = (await snapshot.segments()).map(
        ({ segment, endBytes }) => [segment.volume, segment.name, endBytes] as const,
      );
      const named: NamedSnapshot = { name, time: archive.clock(), segments, mark: snapshot.bounds };
      await this.#write([...this.#snapshots, named]);
      return named;
    });
  }

  remove(name: string): Promise<void> {
    return this.#changes.run(async () => {
      this.get(name);
      await this.#write(this.#snapshots.filter((snapshot) => snapshot.name !== name));
    });
  }

  /** Name of a snapshot that keeps this segment. */
  keeperOf(segment: Pick<Segment, 'name'>): string | undefined {
    return this.#snapshots.find(({ segments }) => segments.some(([, name]) => name === segment.name))?.name;
  }

  async #write(snapshots: NamedSnapshot[]): Promise<void> {
    const file = { version: FILE_VERSION, sha256: sha256Of(snapshots), snapshots };
    await replaceFile(this.#path, `${JSON.stringify(file, null, 1)}\n`).catch((cause: unknown) => {
      throw fileError(cause, this.#path, 'writing');
    });
    this.#snapshots = snapshots;
  }
}

function sha256Of(snapshots: unknown): string {
  return toHex(digestOf('sha256', utf8(JSON.stringify(snapshots))).bytes);
}

function parseFile(text: string): NamedSnapshot[] {
  const { version, sha256, snapshots } = JSON.parse(text) as Record<string, unknown>;
  if (version !== FILE_VERSION) throw new Error(`version ${String(version)} is not understood`);
  if (sha256 !== undefined && sha256 !== sha256Of(snapshots)) throw new Error('its digest is not that of its contents');
  if (!Array.isArray(snapshots) || !snapshots.every(isSnapshot)) throw new Error('it is not a list of snapshots');
  return snapshots;
}

function isSnapshot(value: unknown): value is NamedSnapshot {
  const { name, time, segments, mark } = (value ?? {}) as Record<string, unknown>;
  const isSegment = (segment: unknown) =>
    Array.isArray(segment) && segment.map((part) => typeof part).join() === 'string,string,number';
  return (
    typeof name === 'string' &&
    typeof time === 'number' &&
    typeof mark === 'object' &&
    Array.isArray(segments) &&
    segments.every(isSegment)
  );
}
