/**
 * The heads of the records that hold the duplicates of a group. On a volume of immutable objects, reading one takes a
 * request, so those of a group are read together before the group is written. A disk gives each when it is needed.
 */
import type { Place } from '../../catalog/index.ts';
import { isPartVolume } from '../../volume/index.ts';
import type { RecordHead } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

type HeadsArchive = Pick<OpenedArchive, 'access' | 'segmentRegistry' | 'volumes'>;

export class HolderHeads {
  readonly #archive: HeadsArchive;
  #heads = new Map<string, RecordHead | undefined>();

  constructor(archive: HeadsArchive) {
    this.#archive = archive;
  }

  /** Reads the heads at these places that need a request, and forgets those of the group before. */
  async load(places: readonly Place[]): Promise<void> {
    const wanted = new Map<string, Place>();
    for (const place of places) if (await this.#needsRequest(place)) wanted.set(idOf(place), place);
    const heads = wanted.size > 1 ? await this.#archive.access.heads([...wanted.values()]) : [];
    this.#heads = new Map(heads.length > 0 ? [...wanted.keys()].map((id, index) => [id, heads[index]]) : []);
  }

  /** Undefined: the record cannot be read. */
  async get(place: Place): Promise<RecordHead | undefined> {
    const id = idOf(place);
    if (this.#heads.has(id)) return this.#heads.get(id);
    const [head] = await this.#archive.access.heads([place]);
    return head;
  }

  async #needsRequest({ segment: number }: Place): Promise<boolean> {
    const { segmentRegistry, volumes } = this.#archive;
    const segment = await segmentRegistry.find(number);
    const volume = segment && volumes.find(segment.volume);
    return volume !== undefined && isPartVolume(volume);
  }
}

function idOf({ segment, offset }: Place): string {
  return `${segment} ${offset}`;
}
