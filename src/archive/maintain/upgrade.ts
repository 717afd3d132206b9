/**
 * Makes an archive of version 1 one of version 2, without reading a segment.
 *
 * ```
 * lock of the catalog  ->  archive.yaml says version 2, durably  ->  rows of captures rewritten, batch by batch
 *                      ->  sequence numbers of segments, format of the catalog, in one batch
 * ```
 * From the second step on, earlier releases refuse the archive. Until the last step, this release only reads it. So no
 * release ever changes an archive whose state it does not know, wherever an upgrade is interrupted. The next upgrade
 * continues there.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, PinakesError } from '../../base/index.ts';
import { LevelUpgrade } from '../../catalog/index.ts';
import { ARCHIVE_VERSION, readConnector, writeConnector } from '../connector.ts';
import { assertTakable, lockedError, OwnerFile } from '../owner.ts';
import { freeBytesAt } from '../reserve.ts';
import { CATALOG_DIRECTORY } from './catalog-soundness.ts';

export type UpgradeOptions = {
  readonly clock: Clock;
  readonly dryRun?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of captures that are done, and of all captures. */
  readonly onProgress?: ((done: number, captures: number) => void) | undefined;
  /** For tests: how many captures a batch has. */
  readonly rowsAtOnce?: number | undefined;
};

export type UpgradeReport = {
  /** The version of the archive before. */
  readonly version: number;
  /** Whether there was anything to do. */
  readonly isNeeded: boolean;
  /** Whether the catalog cannot be upgraded, and has to be made again from the segments. */
  readonly isCatalogLost: boolean;
  /** Captures in the catalog, and how many of them an interrupted upgrade had done already. */
  readonly captures: number;
  readonly capturesDone: number;
  /** The most room that the upgrade takes beside the catalog, and what is free there. */
  readonly roomBytes: number;
  readonly freeBytes: number | undefined;
};

export async function upgradeArchive(directory: string, options: UpgradeOptions): Promise<UpgradeReport> {
  const connector = await readConnector(directory);
  await assertTakable(directory);
  const path = join(directory, CATALOG_DIRECTORY);
  // Opening a catalog that is missing would make one.
  const catalog = existsSync(path) ? await openCatalog(directory, path) : undefined;
  try {
    const report: UpgradeReport = {
      version: connector.version,
      isNeeded: connector.version < ARCHIVE_VERSION || catalog?.isNeeded === true,
      // The catalog may have been dropped for a rebuild. Then opening it made an empty one.
      isCatalogLost: !catalog || (!catalog.isNeeded && catalog.captures === 0 && connector.version < ARCHIVE_VERSION),
      captures: catalog?.captures ?? 0,
      capturesDone: catalog?.done ?? 0,
      roomBytes: catalog?.roomBytes ?? 0,
      freeBytes: await freeBytesAt(directory),
    };
    if (options.dryRun || !report.isNeeded) return report;
    assertRoom(directory, report);
    const owner = await OwnerFile.take(directory, 'upgrade', options.clock);
    try {
      if (connector.version < ARCHIVE_VERSION)
        await writeConnector(directory, { ...connector, version: ARCHIVE_VERSION });
      const onProgress = (done: number) => options.onProgress?.(done, report.captures);
      const { signal, rowsAtOnce } = options;
      await catalog?.run({ signal, onProgress, rowsAtOnce });
    } finally {
      await owner.release();
    }
    return report;
  } finally {
    await catalog?.close();
  }
}

/** Undefined if it is damaged. A rebuild makes it again, for which the archive needs its new version. */
async function openCatalog(directory: string, path: string): Promise<LevelUpgrade | undefined> {
  try {
    return await LevelUpgrade.open(path);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 'CATALOG_DAMAGED' || code === 'CATALOG_VERSION') return undefined;
    throw code === 'CATALOG_LOCKED' ? await lockedError(directory, error) : error;
  }
}

function assertRoom(directory: string, { roomBytes, freeBytes = roomBytes }: UpgradeReport): void {
  if (freeBytes >= roomBytes) return;
  const missing = Math.ceil((roomBytes - freeBytes) / 2 ** 20);
  throw new PinakesError('ARCHIVE_FULL', { where: directory, detail: `${missing} MiB more have to be free` });
}
