/** The mirrors of an open archive, as other rooms see them. Work on them runs one piece at a time. */
import { Exclusive } from '../../base/index.ts';
import { type MirrorStatus, mirrorStatuses, type SyncReport } from '../mirror-status.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { MirrorCheck, MirrorCheckOptions } from './mirror-check.ts';
import type { SegmentBackup } from './mirror-reader.ts';
import type { SyncOptions } from './mirror-sync.ts';
import { addMirror, mirrorOf, type NewMirror, removeMirror } from './mirrors.ts';

export class ArchiveMirrors {
  readonly #archive: OpenedArchive;
  readonly #work = new Exclusive();

  constructor(archive: OpenedArchive) {
    this.#archive = archive;
  }

  /** All mirrors, with what their last syncs found. */
  list(): Promise<MirrorStatus[]> {
    const { directory, connector } = this.#archive;
    return mirrorStatuses(directory, connector.mirrors ?? []);
  }

  /** Makes an empty directory a mirror. `sync` fills it. */
  async add(mirror: NewMirror): Promise<void> {
    this.#archive.assertTaking();
    return this.#work.run(() => addMirror(this.#archive, mirror));
  }

  /** Forgets a mirror. What is in it stays. */
  async remove(name: string): Promise<void> {
    this.#archive.assertTaking();
    return this.#work.run(() => removeMirror(this.#archive, name));
  }

  /** Brings a mirror up to date. After an interruption the next sync goes on where this one was. */
  async sync(name: string, options: SyncOptions = {}): Promise<SyncReport> {
    this.#archive.assertTaking();
    const { syncMirror } = await import('./mirror-sync.ts');
    return this.#work.run(() => {
      const sync = (check?: () => Promise<void>) =>
        syncMirror(this.#archive, mirrorOf(this.#archive, name), { ...options, check });
      // Two machines would write manifests of one number, and remove what the other one copies.
      return this.#archive.cluster?.alone(`mirror:${name}`, sync) ?? sync();
    });
  }

  /** Reads every byte of a mirror and compares it with its digest. */
  async check(name: string, options: MirrorCheckOptions = {}): Promise<MirrorCheck> {
    const { checkMirror } = await import('./mirror-check.ts');
    const setting = mirrorOf(this.#archive, name);
    return this.#work.run(() => checkMirror(setting, this.#archive.openRemote, options));
  }

  /** Reads ranges of segments from a mirror. */
  async open(name: string): Promise<SegmentBackup> {
    const { MirrorReader } = await import('./mirror-reader.ts');
    return MirrorReader.open(mirrorOf(this.#archive, name), this.#archive.openRemote);
  }
}
