/**
 * The policy `distribution: hash`: a rendezvous hash of a content's digest orders the volumes, and the content belongs
 * to the first one that takes contents. The volumes have equal weights.
 *
 * ```
 *   seed       the first 8 bytes of SHA-256 of the volume's name, as two numbers of 32 bits: a, b
 *   key        the first 8 bytes of the digest, as two numbers of 32 bits: x, y
 *   score      mix(mix(mix(x ^ a) ^ y) ^ b)                                     the highest score is the home
 *   mix        the finalizer of MurmurHash3 for 32 bits
 * ```
 * The order of two volumes does not depend on the others. So a volume that is added becomes the home of 1/(n+1) of the
 * contents, and no other content moves; while a volume is away, its contents go to the next one in their order. The
 * scores must never change: every archive with this policy would be moved.
 *
 * Every capture belongs where its content does, revisits included. A capture without a known content belongs where the
 * SHA-256 of its `<URL key> <time> <hash>` does. Records that go with a capture, such as its request, are kept with it.
 */
import { digestOf, utf8, view } from '../../base/index.ts';
import type { Capture } from '../../catalog/index.ts';
import type { VolumeSetting } from '../connector.ts';

type Seeded = { readonly name: string; readonly a: number; readonly b: number };

export class VolumeHash {
  readonly #volumes: readonly Seeded[];

  /** The volumes over which contents are distributed, in any order. */
  constructor(names: readonly string[]) {
    this.#volumes = names.toSorted().map((name) => {
      const seed = view(digestOf('sha256', utf8(name)).bytes);
      return { name, a: seed.readUInt32BE(0), b: seed.readUInt32BE(4) };
    });
  }

  /** The volume that a content belongs to, if only these volumes take contents. */
  homeOf(digest: Uint8Array, takes: (name: string) => boolean = () => true): string | undefined {
    const key = view(digest);
    const x = key.readUInt32BE(0);
    const y = key.readUInt32BE(4);
    let home: string | undefined;
    let best = -1;
    for (const { name, a, b } of this.#volumes) {
      const score = mix(mix(mix(x ^ a) ^ y) ^ b);
      if (score <= best || !takes(name)) continue;
      best = score;
      home = name;
    }
    return home;
  }
}

/** The volumes over which the policy `hash` distributes contents, missing ones included. */
export function sharingVolumes(settings: readonly VolumeSetting[]): string[] {
  return settings.flatMap(({ name, kind, writable }) => (writable && kind !== 'linked' ? [name] : []));
}

/** The digest by which the volume of a capture is chosen. */
export function sharedDigestOf(capture: Capture): Uint8Array {
  const { block, urlKey, time, hash } = capture;
  return block?.digest ?? digestOf('sha256', utf8(`${urlKey} ${time} ${hash}`)).bytes;
}

function mix(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
