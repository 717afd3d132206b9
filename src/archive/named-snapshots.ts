/**
 * Snapshots with names: what the archive held at an instant, kept together until the name is given up. As long as a snapshot stands, compaction leaves the segments it
 * names as they are, so that a stream of it, or an index made from it, stays whole. What was deleted is not given out all the same: a snapshot keeps bytes, it grants
 * nobody access.
 *
 * ```
 *   snapshots.json   { "version": 1, "snapshots": [{ name, time, segments: [[volume, name, bytes] ...], mark }] }     in the archive's directory; truth
 * ```
 * The mark serves streams until the next rebuild, which numbers segments anew; the names of the segments hold beyond that.
 */
import { open, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type EpochMs, fileError, PinakesError, syncDirectory } from '../base/index.ts';
import type { Segment } from '../catalog/index.ts';
import { PLAIN_NAME } from './collections.ts';
import { Exclusive } from './exclusive.ts';
import { Snapshot, type SnapshotMark, type SnapshotParts } from './snapshot.ts';

const FILE_NAME = 'snapshots.json';
const FILE_VERSION = 1;

export type NamedSnapshot = {
  readonly name: string;
  readonly time: EpochMs;
  /** Volume, name and length of every segment. */
  readonly segments: readonly (readonly [string, string, number])[];
  readonly mark: SnapshotMark;
};

export class NamedSnapshots {
  readonly #path: string;
  /** One at a time: each writes the whole file. */
  readonly #changes = new Exclusive();
  #snapshots: NamedSnapshot[] = [];

  constructor(directory: string) {
    this.#path = join(directory, FILE_NAME);
  }

  async load(): Promise<void> {
    const text = await readFile(this.#path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return undefined;
      throw fileError(cause, this.#path);
    });
    this.#snapshots = text === undefined ? [] : parseFile(text, this.#path);
  }

  all(): readonly NamedSnapshot[] {
    return this.#snapshots;
  }

  get(name: string): NamedSnapshot {
    const found = this.#snapshots.find((snapshot) => snapshot.name === name);
    if (!found) throw new PinakesError('SNAPSHOT_MISSING', { where: name });
    return found;
  }

  /** Takes one of the archive as it is now, durably. */
  create(parts: SnapshotParts, name: string): Promise<NamedSnapshot> {
    return this.#changes.run(() => this.#create(parts, name));
  }

  async #create(parts: SnapshotParts, name: string): Promise<NamedSnapshot> {
    if (!PLAIN_NAME.test(name)) {
      const detail = 'the letters A-Z and a-z, digits, dots, dashes and underscores; the first a letter or a digit';
      throw new PinakesError('BAD_ARGUMENT', { where: `snapshot ${name}`, detail });
    }
    if (this.#snapshots.some((snapshot) => snapshot.name === name))
      throw new PinakesError('SNAPSHOT_EXISTS', { where: name });
    const snapshot = await Snapshot.take(parts);
    return parts.exclusive(async () => {
      await snapshot.lineage.refresh();
      const segments = (await snapshot.segments()).map(
        ({ segment, endBytes }) => [segment.volume, segment.name, endBytes] as const,
      );
      const named: NamedSnapshot = { name, time: parts.clock(), segments, mark: snapshot.mark };
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

  /** Name of a snapshot that wants this segment as it is. */
  keeperOf(segment: Pick<Segment, 'name'>): string | undefined {
    return this.#snapshots.find(({ segments }) => segments.some(([, name]) => name === segment.name))?.name;
  }

  async #write(snapshots: NamedSnapshot[]): Promise<void> {
    const temporary = `${this.#path}.tmp`;
    try {
      const handle = await open(temporary, 'w');
      try {
        await handle.writeFile(`${JSON.stringify({ version: FILE_VERSION, snapshots }, null, 1)}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, this.#path);
      await syncDirectory(dirname(this.#path));
    } catch (cause) {
      throw fileError(cause, this.#path, 'writing');
    }
    this.#snapshots = snapshots;
  }
}

function parseFile(text: string, path: string): NamedSnapshot[] {
  try {
    const { version, snapshots } = JSON.parse(text) as { version: number; snapshots: NamedSnapshot[] };
    if (version === FILE_VERSION && Array.isArray(snapshots)) return snapshots;
  } catch {
    // Told below, like every other form that is not understood.
  }
  throw new PinakesError('CONNECTOR_INVALID', { where: path, detail: 'the snapshots in it cannot be understood' });
}
