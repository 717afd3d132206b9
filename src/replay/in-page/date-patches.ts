/** Patches wombat's `Date`, which shows the time of the capture. */
import type { Wombat } from './wombat.ts';

/**
 * Wombat's Date has three faults. Called without `new`, it returns an object instead of text. It cannot be extended. It
 * treats the argument `undefined` as a missing argument.
 */
export function patchDates(methods: Wombat): void {
  const prepare = methods.initDateOverride;
  methods.initDateOverride = function (this: Wombat, timestamp) {
    const win = this.$wbwindow;
    const own = win.Date;
    prepare.call(this, timestamp);
    if (win.Date === own) return;
    const shifted = win.Date;
    // `now` is read once, because a page may replace `Date.now` with a function that itself creates a Date.
    const { now } = shifted;
    win.Date = new Proxy(shifted, {
      apply: () => String(new shifted()),
      construct: (_made, values, target) => Reflect.construct(own, values.length > 0 ? values : [now()], target),
    });
    Object.defineProperty(own.prototype, 'constructor', { value: win.Date });
  };
}
