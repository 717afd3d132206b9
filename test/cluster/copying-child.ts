/**
 * Moves an archive into a cluster, and kills itself at a stage: when rows of this table are copied, or, for `done`,
 * before the archive is opened in the cluster.
 */
import { openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';

const [directory, address, stage] = process.argv.slice(2) as [string, string, string];
const newId = seededIds(seededRandom(process.pid));
const archive = await openArchive(directory, { clock: Date.now, newId, purpose: 'copy' });
const onProgress = (what: string): void => {
  if (what === stage) process.kill(process.pid, 'SIGKILL');
};
await archive.copyToCluster(address, { onProgress });
if (stage === 'done') process.kill(process.pid, 'SIGKILL');
await archive.close();
