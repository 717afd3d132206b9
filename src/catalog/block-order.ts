/** The order of blocks: by digest, then by overflow. */
import { compare } from '../base/index.ts';
import type { BlockKey } from './catalog.ts';

export function compareBlockKeys(a: BlockKey, b: BlockKey): number {
  return compare(a.digest, b.digest) || a.overflow - b.overflow;
}
