/** Makes an index anew and tells when it has come to one of its steps, to be killed there. */
import { openArchive } from '../../src/archive/index.ts';
import { Indexer } from '../../src/search/index.ts';
import { trialOptions } from '../archive/trial-archive.ts';

const step = Number(process.argv[3]);
const tell = (text: string) => process.stdout.write(`${text}\n`);
const archive = await openArchive(process.argv[2]!, trialOptions({ seed: 10 + step }));
const indexer = await Indexer.open(archive, undefined, { isAnew: true });
if (step === 1) tell('made');
await indexer.catchUp({ batchDocuments: 4, onProgress: () => void (step === 2 && tell('begun')) });
if (step === 3) tell('caught up');
const closing = indexer.close();
if (step === 4) tell('closing');
await closing;
await archive.close();
tell('done');
