/** The thread in the child process that reads documents; see `page-process.ts`. */
import { serialize } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import type { ThreadAnswer, ThreadJob } from '../base/index.ts';
import { decodedStart } from '../warc/index.ts';
import { type PageReadOptions, type PageSource, readWithoutLanguage } from './page.ts';

/** A document to read, without its bytes. */
export type PageJob = {
  readonly source: Omit<PageSource, 'bytes'>;
  /** The content codings that the bytes still have. */
  readonly codings: readonly string[];
  /** The number of bytes that are decoded. */
  readonly bytesMax: number;
  readonly options: PageReadOptions;
};

async function read({ job: { source, codings, bytesMax, options }, body }: ThreadJob<PageJob>): Promise<ThreadAnswer> {
  try {
    const bytes = codings.length === 0 ? body : decodedStart(body, codings, bytesMax);
    return { value: serialize(await readWithoutLanguage({ ...source, bytes }, options)) };
  } catch (error) {
    return { value: undefined, failure: String((error as Error).stack ?? error) };
  }
}

parentPort!.on('message', async (job: ThreadJob<PageJob>) => {
  const answer = await read(job);
  parentPort!.postMessage(answer, answer.value === undefined ? [] : [answer.value.buffer as ArrayBuffer]);
});
