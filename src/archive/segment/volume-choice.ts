/**
 * Chooses the volume for a new content by its digest. A volume that is nearly full gets nothing while another one has
 * room.
 *
 * - `uniform`: any writable volume, with probabilities proportional to free space. The same digest always leads to the
 *   same volume while the volumes and their space stay about the same, so that equal contents reach the same segment.
 *   A volume that is streaming now has half of its probability, since writing slows its streams down.
 * - `hash`: the volume that the content belongs to (distribution.ts). While that one is missing or nearly full, the
 *   next one in the order of the content. This is noted first, for as long as contents may not be where they belong:
 *
 * ```
 *   note   displaced:<name of the volume>   `yes`, until a rebalance brought all contents home
 * ```
 */
import { view } from '../../base/index.ts';
import type { CommitGroup } from '../../catalog/index.ts';
import type { AnyVolume } from '../../volume/index.ts';
import type { Connector } from '../connector.ts';
import { sharingVolumes, VolumeHash } from './distribution.ts';
import type { VolumeSet } from './volume-set.ts';
import { type Spaces, spacesOf } from './volume-spaces.ts';

export const DISPLACED_NOTE = 'displaced:';

const SHARES = 64;
/** A volume with less free space is nearly full. */
const ROOM_BYTES_MIN = 64 * 1024 * 1024;

/** Returns the volume for the content with this digest. */
export type VolumeChoice = (digest: Uint8Array) => string;

export type ChoosingArchive = {
  readonly volumes: Pick<VolumeSet, 'writable' | 'noneWritable' | 'settings'>;
  readonly connector: Pick<Connector, 'policies'>;
  readonly nodes: { isStreaming(volume: string): boolean };
  readonly catalog: { notes(prefix: string): Promise<Record<string, string>> };
  commitGroup(group: CommitGroup): Promise<unknown>;
};

/**
 * A choice for contents that are stored together, made from the current free space, or from that which `spaces`
 * returns. Volumes that disappeared since the archive was opened get no content.
 */
export async function volumeChoice(
  archive: ChoosingArchive,
  spaces: (volumes: readonly AnyVolume[]) => Promise<Spaces> = spacesOf,
): Promise<VolumeChoice> {
  const writable = archive.volumes.writable();
  const isHash = archive.connector.policies.distribution === 'hash';
  if (writable.length === 0) throw archive.volumes.noneWritable();
  if (writable.length === 1 && !isHash) return () => writable[0]!.name;
  const roomy = withRoom(await spaces(writable));
  return isHash ? choiceByHash(archive, roomy.there) : choiceBySpace(archive, roomy);
}

function choiceBySpace({ nodes }: ChoosingArchive, { there, spaces }: Spaces): VolumeChoice {
  const weights = spaces.map(({ freeBytes }, at) => (nodes.isStreaming(there[at]!.name) ? freeBytes / 2 : freeBytes));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  // Every volume has at least one share, so that rounding excludes none.
  const shares = weights.map((weight) => Math.max(1, Math.round((weight / Math.max(1, total)) * SHARES)));
  const names = shares.flatMap((share, index) => new Array<string>(share).fill(there[index]!.name));
  return (digest) => names[view(digest).readUInt32BE(0) % names.length]!;
}

async function choiceByHash(archive: ChoosingArchive, there: readonly AnyVolume[]): Promise<VolumeChoice> {
  const names = sharingVolumes(archive.volumes.settings());
  const taking = new Set(there.map(({ name }) => name));
  await noteDisplaced(
    archive,
    names.filter((name) => !taking.has(name)),
  );
  const hash = new VolumeHash(names);
  // A volume that tests hand in need not be in the connector.
  return (digest) => hash.homeOf(digest, (name) => taking.has(name)) ?? there[0]!.name;
}

/** Notes that contents may be stored elsewhere than in these volumes, where they belong. */
export async function noteDisplaced(archive: ChoosingArchive, volumes: readonly string[]): Promise<void> {
  if (volumes.length === 0) return;
  const noted = await archive.catalog.notes(DISPLACED_NOTE);
  const missing = volumes.map((name) => DISPLACED_NOTE + name).filter((note) => noted[note] === undefined);
  if (missing.length > 0)
    await archive.commitGroup({ putNotes: Object.fromEntries(missing.map((note) => [note, 'yes'])) });
}

function withRoom(all: Spaces): Spaces {
  const places = all.there
    .keys()
    .filter((index) => all.spaces[index]!.freeBytes >= ROOM_BYTES_MIN)
    .toArray();
  if (places.length === 0) return all;
  return { there: places.map((index) => all.there[index]!), spaces: places.map((index) => all.spaces[index]!) };
}
