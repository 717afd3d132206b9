/**
 * Commands on an archive that a server has open, in separate processes. They give the same results as without a server.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { pinakes as runPinakes } from '../journeys/pinakes-runner.ts';
import { type JobReply, scratch, writeWarc } from './served-archive.ts';

const LAUNCHER = join(import.meta.dirname, '../../pinakes');

type Outcome = { readonly code: number | null; readonly out: string; readonly err: string };

async function pinakes(at: string, args: readonly string[], input = ''): Promise<Outcome> {
  const child = spawn(LAUNCHER, args, { cwd: at, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => out.push(piece));
  child.stderr.on('data', (piece: Buffer) => err.push(piece));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
}

type Serving = { readonly child: ChildProcess; readonly url: string; readonly pid: number };

async function serve(t: TestContext, at: string): Promise<Serving> {
  const args = ['serve', '--archive', 'served', '--port', '0', '--replay-port', '0', '--json'];
  const child = spawn(LAUNCHER, args, { cwd: at, stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(() => child.exitCode !== null || child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout! })) {
    const { uiAddress } = JSON.parse(line) as { uiAddress: string };
    const { pid } = JSON.parse(readFileSync(join(at, 'served', 'owner.json'), 'utf8')) as { pid: number };
    return { child, url: uiAddress, pid };
  }
  throw new Error('the server did not start');
}

/** Removes compressed sizes from the output, since they depend on the times and ids in the records. */
function settled({ code, out, err }: Outcome): Outcome {
  const plain = (text: string) =>
    text
      .replace(/\b\d+(\.\d)? [KM]?B\b/g, 'SIZE')
      .replace(/ {2,}/g, '  ')
      .replace(/\d+\.\d %/g, 'SHARE')
      .replace(/"(stored)?[bB]ytes":\d+/g, '"bytes":SIZE');
  return { code, out: plain(out), err: plain(err) };
}

test('commands have the same output and effect with a server as without one, and the server shows long ones as jobs', async (t) => {
  const at = scratch(t);
  await writeWarc(join(at, 'one.warc.gz'), 'one', 12);
  await writeWarc(join(at, 'two.warc.gz'), 'two', 12);
  for (const archive of ['direct', 'served']) assert.equal((await runPinakes(at, 'init', archive)).code, 0);
  const { url, child } = await serve(t, at);
  const steps: (readonly [args: string[], input?: string])[] = [
    [['add', 'one.warc.gz', 'two.warc.gz', '--collection', 'spring']],
    [['add', join(at, 'nowhere.warc.gz')]],
    [['get', 'http://one.test/3']],
    [['put', '-'], 'some bytes'],
    [['stats']],
    [['verify']],
    [['delete', '--prefix', 'http://two.test/']],
    [['delete', '--prefix', 'http://two.test/', '--yes', '--json']],
    [['stats', '--nonsense']],
  ];
  for (const [args, input] of steps) {
    const [direct, remote] = await Promise.all([
      input === undefined
        ? runPinakes(at, ...args, '--archive', 'direct')
        : pinakes(at, [...args, '--archive', 'direct'], input),
      pinakes(at, [...args, '--archive', 'served'], input),
    ]);
    assert.deepEqual(settled(remote), settled(direct), args.join(' '));
  }
  const { items } = (await (await fetch(`${url}/api/jobs?limit=100`)).json()) as { items: JobReply[] };
  const kinds = items.map(({ kind }) => kind).reverse();
  // The deletion without a terminal changed nothing, and is not a job.
  assert.deepEqual(kinds, ['add', 'add', 'verify', 'delete']);
  assert.ok(items.every(({ origin }) => origin === 'command'));
  child.kill('SIGTERM');
  await once(child, 'exit');
  assert.ok(!existsSync(join(at, 'served', 'owner.json')));
  assert.equal((await runPinakes(at, 'get', 'http://one.test/3', '--archive', 'served')).code, 0);
});

test('a command reports that its server was killed, and the archive is complete', async (t) => {
  const at = scratch(t);
  await writeWarc(join(at, 'one.warc.gz'), 'one', 12);
  await runPinakes(at, 'init', 'served');
  const { pid, child } = await serve(t, at);
  assert.equal((await pinakes(at, ['add', 'one.warc.gz', '--archive', 'served'])).code, 0);
  const put = spawn(LAUNCHER, ['put', '-', '--archive', 'served'], { cwd: at, stdio: ['pipe', 'pipe', 'pipe'] });
  put.stdin.on('error', () => {});
  // Too large for memory, so a file in the scratch directory of the archive shows that the command has started.
  put.stdin.write(Buffer.alloc(6 * 1024 * 1024, 7));
  const err: Buffer[] = [];
  put.stderr.on('data', (piece: Buffer) => err.push(piece));
  const spool = join(at, 'served', 'spool');
  while (readdirSync(spool, { recursive: true }).length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  process.kill(pid, 'SIGKILL');
  const [code] = (await once(put, 'close')) as [number | null];
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  assert.equal(code, 2, Buffer.concat(err).toString());
  const verified = await runPinakes(at, 'verify', '--archive', 'served');
  assert.equal(verified.code, 0, verified.out + verified.err);
  assert.match(verified.out, /12 captures/);
});

test('`node ls` shows what the server does with the volumes', async (t) => {
  const at = scratch(t);
  await writeWarc(join(at, 'one.warc.gz'), 'one', 12);
  await runPinakes(at, 'init', 'served');
  await serve(t, at);
  assert.equal((await pinakes(at, ['add', 'one.warc.gz', '--archive', 'served'])).code, 0);
  const json = await pinakes(at, ['node', 'ls', '--json', '--archive', 'served']);
  const { name, bytes, lastMinute } = JSON.parse(json.out);
  assert.equal(name, 'main');
  assert.ok(bytes > 0 && lastMinute.writtenBytes === bytes, json.out);
  const { code, out } = await pinakes(at, ['node', 'ls', '--archive', 'served']);
  assert.equal(code, 0);
  assert.match(
    out,
    /^name +state +capacity +free +stored +dead +under way +read\/min +written\/min\nmain +\w+ +[\d.]+ \wB /,
  );
});
