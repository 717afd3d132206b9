/** What a client may learn of contents, and what its stores are counted against. */
import type { Archive, ReadableCollections } from '../../archive/index.ts';
import { HttpProblem } from '../http/problem.ts';
import type { Access } from '../tokens/access.ts';
import type { TokenStore } from '../tokens/token-store.ts';

/** Replies to a limited token are sent at multiples of this time, so that their delay tells nothing. */
const REPLY_STEP_MS = 50;
const OWNER_CHARACTERS = 16;

/** The collections of the token that the archive has, by number. */
export async function collectionsOf(
  archive: Archive,
  { collections }: Access,
): Promise<ReadonlySet<number> | undefined> {
  if (!collections) return undefined;
  const numbers = await Promise.all(collections.map((name) => archive.collections.find(name)));
  return new Set(numbers.filter((number) => number !== undefined));
}

/** The collections in which the client may learn of contents. */
export async function readableBy(archive: Archive, access: Access): Promise<ReadableCollections> {
  if (!access.may('read')) return new Set();
  return (await collectionsOf(archive, access)) ?? 'all';
}

/** Whose staged contents a client may refer to. */
export function ownerOf({ token }: Access): string {
  return token?.hash.slice(0, OWNER_CHARACTERS) ?? 'server';
}

/** Counts bytes against the quota of the token before they are stored. */
export async function chargeTo(tokens: TokenStore, { token }: Access, bytes: number): Promise<void> {
  if (!token || (await tokens.charge(token, bytes))) return;
  throw new HttpProblem({
    status: 507,
    code: 'QUOTA_FULL',
    message: 'the quota of the token is used up',
    advice: 'Ask the operator for a token with a larger quota.',
  });
}

/**
 * Runs work for a limited token and ends it at a multiple of a step of time: how long the work took depends a little on
 * what the archive holds.
 */
export async function evenly<T>({ collections }: Access, stopwatch: () => number, work: () => Promise<T>): Promise<T> {
  if (!collections) return work();
  const begun = stopwatch();
  try {
    return await work();
  } finally {
    const took = stopwatch() - begun;
    await new Promise((resolve) => setTimeout(resolve, Math.ceil(took / REPLY_STEP_MS) * REPLY_STEP_MS - took));
  }
}
