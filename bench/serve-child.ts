/** The server of the bench, in a separate process: prints its addresses and serves until its input ends. */
import { openArchive } from '../src/archive/index.ts';
import { seededIds, seededRandom } from '../src/base/index.ts';
import { startServer } from '../src/server/index.ts';

const newId = seededIds(seededRandom(2));
const archive = await openArchive(process.argv[2]!, { clock: Date.now, newId, stopwatch: () => performance.now() });
const server = await startServer({
  archive,
  host: '127.0.0.1',
  port: 0,
  replayPort: 0,
  token: 'bench-token',
  clock: Date.now,
  newId,
  version: 'bench',
  jobKinds: [],
  stopwatch: () => performance.now(),
  onFailure: (error) => process.stderr.write(`${String(error)}\n`),
});
process.stdout.write(`${JSON.stringify({ ui: server.uiAddress, replay: server.replayAddress })}\n`);
process.stdin.resume();
process.stdin.on('end', async () => {
  await server.close({ force: AbortSignal.abort() });
  await archive.close();
  process.exit(0);
});
