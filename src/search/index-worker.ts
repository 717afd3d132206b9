/** The thread of the writer of the index. */
import { workerData } from 'node:worker_threads';
import { IndexWriter } from './index-writer.ts';
import { answerCalls } from './thread-calls.ts';

answerCalls(() => {
  const { path, documentMemory } = workerData as { path: string; documentMemory: number | undefined };
  return new IndexWriter(path, { documentMemory });
});
