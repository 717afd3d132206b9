/** Indexes an archive in small batches and prints a line after each. The test kills it at any moment. */
import { openArchive } from '../../src/archive/index.ts';
import { Indexer } from '../../src/search/index.ts';
import { trialOptions } from '../archive/trial-archive.ts';

const archive = await openArchive(process.argv[2]!, trialOptions({ seed: Number(process.argv[3]) }));
const indexer = await Indexer.open(archive);
await indexer.catchUp({ batchDocuments: 5, onProgress: ({ records }) => process.stdout.write(`${records}\n`) });
await indexer.close();
await archive.close();
process.stdout.write('done\n');
