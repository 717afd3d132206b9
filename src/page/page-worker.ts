/** The thread that reads documents in their process; see `page-process.ts`. */

import { serialize } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import type { ThreadAnswer, ThreadJob } from '../base/index.ts';
import { decodedStart } from '../warc/index.ts';
import { type PageParts, type PageSource, readUndetected } from './page.ts';

/** All that is said of a document but its bytes. */
export type PageJob = {
  readonly source: Omit<PageSource, 'bytes'>;
  /** What the bytes are still coded by. */
  readonly codings: readonly string[];
  /** How much of them is decoded. */
  readonly bytesMax: number;
  readonly parts: PageParts;
};

async function read({ job: { source, codings, bytesMax, parts }, body }: ThreadJob<PageJob>): Promise<ThreadAnswer> {
  try {
    const bytes = codings.length === 0 ? body : decodedStart(body, codings, bytesMax);
    return { value: serialize(await readUndetected({ ...source, bytes }, parts)) };
  } catch (error) {
    return { value: undefined, failure: String((error as Error).stack ?? error) };
  }
}

parentPort!.on('message', async (job: ThreadJob<PageJob>) => {
  const answer = await read(job);
  parentPort!.postMessage(answer, answer.value === undefined ? [] : [answer.value.buffer as ArrayBuffer]);
});
