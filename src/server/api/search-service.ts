/**
 * Runs searches one after another on a separate thread, so that other requests never wait for a search.
 *
 * The thread starts with the first search. The server restarts it when the index file was replaced (`pinakes index
 * --rebuild`), and to abort a search that takes longer than SEARCH_TIMEOUT_MS.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PinakesError } from '../../base/index.ts';
import { SEARCH_FILE, SearchThread } from '../../search/index.ts';
import { HttpProblem } from '../http/problem.ts';
import type { IndexingStatus } from '../indexing.ts';

const WAITING_MAX = 64;
const SEARCH_TIMEOUT_MS = 30_000;

export class SearchService {
  readonly #directory: string;
  readonly #indexing: () => IndexingStatus;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #open: { readonly thread: SearchThread; readonly file: string } | undefined;
  #isClosed = false;

  constructor(directory: string, indexing: () => IndexingStatus) {
    this.#directory = directory;
    this.#indexing = indexing;
  }

  /** Whether there is an index, or the server is building one. */
  async isAvailable(): Promise<boolean> {
    return this.#indexing().state !== 'off' || (await this.#file()) !== '';
  }

  async ask<T>(question: (thread: SearchThread) => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#waiting >= WAITING_MAX) throw TOO_MANY;
    this.#waiting++;
    const answer = this.#last.then(() => {
      signal.throwIfAborted();
      return this.#answer(question);
    });
    this.#last = answer.catch(() => {});
    try {
      return await answer;
    } catch (error) {
      throw this.#isClosed ? stopping() : this.clientError(error);
    } finally {
      this.#waiting--;
    }
  }

  async #answer<T>(question: (thread: SearchThread) => Promise<T>): Promise<T> {
    const thread = await this.#thread();
    let isTooLong = false;
    using _ = setTimeout(() => {
      isTooLong = true;
      void thread.abandon();
    }, SEARCH_TIMEOUT_MS);
    try {
      return await question(thread);
    } catch (error) {
      // After a refused query the thread is still usable. After any other error the thread may be unusable.
      if (!(error instanceof PinakesError) || error.code === 'INDEX_DAMAGED') await this.#closeThread();
      throw isTooLong ? TOO_LONG : error;
    }
  }

  async #thread(): Promise<SearchThread> {
    const file = await this.#file();
    if (this.#open && this.#open.file !== file) await this.#closeThread();
    if (this.#isClosed) throw stopping();
    this.#open ??= { thread: await SearchThread.start(this.#directory), file };
    return this.#open.thread;
  }

  /** Identifies the index file; empty when there is no index. */
  async #file(): Promise<string> {
    const found = await stat(join(this.#directory, SEARCH_FILE)).catch(() => undefined);
    return found === undefined ? '' : `${found.dev} ${found.ino}`;
  }

  async #closeThread(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.thread.close();
  }

  /** The error for the client when the index fails. Other errors are returned unchanged. */
  clientError(error: unknown): unknown {
    if (!(error instanceof PinakesError) || (error.code !== 'INDEX_MISSING' && error.code !== 'INDEX_DAMAGED'))
      return error;
    const { state, message, caughtUpAt } = this.#indexing();
    const isAboutToStart = state === 'waiting' && caughtUpAt === undefined;
    const isInProgress = error.code === 'INDEX_MISSING' && (state === 'working' || isAboutToStart);
    const advice = isInProgress ? `It is being built: ${message}. Search again in a while.` : error.advice;
    const sentence = isInProgress ? 'the search index is not built yet' : sentenceOf(error);
    return new HttpProblem({ status: 503, code: error.code, message: sentence, advice });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#open?.thread.abandon();
    await this.#last;
    await this.#closeThread();
  }
}

function stopping(): Error {
  return new DOMException('the server is stopping', 'AbortError');
}

/** The sentence of an error without the path of the index, which clients must not see. */
function sentenceOf({ code }: PinakesError): string {
  return code === 'INDEX_DAMAGED' ? 'the search index is damaged' : 'there is no search index';
}

const TOO_MANY = new HttpProblem({
  status: 429,
  code: 'SEARCH_BUSY',
  message: 'too many searches are waiting',
  advice: 'Search again in a while.',
});

const TOO_LONG = new HttpProblem({
  status: 503,
  code: 'SEARCH_TOO_LONG',
  message: `the search took longer than ${SEARCH_TIMEOUT_MS / 1000} seconds`,
  advice: 'Narrow the query: add a site, a time, or more words.',
});
