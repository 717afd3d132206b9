/**
 * How long the next bytes of a body are waited for. An exchange that takes too long in all, or comes too slowly, is
 * cut; but never before what has arrived was looked at: the time may have passed in this process, which was busy, and
 * not at the server.
 */
import type { Clock, EpochMs } from '../../base/index.ts';
import type { FetchSettings } from '../fetch-settings.ts';

/** Looks at the connection after the time has passed: how many, and how long each. */
const LOOKS = 16;
const LOOK_MS = 100;
/** More than a connection holds at once: who sends more than this after the time is still sending. */
const ARRIVED_BYTES_MAX = 16 * 1024 * 1024;

export class BodyTimeout {
  readonly #settings: FetchSettings;
  readonly #clock: Clock;
  readonly #startMs: EpochMs;
  #overdueFrom: number | undefined;
  #looks = 0;

  constructor(settings: FetchSettings, clock: Clock, startMs: EpochMs) {
    this.#settings = settings;
    this.#clock = clock;
    this.#startMs = startMs;
  }

  /**
   * How long to wait for more, after so many bytes; undefined when no more is to be taken. `isThere`: whether more is
   * in memory already.
   */
  waitMs(bytes: number, isThere: boolean): number | undefined {
    const { slowAfterMs, bytesPerSecondMin, exchangeTimeoutMs, idleTimeoutMs } = this.#settings;
    const elapsedMs = this.#clock() - this.#startMs;
    const isSlow = elapsedMs > slowAfterMs && (bytes * 1000) / elapsedMs < bytesPerSecondMin;
    if (elapsedMs <= exchangeTimeoutMs && !isSlow) return idleTimeoutMs;
    this.#overdueFrom ??= bytes;
    if (!isThere) this.#looks++;
    const isOver = this.#looks > LOOKS || bytes - this.#overdueFrom > ARRIVED_BYTES_MAX;
    return isOver ? undefined : Math.min(LOOK_MS, idleTimeoutMs);
  }
}
