/** Which URL keys are in a range of captures. */
import type { UrlKey } from '../url/index.ts';
import { type CaptureRange, onlyKeyOf } from './catalog.ts';
import { compareKeys, isLongKey } from './key-order.ts';

/** Whether a range ends among long keys, which are not in the order of their bytes. */
export function isCut(range: CaptureRange): boolean {
  if (onlyKeyOf(range) !== undefined) return false;
  return [range.keyFrom, range.keyTo].some((key) => key !== undefined && isLongKey(key));
}

/** Whether a URL key is below, inside or above a range. */
export function sideOf(key: UrlKey, { keyFrom, keyTo }: CaptureRange): 'below' | 'inside' | 'above' {
  if (keyFrom !== undefined && compareKeys(key, keyFrom) < 0) return 'below';
  return keyTo !== undefined && compareKeys(key, keyTo) >= 0 ? 'above' : 'inside';
}
