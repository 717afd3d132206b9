/** Settings that the processes of the crawl bench share. */
import { randomUUID } from 'node:crypto';

/**
 * Requests at a time: one, which is the default for a host and the only choice of wget, and the default of a crawl over
 * all hosts.
 */
export const CONCURRENCIES = [1, 16] as const;
export type Concurrency = (typeof CONCURRENCIES)[number];

export function settingsOf(concurrency: Concurrency) {
  return { allowPrivate: true, delayMs: 0, concurrency, hostConcurrency: concurrency };
}

export const newId = () => `<urn:uuid:${randomUUID()}>`;

/** See `crawl-way.ts`. */
export type WayName = 'crawl' | 'own' | 'packed' | 'fetch' | 'agent';

/** The cost of fetching the site once. */
export type FetchCost = { readonly seconds: number; readonly processor: number };

/** The cost of a crawl that knows very many URLs. */
export type KnownUrlsCost = { readonly known: number; readonly rss: number };
