/**
 * A server for the bench of streams, in a separate process. `archive DIRECTORY` serves an archive, `files FILE...`
 * serves the files unchanged with node:http. It prints its address, and its memory for every line on its standard
 * input.
 */
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { openArchive, readConnector, VolumeSet } from '../src/archive/index.ts';
import { limitHeapGrowth, limitYoungSpace, seededIds, seededRandom } from '../src/base/index.ts';
import { startServer } from '../src/server/index.ts';

const [kind, ...rest] = process.argv.slice(2);
const reads = { bytes: 0 };
let rssMax = 0;
setInterval(() => {
  rssMax = Math.max(rssMax, process.memoryUsage.rss());
}, 50).unref();

process.stdout.write(`${kind === 'archive' ? await serveArchive(rest[0]!) : await serveFiles(rest)}\n`);
for await (const _ of createInterface(process.stdin)) {
  process.stdout.write(`${JSON.stringify({ rssMax, readBytes: reads.bytes })}\n`);
  reads.bytes = 0;
}
process.exit();

async function serveArchive(directory: string): Promise<string> {
  const now = Date.UTC(2024, 2, 1);
  const newId = seededIds(seededRandom(1));
  const volumes = await VolumeSet.open(directory, (await readConnector(directory)).volumes);
  const archive = await openArchive(directory, { clock: () => now, newId, volumes });
  const volume = volumes.get('main');
  const read = volume.read.bind(volume);
  volume.read = async (ranges: Parameters<typeof read>[0]) => {
    const found = await read(ranges);
    for (const bytes of found) reads.bytes += bytes.length;
    return found;
  };
  // Like `pinakes serve`.
  limitHeapGrowth();
  limitYoungSpace();
  const server = await startServer({
    archive,
    host: '127.0.0.1',
    port: 0,
    replayPort: 0,
    token: 'bench',
    clock: () => now,
    newId,
    version: 'bench',
    jobKinds: [],
  });
  return `${server.uiAddress}/api/stream`;
}

/** Sends all files one after another, as a static server sends one file. */
async function serveFiles(paths: readonly string[]): Promise<string> {
  const server = createServer(async (_, response) => {
    response.writeHead(200, { 'content-type': 'application/warc' });
    for (const path of paths)
      await new Promise<void>((resolve, reject) => {
        createReadStream(path)
          .on('end', () => resolve())
          .on('error', reject)
          .pipe(response, { end: false });
      });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
