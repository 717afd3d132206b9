/**
 * What is known of the mirrors of an archive without reaching them: what their last syncs found.
 *
 * ```
 *   mirrors/<name>.json    the report of the last sync, in the archive's directory; derived
 * ```
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MirrorSetting } from './mirror/mirror-setting.ts';

/** The folder, in the archive's directory, of what is known of mirrors. */
export const MIRRORS_FOLDER = 'mirrors';

export type SyncReport = {
  /** The number of the manifest. */
  readonly number: number;
  /** When the state was read, as W3C date. */
  readonly time: string;
  readonly objects: number;
  readonly bytes: number;
  readonly copied: number;
  readonly copiedBytes: number;
  readonly removed: number;
  /** Earlier states that can still be restored. */
  readonly earlier: number;
  readonly absent: number;
  /** Segments with bytes of what is barred, which are in the mirror until the archive is compacted. */
  readonly barred: readonly string[];
};

export type MirrorStatus = MirrorSetting & {
  /** Undefined: it was never synced by this archive. */
  readonly last: SyncReport | undefined;
};

export function mirrorStatuses(directory: string, mirrors: readonly MirrorSetting[]): Promise<MirrorStatus[]> {
  return Promise.all(mirrors.map(async (mirror) => ({ ...mirror, last: await lastSync(directory, mirror.name) })));
}

/** A report that cannot be read counts as none: the next sync writes it again. */
async function lastSync(directory: string, name: string): Promise<SyncReport | undefined> {
  try {
    return JSON.parse(await readFile(join(directory, MIRRORS_FOLDER, `${name}.json`), 'utf8')) as SyncReport;
  } catch {
    return undefined;
  }
}
