/** What the processes of the crawl bench have to agree on. */
import { randomUUID } from 'node:crypto';

export const CONCURRENCY = 16;
export const SETTINGS = { allowPrivate: true, delayMs: 0, concurrency: CONCURRENCY, hostConcurrency: CONCURRENCY };

export const newId = () => `<urn:uuid:${randomUUID()}>`;

/** See `crawl-way.ts`. */
export type WayName = 'crawl' | 'own' | 'packed' | 'fetch' | 'agent';

/** What going through the site once took. */
export type Taken = { readonly seconds: number; readonly processor: number };

/** What a crawl that knows very many URLs took at most. */
export type ManyKnown = { readonly known: number; readonly rss: number };
