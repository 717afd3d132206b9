/**
 * Which reference of a content is given back when the content is deleted by its key (D2). A client that stored bytes
 * without a URL knows nothing but the key. So the newest capture under the address that the key itself is goes first,
 * one for each call. Captures of URLs belong to the people who crawled or added them: where only these are left,
 * nothing is chosen, and the caller lists them.
 */
import { equal, toHex } from '../base/index.ts';
import type { BlockKey, Capture } from '../catalog/index.ts';

/** The address of a content that was stored without a URL. */
export function addressOfContent(digest: Uint8Array): string {
  return `urn:sha256:${toHex(digest)}`;
}

/**
 * The capture that is given back, of the captures at the key's own address. Undefined: none of them has this content,
 * so the deletion is refused.
 */
export function chooseReference(key: BlockKey, atOwnAddress: readonly Capture[]): Capture | undefined {
  let chosen: Capture | undefined;
  for (const capture of atOwnAddress) {
    const { block } = capture;
    if (!block || block.overflow !== key.overflow || !equal(block.digest, key.digest)) continue;
    if (!chosen || isNewer(capture, chosen)) chosen = capture;
  }
  return chosen;
}

/** Of captures at one time any may go, but every process and every catalog chooses the same. */
function isNewer(one: Capture, other: Capture): boolean {
  if (one.time !== other.time) return one.time > other.time;
  if (one.hash !== other.hash) return one.hash > other.hash;
  return one.collection < other.collection;
}
