/** `Date`, which shows the time of the capture. */
import type { Wombat } from './wombat.ts';

/**
 * Called without `new`, the Date of wombat returns an object instead of text. It cannot be extended, and takes an
 * argument `undefined` for none.
 */
export function patchDates(methods: Wombat): void {
  const prepare = methods.initDateOverride;
  methods.initDateOverride = function (this: Wombat, timestamp) {
    const win = this.$wbwindow;
    const own = win.Date;
    prepare.call(this, timestamp);
    if (win.Date === own) return;
    const shifted = win.Date;
    // A page may put a function of its own in place of `now`, which may itself ask for a new Date.
    const { now } = shifted;
    win.Date = new Proxy(shifted, {
      apply: () => String(new shifted()),
      construct: (_made, values, target) => Reflect.construct(own, values.length > 0 ? values : [now()], target),
    });
    Object.defineProperty(own.prototype, 'constructor', { value: win.Date });
  };
}
