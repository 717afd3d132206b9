/**
 * Finds the capture that a record is: by URL, time, hash and collection, and then by content. Both are look-ups in
 * maps. Searching would be too slow, since a URL may have any number of captures of one time, and careless writers give
 * one id to all their records.
 */
import { fromLatin1 } from '../../base/index.ts';
import type { Capture } from '../../catalog/index.ts';

type Identity = Pick<Capture, 'urlKey' | 'time' | 'hash' | 'collection'>;

/** Captures of one identity. */
type Same = Identity & {
  readonly first: Capture;
  unresolved: Capture | undefined;
  readonly byDigest: Map<string, Capture>;
};

export class KnownCaptures {
  readonly #byHash = new Map<number, Same[]>();

  add(capture: Capture): void {
    const same = this.#find(capture) ?? this.#begin(capture);
    if (!capture.block) same.unresolved ??= capture;
    else {
      const digest = fromLatin1(capture.block.digest);
      if (!same.byDigest.has(digest)) same.byDigest.set(digest, capture);
    }
  }

  /**
   * A capture of this identity with this content or an unknown content. Without a digest, any capture of this identity.
   */
  find(identity: Identity, digest: Uint8Array | undefined): Capture | undefined {
    const same = this.#find(identity);
    if (!same || !digest) return same?.first;
    return same.byDigest.get(fromLatin1(digest)) ?? same.unresolved;
  }

  #find({ urlKey, time, hash, collection }: Identity): Same | undefined {
    return this.#byHash
      .get(hash)
      ?.find((same) => same.time === time && same.collection === collection && same.urlKey === urlKey);
  }

  #begin(first: Capture): Same {
    const { urlKey, time, hash, collection } = first;
    const same: Same = { urlKey, time, hash, collection, first, unresolved: undefined, byDigest: new Map() };
    const alike = this.#byHash.get(hash);
    if (alike) alike.push(same);
    else this.#byHash.set(hash, [same]);
    return same;
  }
}
