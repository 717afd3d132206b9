/** The thread of the writer of the index. */
import { workerData } from 'node:worker_threads';
import { answerCalls } from '../thread-calls.ts';
import { IndexWriter } from './index-writer.ts';

answerCalls(() => {
  const { path, documentMemory } = workerData as { path: string; documentMemory: number | undefined };
  return new IndexWriter(path, { documentMemory });
});
