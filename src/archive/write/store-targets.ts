/**
 * The segments that stores go to: by their collection, and by a volume that the caller names or that is chosen for the
 * content.
 *
 * Each volume that a commit writes to is synced by itself. So the revisits of a group go to one volume, which differs
 * from group to group, unless the policy of the archive says where each belongs.
 */
import { PinakesError } from '../../base/index.ts';
import type { SegmentKind } from '../../ledger/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { volumeChoice } from '../segment/volume-choice.ts';
import { RecentSpaces } from '../segment/volume-spaces.ts';
import { collectionOf, type StoreOptions } from './store-input.ts';

export type StoreTarget = {
  readonly options: StoreOptions;
  readonly fingerprint: Uint8Array;
  /** Whether an earlier commit has the content, so that the record is most likely a revisit. */
  readonly isHeld: boolean;
};

type TargetArchive = Pick<
  OpenedArchive,
  'collections' | 'volumes' | 'connector' | 'nodes' | 'catalog' | 'clock' | 'commitGroup'
>;

export class StoreTargets {
  readonly #archive: TargetArchive;
  readonly #spaces: RecentSpaces;

  constructor(archive: TargetArchive) {
    this.#archive = archive;
    this.#spaces = new RecentSpaces(archive.clock);
  }

  /** The kind of segment for each store of a group, in order. */
  async kindsOf(group: readonly StoreTarget[]): Promise<SegmentKind[]> {
    const { collections, volumes, connector } = this.#archive;
    const numbers = new Map<string, number>();
    for (const { options } of group) {
      const name = collectionOf(options);
      if (!numbers.has(name)) numbers.set(name, await collections.number(name));
    }
    const first = group.find(({ options }) => options.volume === undefined);
    const volumeOf = first && (await volumeChoice(this.#archive, (asked) => this.#spaces.of(asked)));
    const gathers = connector.policies.distribution !== 'hash';
    return group.map((store) => {
      const collectionName = collectionOf(store.options);
      const { volume: wanted } = store.options;
      const volume = wanted
        ? volumes.named(wanted).name
        : volumeOf!((gathers && isRevisit(store) ? first! : store).fingerprint);
      return { collection: numbers.get(collectionName)!, collectionName, volume, coding: 'gzip' };
    });
  }

  /** Whether a commit failed because a volume has disappeared, so that another one would be chosen now. */
  async haveChanged(error: unknown): Promise<boolean> {
    if (!(error instanceof PinakesError) || error.code !== 'VOLUME_MISSING') return false;
    return this.#spaces.haveChanged().catch(() => false);
  }
}

function isRevisit({ options: { mode = 'regular' }, isHeld }: StoreTarget): boolean {
  return isHeld && mode === 'regular';
}
