/**
 * Checks a mirror: reads every byte of every state that can be restored, and compares it with its digest. With
 * `repair`, damaged objects are removed, so that the next sync copies them again.
 */
import { RunningDigest, toHex } from '../../base/index.ts';
import { listedObjects, sealedBytes } from '../../ledger/index.ts';
import { type AbsentObject, manifestName, type Piece, piecesOf, readManifests } from './mirror-manifest.ts';
import type { MirrorSetting } from './mirror-setting.ts';
import { type OpenRemote, openTarget } from './mirror-target.ts';

export type MirrorCheckOptions = {
  /** Removes damaged objects, so that the next sync copies them again. */
  readonly repair?: boolean | undefined;
  readonly onProgress?: ((progress: { object: string; bytes: number; totalBytes: number }) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type MirrorProblem = {
  readonly kind: 'damaged' | 'missing' | 'manifest damaged';
  readonly object: string;
};

export type MirrorCheck = {
  /** The number and time of the newest state. Undefined: there is none. */
  readonly number: number | undefined;
  readonly time: string | undefined;
  readonly states: number;
  readonly objects: number;
  readonly bytes: number;
  readonly problems: readonly MirrorProblem[];
  /** What the newest state lacks. */
  readonly absent: readonly AbsentObject[];
};

export async function checkMirror(
  setting: MirrorSetting,
  remote: OpenRemote,
  options: MirrorCheckOptions = {},
): Promise<MirrorCheck> {
  const { repair = false, onProgress, signal } = options;
  await using target = await openTarget(setting, repair, remote);
  const { store } = target;
  const { manifests, damaged } = await readManifests(store);
  const problems: MirrorProblem[] = damaged.map((number) => ({
    kind: 'manifest damaged',
    object: manifestName(number),
  }));
  const sizes = new Map((await listedObjects(store)).map(({ name, bytes, sealed }) => [name, sealed ? bytes : -1]));
  const pieces = new Map<string, Piece>(manifests.flatMap(piecesOf).map((piece) => [piece[0], piece]));
  const totalBytes = [...pieces.values()].reduce((sum, [, bytes]) => sum + bytes, 0);
  let bytes = 0;
  for (const [object, length, sha256] of pieces.values()) {
    onProgress?.({ object, bytes, totalBytes });
    if (!sizes.has(object)) problems.push({ kind: 'missing', object });
    else {
      const digest = new RunningDigest('sha256');
      if (sizes.get(object) === length)
        for await (const piece of store.stream(sealedBytes(object, length), 0, length)) {
          signal?.throwIfAborted();
          digest.update(piece);
        }
      if (toHex(digest.finish().bytes) !== sha256) problems.push({ kind: 'damaged', object });
    }
    bytes += length;
  }
  if (repair) await store.remove(problems.filter(({ kind }) => kind === 'damaged').map(({ object }) => object));
  const [newest] = manifests;
  return {
    number: newest?.number,
    time: newest?.time,
    states: manifests.length,
    objects: pieces.size,
    bytes: totalBytes,
    problems,
    absent: newest?.absent ?? [],
  };
}
