/**
 * Time for delays and limits. The clock of a machine may be set back, by an hour even, and whoever waits for a moment
 * by it would then wait so much longer. It may go forward by as much too, when it is set or the machine slept, and
 * whoever is waited for had none of that time.
 */
import type { Clock } from '../base/index.ts';

/**
 * A clock that never goes back, nor forward by more than `stepMsMax` from one look at it to the next: when the one
 * underneath does, it goes on from where it was.
 */
export function steadyClock(clock: Clock, stepMsMax = Number.POSITIVE_INFINITY): Clock {
  let last = clock();
  let aheadMs = 0;
  return () => {
    const now = clock() + aheadMs;
    last = Math.min(Math.max(now, last), last + stepMsMax);
    aheadMs += last - now;
    return last;
  };
}
