/**
 * Reads ranges of segments from a mirror, for the repair of what the archive lost (I15). The bytes are those that the
 * mirror has: the caller checks digests of records before it uses them.
 */
import { concat, PinakesError } from '../../base/index.ts';
import { sealedBytes } from '../../ledger/index.ts';
import { type MirroredObject, type MirrorManifest, readManifests } from './mirror-manifest.ts';
import type { MirrorSetting } from './mirror-setting.ts';
import { type MirrorTarget, type OpenRemote, openTarget } from './mirror-target.ts';

export interface SegmentBackup extends AsyncDisposable {
  /** The bytes of a range of a segment. Undefined: the backup does not have all of them. */
  read(segmentName: string, offset: number, length: number): Promise<Uint8Array | undefined>;
}

export class MirrorReader implements SegmentBackup {
  readonly #target: MirrorTarget;
  readonly #objects: ReadonlyMap<string, MirroredObject>;

  private constructor(target: MirrorTarget, { objects }: Pick<MirrorManifest, 'objects'>) {
    this.#target = target;
    this.#objects = new Map(objects.map((object) => [object.name, object]));
  }

  static async open(setting: MirrorSetting, remote: OpenRemote): Promise<MirrorReader> {
    const target = await openTarget(setting, false, remote);
    try {
      const { manifests } = await readManifests(target.store);
      return new MirrorReader(target, manifests[0] ?? { objects: [] });
    } catch (error) {
      await target[Symbol.asyncDispose]();
      throw error;
    }
  }

  async read(segmentName: string, offset: number, length: number): Promise<Uint8Array | undefined> {
    const object = this.#objects.get(segmentName);
    if (!object || offset + length > object.bytes) return undefined;
    const found: Uint8Array[] = [];
    let begin = 0;
    for (const [stored, bytes] of object.pieces) {
      const from = Math.max(offset, begin);
      const to = Math.min(offset + length, begin + bytes);
      if (from < to) {
        const range = { offset: from - begin, length: to - from };
        const [piece] = await this.#target.store.read(sealedBytes(stored, bytes), [range]).catch(missing);
        if (piece?.length !== range.length) return undefined;
        found.push(piece);
      }
      begin += bytes;
    }
    return concat(found);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#target[Symbol.asyncDispose]());
  }
}

function missing(error: unknown): Uint8Array[] {
  if (error instanceof PinakesError && error.code === 'OBJECT_MISSING') return [];
  throw error;
}
