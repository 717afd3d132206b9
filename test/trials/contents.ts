/**
 * Many client processes store the HTML documents of ../shared/sites, in all their versions, twice into a served
 * archive. Prints what was stored, and how many bytes each document took on the wire the second time, counted at a
 * proxy.
 *
 *     npm run trial -- contents [--archive DIRECTORY] [--clients 25]
 *
 * The archive is made when it does not exist. One with other volumes is given by its directory.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { openArchive } from '../../src/archive/index.ts';
import { ContentsClient } from '../../src/client/index.ts';
import { UNSHARED_BYTES_MAX } from '../../src/warc/index.ts';
import { LossyProxy } from '../contents/lossy-proxy.ts';
import { LAUNCHER } from '../journeys/pinakes-process.ts';

const SITES = resolve(import.meta.dirname, '../../../shared/sites');
const TOKEN = 'token-of-the-trial';
const WIRE_BYTES_MAX = 300;
const WIRE_SHARE_MAX = 0.02;

export async function contentsTrial(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      archive: { type: 'string' },
      clients: { type: 'string', default: '25' },
      sites: { type: 'string', default: SITES },
      client: { type: 'string' },
    },
  });
  if (values.client !== undefined) return storeShare(JSON.parse(values.client) as Share);
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-trial-'));
  const files = documentsIn(values.sites, directory);
  if (files.length === 0) {
    console.log(`${values.sites} is absent or has no HTML documents: nothing was tried`);
    return;
  }
  const archive = values.archive ?? join(directory, 'archive');
  const server = spawn(
    LAUNCHER,
    [
      'serve',
      '--init',
      '--no-index',
      '--json',
      '--port',
      '0',
      '--replay-port',
      '0',
      '--token',
      TOKEN,
      '--archive',
      archive,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [line] = await once(createInterface({ input: server.stdout! }), 'line');
  const { uiAddress } = JSON.parse(String(line)) as { uiAddress: string };
  const proxy = new LossyProxy(() => uiAddress);
  const address = await proxy.listen();
  const contents = new Map<string, number>();
  let payload = 0;
  for (const file of files) {
    const bytes = readFileSync(file);
    payload += bytes.length;
    contents.set(bytes.toString('latin1'), bytes.length);
  }
  const clients = Number(values.clients);
  const wire: number[] = [];
  for (const run of ['first', 'second']) {
    const before = proxy.bytes;
    const begun = performance.now();
    await Promise.all(
      Array.from({ length: clients }, async (_, index) => {
        const share: Share = {
          address,
          run: `${run} ${index}`,
          files: files.filter((_, at) => at % clients === index),
        };
        const child = spawn(
          process.execPath,
          [join(import.meta.dirname, 'main.ts'), 'contents', '--client', JSON.stringify(share)],
          {
            stdio: 'inherit',
          },
        );
        const [code] = await once(child, 'exit');
        assert.equal(code, 0, 'a client failed');
      }),
    );
    wire.push(proxy.bytes - before);
    console.log(`${run}: ${wire.at(-1)} bytes on the wire, ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  }
  await proxy.close();
  server.kill('SIGTERM');
  await once(server, 'exit');
  const opened = await openArchive(archive, {
    clock: Date.now,
    newId: () => '<urn:uuid:00000000-0000-4000-8000-000000000000>',
  });
  const { captures, blocks } = await opened.totals();
  let wrong = 0;
  const shared = [...contents.values()].filter((size) => size > UNSHARED_BYTES_MAX).length;
  for await (const page of opened.blocks()) for (const { references } of page) if (references % 2 !== 0) wrong++;
  const { errors } = await opened.verify();
  await opened.close();
  const each = wire[1]! / files.length;
  const share = wire[1]! / payload;
  console.log(
    `${files.length} documents of ${payload} bytes, ${contents.size} distinct (${shared} of the shared size), ${clients} clients`,
  );
  console.log(
    `${captures} captures of ${blocks} contents, ${wrong} with an odd number of references, ${errors} errors`,
  );
  console.log(
    `the second time ${each.toFixed(1)} bytes a document (at most ${WIRE_BYTES_MAX}), ${(100 * share).toFixed(2)} % of the payload (at most 2 %)`,
  );
  assert.ok(
    each <= WIRE_BYTES_MAX && share <= WIRE_SHARE_MAX && errors === 0 && wrong === 0 && blocks === contents.size,
  );
}

type Share = { readonly address: string; readonly run: string; readonly files: readonly string[] };

/** One client process. */
async function storeShare({ address, run, files }: Share): Promise<void> {
  const client = new ContentsClient(address, { token: TOKEN });
  const captures = files.map((file) => ({ content: readFileSync(file), mime: 'text/html' }));
  const { stored, known } = await client.store(captures, { id: run, time: new Date(1e12) });
  assert.equal(stored + known, files.length);
}

/** Every version of every HTML document of the bundled sites, as files. */
function documentsIn(sites: string, directory: string): string[] {
  if (!existsSync(sites)) return [];
  const git = (...args: string[]) => spawnSync('git', args, { maxBuffer: 256 * 1024 * 1024 }).stdout;
  const files: string[] = [];
  for (const [index, bundle] of globSync(join(sites, '*.bundle')).entries()) {
    const clone = join(directory, `site-${index}`);
    git('clone', '--quiet', '--mirror', bundle, clone);
    const lines = git('-C', clone, 'rev-list', '--objects', '--all').toString().split('\n');
    const blobs = new Set(lines.filter((line) => /\.html?$/.test(line)).map((line) => line.split(' ')[0]!));
    for (const blob of blobs) {
      const file = join(directory, `${blob}.html`);
      writeFileSync(file, git('-C', clone, 'cat-file', 'blob', blob));
      files.push(file);
    }
  }
  return files.sort();
}
