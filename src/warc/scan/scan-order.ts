/**
 * A range that is scanned on another thread, and the room there is for what it finds. The thread takes a place before
 * each piece and waits while there is none; whoever takes a piece out gives the place back.
 */
import type { ScanJob } from './scan.ts';

/** An ordinary range is one piece, so threads wait for nobody there. */
const PIECES_MAX = 2;
/** Of an order that was given up, there is never room again. */
const GIVEN_UP = -1_000_000;

export type Room = Int32Array<SharedArrayBuffer>;

export type ScanOrder = { readonly job: ScanJob; readonly room: Room };

export function newRoom(): Room {
  const room = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  room[0] = PIECES_MAX;
  return room;
}

/** Takes a place; false when nobody wants any more. Waits, so not for threads that have anything else to do. */
export function waitForRoom(room: Room): boolean {
  for (;;) {
    const places = Atomics.load(room, 0);
    if (places < 0) return false;
    if (places === 0) Atomics.wait(room, 0, 0);
    else if (Atomics.compareExchange(room, 0, places, places - 1) === places) return true;
  }
}

export function giveBack(room: Room): void {
  Atomics.add(room, 0, 1);
  Atomics.notify(room, 0);
}

export function giveUp(room: Room): void {
  Atomics.store(room, 0, GIVEN_UP);
  Atomics.notify(room, 0);
}
