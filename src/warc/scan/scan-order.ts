/**
 * A range that is scanned on another thread, and how many pieces of its results may wait. The thread takes a place
 * before each piece, and waits while there is none. The receiver of a piece gives the place back.
 */
import type { ScanJob } from './scan.ts';

/** An ordinary range is one piece, so its thread never waits. */
const PIECES_MAX = 2;
/** An abandoned order never has places again. */
const ABANDONED = -1_000_000;

export type Room = Int32Array<SharedArrayBuffer>;

export type ScanOrder = { readonly job: ScanJob; readonly room: Room };

export function newRoom(): Room {
  const room = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  room[0] = PIECES_MAX;
  return room;
}

/** Takes a place, and blocks the thread until there is one. Returns false when the order was abandoned. */
export function waitForRoom(room: Room): boolean {
  for (;;) {
    const places = Atomics.load(room, 0);
    if (places < 0) return false;
    if (places === 0) Atomics.wait(room, 0, 0);
    else if (Atomics.compareExchange(room, 0, places, places - 1) === places) return true;
  }
}

export function giveBackRoom(room: Room): void {
  Atomics.add(room, 0, 1);
  Atomics.notify(room, 0);
}

export function abandon(room: Room): void {
  Atomics.store(room, 0, ABANDONED);
  Atomics.notify(room, 0);
}
