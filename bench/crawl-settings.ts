/** What the processes of the crawl bench have to agree on. */
import { randomUUID } from 'node:crypto';

/**
 * Requests at a time: one, as a host gets unless told otherwise, and as wget asks; and as many as a crawl makes over
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

/** What going through the site once took. */
export type Taken = { readonly seconds: number; readonly processor: number };

/** What a crawl that knows very many URLs took at most. */
export type ManyKnown = { readonly known: number; readonly rss: number };
