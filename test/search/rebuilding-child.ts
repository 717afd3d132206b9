/** Rebuilds an index and prints a line when it reaches a given step. The test kills it there. */
import { openArchive } from '../../src/archive/index.ts';
import { Indexer } from '../../src/search/index.ts';
import { trialOptions } from '../archive/trial-archive.ts';

const step = Number(process.argv[3]);
const print = (text: string) => process.stdout.write(`${text}\n`);
const archive = await openArchive(process.argv[2]!, trialOptions({ seed: 10 + step }));
const indexer = await Indexer.open(archive, { isRebuild: true });
if (step === 1) print('made');
await indexer.catchUp({ batchDocuments: 4, onProgress: () => void (step === 2 && print('begun')) });
if (step === 3) print('caught up');
const closing = indexer.close();
if (step === 4) print('closing');
await closing;
await archive.close();
print('done');
