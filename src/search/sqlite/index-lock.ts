/**
 * Whose turn it is to write an index. Within a process one indexer at a time has it; who comes later waits, whoever the
 * others are.
 */
import { resolve } from 'node:path';

const lastTurns = new Map<string, Promise<void>>();

/** Whether anyone in this process has the turn, or waits for it. */
export function isIndexLocked(path: string): boolean {
  return lastTurns.has(resolve(path));
}

/** Waits for the turn, and gives what ends it. */
export async function lockIndex(path: string): Promise<() => void> {
  const name = resolve(path);
  const before = lastTurns.get(name);
  const turn = Promise.withResolvers<void>();
  lastTurns.set(name, turn.promise);
  await before;
  return () => {
    if (lastTurns.get(name) === turn.promise) lastTurns.delete(name);
    turn.resolve();
  };
}
