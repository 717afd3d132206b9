/** Opens archives: what has to be done before an archive can be used. */
import { Archive } from './archive.ts';
import { type ArchiveOptions, OpenedArchive } from './opened-archive.ts';
import { completeOpening } from './opening.ts';
import { withOldPlaces } from './segment/old-lineage.ts';

/**
 * Opens an archive, and completes or undoes changes that a crash interrupted (I3). An archive of an earlier version is
 * only read, and left as it is (I14).
 */
export async function openArchive(directory: string, options: ArchiveOptions): Promise<Archive> {
  const opened = await OpenedArchive.open(directory, options);
  const archive = new Archive(opened);
  try {
    await opened.load();
    if (opened.isOld) {
      opened.segmentRegistry.load(await withOldPlaces(opened.catalog, await opened.catalog.segments()));
      return archive;
    }
    await completeOpening(opened, options);
    return archive;
  } catch (error) {
    await archive.close();
    throw error;
  }
}
