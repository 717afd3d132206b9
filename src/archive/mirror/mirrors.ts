/** The mirrors in the connector of an archive: adding one, finding one by its name, forgetting one. */
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { PinakesError } from '../../base/index.ts';
import { directoriesOf, isWithin, realPlace } from '../maintain/volume-admin.ts';
import { MIRRORS_FOLDER } from '../mirror-status.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { makeDirectory } from '../segment/volume-set.ts';
import type { MirrorSetting } from './mirror-setting.ts';
import { createTarget, isAddress } from './mirror-target.ts';

export type NewMirror = {
  readonly name: string;
  /** An empty or missing directory, or an address. */
  readonly target: string;
  /** The server and region of a bucket. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** How long states from before a deletion stay restorable. */
  readonly delayMs?: number | undefined;
  /** Whether files that were added in place are copied too. */
  readonly withLinked?: boolean | undefined;
  /** How often a server syncs it. */
  readonly everyMs?: number | undefined;
  /** Whether a server syncs it after each job. */
  readonly afterJobs?: boolean | undefined;
};

export async function addMirror(archive: OpenedArchive, mirror: NewMirror): Promise<void> {
  const { name, target, delayMs = 0, withLinked = false, everyMs, afterJobs = false, endpoint, region } = mirror;
  const refused = (detail: string) => new PinakesError('BAD_ARGUMENT', { where: `mirror ${name}`, detail });
  if (!/^[a-z0-9][a-z0-9-]*$/.test(name)) throw refused('a name has lower-case letters, digits and dashes');
  const { mirrors = [] } = archive.connector;
  if (mirrors.some((other) => other.name === name)) throw refused('there is a mirror of this name already');
  const place = isAddress(target) ? target : resolve(target);
  if (!isAddress(target)) await refusePartOfArchive(archive, place);
  const server = { ...(endpoint !== undefined && { endpoint }), ...(region !== undefined && { region }) };
  const every = everyMs === undefined ? {} : { everyMs };
  const setting = { name, target: place, ...server, id: archive.newId(), delayMs, withLinked, ...every, afterJobs };
  await archive.exclusive(async () => {
    await makeDirectory(join(archive.directory, MIRRORS_FOLDER));
    await createTarget(setting, { id: setting.id, archive: archive.connector.name }, archive.openRemote);
    await archive.changeConnector({ ...archive.connector, mirrors: [...mirrors, setting] });
  });
}

/** A mirror in a volume would be read as segments, and one in the archive's directory would be lost with it. */
async function refusePartOfArchive(archive: OpenedArchive, target: string): Promise<void> {
  const place = await realPlace(target);
  const own = [['the archive', await realPlace(archive.directory)] as const, ...(await directoriesOf(archive))];
  for (const [name, directory] of own)
    if (isWithin(place, directory) || isWithin(directory, place))
      throw new PinakesError('MIRROR_TAKEN', { where: target, detail: `it overlaps with the directory of ${name}` });
}

export function mirrorOf({ connector }: OpenedArchive, name: string): MirrorSetting {
  const found = connector.mirrors?.find((mirror) => mirror.name === name);
  if (!found) throw new PinakesError('MIRROR_UNKNOWN', { where: name });
  return found;
}

export async function removeMirror(archive: OpenedArchive, name: string): Promise<void> {
  mirrorOf(archive, name);
  await archive.exclusive(async () => {
    const mirrors = archive.connector.mirrors?.filter((mirror) => mirror.name !== name) ?? [];
    await archive.changeConnector({ ...archive.connector, mirrors });
  });
  for (const suffix of ['json', 'jsonl'])
    await rm(join(archive.directory, MIRRORS_FOLDER, `${name}.${suffix}`), { force: true });
}
