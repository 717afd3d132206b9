/**
 * Decides how long to wait for the next bytes of a body. A body that takes too long or arrives too slowly is cut.
 * Before that, bytes that have already arrived are read, because this process may have been busy while the server was
 * not.
 */
import type { Clock, EpochMs } from '../../base/index.ts';
import type { FetchSettings } from '../fetch-settings.ts';

/** How often the connection is read after the timeout, and how long each of these reads waits. */
const LATE_READS_MAX = 16;
const LATE_READ_MS = 100;
/** More than a connection buffers. If more bytes than this arrive after the timeout, the server is still sending. */
const LATE_BYTES_MAX = 16 * 1024 * 1024;

export class BodyTimeout {
  readonly #settings: FetchSettings;
  readonly #clock: Clock;
  readonly #startMs: EpochMs;
  #bytesAtTimeout: number | undefined;
  #lateReads = 0;

  constructor(settings: FetchSettings, clock: Clock, startMs: EpochMs) {
    this.#settings = settings;
    this.#clock = clock;
    this.#startMs = startMs;
  }

  /**
   * Returns how long to wait for more bytes; undefined when the body must be cut. `bytes`: the length received so far.
   * `hasWaiting`: whether more bytes are in memory.
   */
  waitMs(bytes: number, hasWaiting: boolean): number | undefined {
    const { slowAfterMs, bytesPerSecondMin, exchangeTimeoutMs, idleTimeoutMs } = this.#settings;
    const elapsedMs = this.#clock() - this.#startMs;
    const isSlow = elapsedMs > slowAfterMs && (bytes * 1000) / elapsedMs < bytesPerSecondMin;
    if (elapsedMs <= exchangeTimeoutMs && !isSlow) return idleTimeoutMs;
    this.#bytesAtTimeout ??= bytes;
    if (!hasWaiting) this.#lateReads++;
    const isOver = this.#lateReads > LATE_READS_MAX || bytes - this.#bytesAtTimeout > LATE_BYTES_MAX;
    return isOver ? undefined : Math.min(LATE_READ_MS, idleTimeoutMs);
  }
}
