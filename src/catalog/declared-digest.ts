/**
 * The part of a declared digest that aliases are found by. Eight bytes are enough to find candidates: a declared digest
 * proves nothing anyway, and a caller that relies on one must read the content.
 */
import { assert } from '../base/index.ts';

export const DECLARED_BYTES = 8;

/** A digest that is declared for more contents than this identifies none of them. */
export const ALIAS_CANDIDATES_MAX = 256;

export function declaredStart(declared: Uint8Array): Uint8Array {
  assert(declared.length >= DECLARED_BYTES, 'a declared digest is shorter than any digest');
  return declared.subarray(0, DECLARED_BYTES);
}
