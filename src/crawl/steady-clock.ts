/** Time for delays and limits. The clock of a machine may be set back, by an hour even, and whoever waits for a moment by it would then wait so much longer. */
import type { Clock } from '../base/index.ts';

/** A clock that never goes back: when the one underneath does, it goes on from where it was. */
export function steadyClock(clock: Clock): Clock {
  let last = clock();
  let aheadMs = 0;
  return () => {
    const now = clock() + aheadMs;
    if (now < last) aheadMs += last - now;
    else last = now;
    return last;
  };
}
