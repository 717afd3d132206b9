/** A sum over the last minute, in slots of one second, so that adding to it is cheap. */
import type { EpochMs } from '../../base/index.ts';

const SLOT_MS = 1000;
const SLOTS = 60;

export class RecentCount {
  readonly #slots = new Float64Array(SLOTS);
  /** The number of the newest slot, in seconds since 1970. */
  #newest = 0;

  add(amount: number, now: EpochMs): void {
    this.#moveTo(now);
    this.#slots[this.#newest % SLOTS]! += amount;
  }

  /** What was added in the last minute. */
  sum(now: EpochMs): number {
    this.#moveTo(now);
    return this.#slots.reduce((sum, amount) => sum + amount, 0);
  }

  #moveTo(now: EpochMs): void {
    const slot = Math.max(0, Math.floor(now / SLOT_MS));
    const passed = slot - this.#newest;
    if (passed === 0) return;
    // A clock that was set back a little adds to the newest slot. After a large step everything is too old.
    if (passed < 0 && passed > -SLOTS) return;
    if (Math.abs(passed) >= SLOTS) this.#slots.fill(0);
    else for (let one = this.#newest + 1; one <= slot; one++) this.#slots[one % SLOTS] = 0;
    this.#newest = slot;
  }
}
