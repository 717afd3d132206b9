/** Serves an archive until the test ends or the server is stopped. */
import type { TestContext } from 'node:test';
import type { Archive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { type RunningServer, startServer } from '../../src/server/index.ts';
import { openAt, START } from './stream-sample.ts';

export type Served = { readonly archive: Archive; readonly server: RunningServer; stop(): Promise<void> };

export async function serve(t: TestContext, directory: string, port = 0): Promise<Served> {
  const archive = await openAt(directory);
  const server = await startServer({
    archive,
    host: '127.0.0.1',
    port,
    replayPort: 0,
    token: 'token-of-the-tests',
    clock: () => START,
    newId: seededIds(seededRandom(5)),
    version: '0.0.0-test',
    jobKinds: [],
  });
  let stopped: Promise<void> | undefined;
  const end = async () => {
    await server.close();
    await archive.close();
  };
  const stop = () => (stopped ??= end());
  t.after(stop);
  return { archive, server, stop };
}
