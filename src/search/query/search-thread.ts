/**
 * Searches on a separate thread. A search over many pages takes tenths of a second of processor time, which must not
 * block a server.
 */
import { ThreadCalls } from '../thread-calls.ts';
import type { Search } from './search.ts';

export class SearchThread {
  readonly #calls: ThreadCalls;

  private constructor(calls: ThreadCalls) {
    this.#calls = calls;
  }

  /** Fails like `openSearch` if there is no index. */
  static async start(directory: string): Promise<SearchThread> {
    return new SearchThread(await ThreadCalls.open(new URL('./search-worker.ts', import.meta.url), { directory }));
  }

  search(...values: Parameters<Search['search']>): ReturnType<Search['search']> {
    return this.#calls.call('search', values);
  }

  links(...values: Parameters<Search['links']>): ReturnType<Search['links']> {
    return this.#calls.call('links', values);
  }

  appearances(...values: Parameters<Search['appearances']>): ReturnType<Search['appearances']> {
    return this.#calls.call('appearances', values);
  }

  status(): Promise<ReturnType<Search['status']>> {
    return this.#calls.call('status', []);
  }

  /** Stops at once; a search that is running fails. */
  abandon(): Promise<void> {
    return this.#calls.abandon();
  }

  close(): Promise<void> {
    return this.#calls.close();
  }
}
