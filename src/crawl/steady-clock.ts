/**
 * Time for delays and limits. The clock of a machine may be set back, even by an hour, and a wait for a moment would
 * take that much longer. It may also jump forward, when it is set or the machine slept. That time must not be blamed on
 * a server.
 */
import type { Clock } from '../base/index.ts';

/**
 * A clock that never goes back, and never goes forward by more than `stepMsMax` between two readings. If the given
 * clock does, it continues from its last reading.
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
