/**
 * Where questions to the search index are answered: one after the other, on a thread of its own, so that no reply waits
 * for a search but another search.
 *
 * The thread begins with the first question. It begins anew when the file of the index is another than before (`pinakes
 * index --rebuild`), and after a question that took too long, which is broken off.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PinakesError } from '../../base/index.ts';
import { SEARCH_FILE, SearchThread } from '../../search/index.ts';
import { HttpProblem } from '../http/problem.ts';
import type { IndexingStatus } from '../indexing.ts';

const WAITING_MAX = 64;
const QUESTION_MS_MAX = 30_000;

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

  /** Whether there is an index, or one is being made. */
  async isThere(): Promise<boolean> {
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
    const timer = setTimeout(() => {
      isTooLong = true;
      void thread.abandon();
    }, QUESTION_MS_MAX);
    try {
      return await question(thread);
    } catch (error) {
      // A refused question leaves the thread as good as it was; of anything else that cannot be known.
      if (!(error instanceof PinakesError) || error.code === 'INDEX_DAMAGED') await this.#letGo();
      throw isTooLong ? TOO_LONG : error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #thread(): Promise<SearchThread> {
    const file = await this.#file();
    if (this.#open && this.#open.file !== file) await this.#letGo();
    if (this.#isClosed) throw stopping();
    this.#open ??= { thread: await SearchThread.start(this.#directory), file };
    return this.#open.thread;
  }

  /** Which file the index is; empty when there is none. */
  async #file(): Promise<string> {
    const found = await stat(join(this.#directory, SEARCH_FILE)).catch(() => undefined);
    return found === undefined ? '' : `${found.dev} ${found.ino}`;
  }

  async #letGo(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.thread.close();
  }

  /** What a client is told of a failure of the index; other errors as they are. */
  clientError(error: unknown): unknown {
    if (!(error instanceof PinakesError) || (error.code !== 'INDEX_MISSING' && error.code !== 'INDEX_DAMAGED'))
      return error;
    const { state, message, caughtUpAt } = this.#indexing();
    const isAboutToBegin = state === 'waiting' && caughtUpAt === undefined;
    const isComing = error.code === 'INDEX_MISSING' && (state === 'working' || isAboutToBegin);
    const advice = isComing ? `It is being made: ${message}. Ask again in a while.` : error.advice;
    const sentence = isComing ? 'the search index is not made yet' : sentenceOf(error);
    return new HttpProblem({ status: 503, code: error.code, message: sentence, advice });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#open?.thread.abandon();
    await this.#last;
    await this.#letGo();
  }
}

function stopping(): Error {
  return new DOMException('the server is stopping', 'AbortError');
}

/** Without the path, which is nobody's business but the operator's. */
function sentenceOf({ code }: PinakesError): string {
  return code === 'INDEX_DAMAGED' ? 'the search index is damaged' : 'there is no search index';
}

const TOO_MANY = new HttpProblem({
  status: 429,
  code: 'SEARCH_BUSY',
  message: 'too many searches are waiting',
  advice: 'Ask again in a while.',
});

const TOO_LONG = new HttpProblem({
  status: 503,
  code: 'SEARCH_TOO_LONG',
  message: `this search takes longer than ${QUESTION_MS_MAX / 1000} seconds`,
  advice: 'Narrow the question: name a site, a time, or more words.',
});
