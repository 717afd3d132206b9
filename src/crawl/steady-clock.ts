/**
 * Time for delays and limits. The clock of a machine may be set back by an hour. Then a wait for a point in time would
 * take an hour longer. The clock may also jump forward, when it is set or the machine slept. A server must not be
 * blamed for that time.
 */
import type { Clock } from '../base/index.ts';

/**
 * A clock that never goes back, and goes forward by at most `stepMsMax` between two readings. After a jump of the given
 * clock it continues from its own last reading.
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
