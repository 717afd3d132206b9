/**
 * Finds a capture by time among the sorted times of one URL. All functions return an index, by binary search.
 */

/** Index of the last time at or before `wanted`, or -1. */
export function latestNotAfter(times: ArrayLike<number>, wanted: number): number {
  let from = 0;
  let to = times.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (times[middle]! <= wanted) from = middle + 1;
    else to = middle;
  }
  return from - 1;
}

/**
 * Index of the time nearest to `wanted`, the earlier of two equally near times; -1 when there are no times. When
 * several times are equal, the last one is returned.
 */
export function closest(times: ArrayLike<number>, wanted: number): number {
  const before = latestNotAfter(times, wanted);
  const after = before + 1;
  if (after >= times.length) return before;
  if (before < 0) return latestNotAfter(times, times[0]!);
  const isBeforeNearer = wanted - times[before]! <= times[after]! - wanted;
  return isBeforeNearer ? before : latestNotAfter(times, times[after]!);
}
