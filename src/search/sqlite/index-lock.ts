/**
 * Locks a path within this process, so that one indexer at a time writes to the path. Other indexers wait in the order
 * of their calls.
 */
import { resolve } from 'node:path';

const lastHolders = new Map<string, Promise<void>>();

/** True if something in this process holds the lock or waits for it. */
export function isIndexLocked(path: string): boolean {
  return lastHolders.has(resolve(path));
}

/** Waits for the lock. Returns the function that unlocks. */
export async function lockIndex(path: string): Promise<() => void> {
  const name = resolve(path);
  const before = lastHolders.get(name);
  const holder = Promise.withResolvers<void>();
  lastHolders.set(name, holder.promise);
  await before;
  return () => {
    if (lastHolders.get(name) === holder.promise) lastHolders.delete(name);
    holder.resolve();
  };
}
