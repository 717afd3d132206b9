/**
 * Where members of damaged and lost records are found: copies of their contents on other volumes, and mirrors. What a
 * source returns was read to its end, and its digests are right (I15).
 */
import { PinakesError } from '../../base/index.ts';
import { MirrorReader, type SegmentBackup } from '../mirror/mirror-reader.ts';
import { isCaptureAt, isHolder, mirrorSource, type RestoreSource } from '../mirror/mirror-source.ts';
import type { OpenedArchive } from '../opened-archive.ts';

/** Copies in packs. A copy of another record than the one that holds the content now is passed over. */
export function copiesSource({ access, catalog }: OpenedArchive): RestoreSource {
  return async ({ place, block }) => {
    const copy = block && isHolder(block, place) && (await access.copies.read(block));
    if (!copy || copy.member.length !== place.length) return undefined;
    const { member, record, dictionary } = copy;
    return (await isCaptureAt(catalog, place, record.head)) ? { member, dictionary } : undefined;
  };
}

/** The mirrors of the archive that can be opened. */
export class MirrorSources implements AsyncDisposable {
  readonly sources: RestoreSource[] = [];
  /** The other mirrors, and why they cannot be opened. */
  readonly unread: { readonly mirror: string; readonly why: string }[] = [];
  readonly #mirrors: SegmentBackup[] = [];

  static async open(archive: OpenedArchive): Promise<MirrorSources> {
    const opened = new MirrorSources();
    for (const setting of archive.connector.mirrors ?? []) {
      try {
        const mirror = await MirrorReader.open(setting, archive.openRemote);
        opened.#mirrors.push(mirror);
        opened.sources.push(mirrorSource(archive, mirror));
      } catch (error) {
        if (!(error instanceof PinakesError)) throw error;
        opened.unread.push({ mirror: setting.name, why: error.message });
      }
    }
    return opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const mirror of this.#mirrors) await mirror[Symbol.asyncDispose]();
  }
}
