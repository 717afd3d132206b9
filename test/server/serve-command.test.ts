/** `pinakes serve` and `pinakes demo` as separate processes, started, used and stopped as a person does. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { segmentFiles } from '../archive/archive-sample.ts';
import { temporaryDirectory } from '../archive/trial-archive.ts';
import { pinakes, startPinakes } from '../journeys/pinakes-process.ts';
import { pinakes as runPinakes } from '../journeys/pinakes-runner.ts';
import { ask } from './trial-server.ts';

const MESSAGE = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nThe tables of the library.';
const WARC =
  'WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:11111111-2222-4333-8444-555555555555>\r\nWARC-Date: 2024-03-01T10:00:00Z\r\n' +
  `WARC-Target-URI: http://example.org/\r\nContent-Type: application/http;msgtype=response\r\nContent-Length: ${MESSAGE.length}\r\n\r\n${MESSAGE}\r\n\r\n`;

type Served = {
  readonly uiUrl: string;
  readonly uiAddress: string;
  readonly replayAddress: string;
  readonly token: string;
};

type Running = { readonly child: ChildProcess; readonly served: Served; readonly said: () => string };

/** Starts the command on free ports, and waits until it prints its addresses. */
async function start(t: TestContext, cwd: string, verb: string, ...args: string[]): Promise<Running> {
  const child = startPinakes(cwd, verb, '--json', '--port', '0', '--replay-port', '0', ...args);
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  child.stderr!.on('data', (piece: Buffer) => {
    said += piece.toString();
  });
  const line = await Promise.race([
    once(createInterface({ input: child.stdout! }), 'line'),
    once(child, 'exit').then(() => assert.fail(`it ended early: ${said}`)),
  ]);
  return { child, served: JSON.parse(String(line[0])) as Served, said: () => said };
}

test('serve --init creates an archive, serves it, and leaves no lock behind when stopped', async (t) => {
  const cwd = await temporaryDirectory(t);
  const refused = pinakes(cwd, 'serve', '--port', '0', '--replay-port', '0');
  assert.deepEqual([refused.code, existsSync(join(cwd, 'archive'))], [2, false]);
  assert.match(refused.err, /ARCHIVE_MISSING/);
  const log = join(cwd, 'access.log');
  const { child, served, said } = await start(
    t,
    cwd,
    'serve',
    '--init',
    '--access-log',
    log,
    '--access-log-format',
    'common',
  );
  assert.match(said(), /so an empty one was created/);
  const tokenFile = join(cwd, 'archive', 'server-token');
  assert.equal(readFileSync(tokenFile, 'utf8').trim(), served.token);
  assert.equal(statSync(tokenFile).mode & 0o777, 0o600);
  const owner = JSON.parse(readFileSync(join(cwd, 'archive', 'owner.json'), 'utf8'));
  const { commandPath, ...announced } = owner.server as { commandPath: string };
  assert.deepEqual(announced, { url: served.uiAddress, tokenFile });
  assert.ok(statSync(commandPath).isSocket());
  assert.equal(statSync(commandPath).mode & 0o777, 0o600);
  assert.equal(statSync(dirname(commandPath)).mode & 0o777, 0o700);
  assert.equal((await ask(served.uiAddress, '/healthz')).status, 200);
  const second = pinakes(cwd, 'serve', '--port', '0', '--replay-port', '0');
  assert.deepEqual([second.code, /ARCHIVE_BUSY/.test(second.err)], [2, true]);
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  assert.match(said(), /stopped; everything is saved/);
  assert.equal(existsSync(tokenFile), false);
  assert.equal(existsSync(dirname(commandPath)), false);
  assert.equal(existsSync(join(cwd, 'archive', 'owner.json')), false);
  assert.match(readFileSync(log, 'utf8'), /^127\.0\.0\.1 - - \[[^\]]+\] "GET \/healthz HTTP\/1\.1" 200 \d+ "-" "-"$/m);
});

test('serve reports damage with a place and advice, without a stack trace', async (t) => {
  const cwd = await temporaryDirectory(t);
  writeFileSync(join(cwd, 'a.warc'), WARC);
  assert.equal(pinakes(cwd, 'init', 'archive').code, 0);
  assert.equal(pinakes(cwd, 'add', 'a.warc').code, 0);
  const [segment] = segmentFiles(join(cwd, 'archive'));
  const bytes = readFileSync(segment!);
  // Flips a bit in the checksum of the last member.
  bytes[bytes.length - 8]! ^= 1;
  writeFileSync(segment!, bytes);
  const { served, said } = await start(t, cwd, 'serve', '--no-index');
  const before = said().length;
  const reply = await ask(served.replayAddress, '/web/20240301100000mp_/http://example.org/');
  assert.equal(reply.status, 502);
  while (!said().slice(before).endsWith('\n')) await setTimeout(5);
  const [first, second, ...rest] = said().slice(before).trimEnd().split('\n');
  assert.match(first!, /^pinakes: a request failed: \S+\.warc\S*:\d+: .* \[RECORD_DAMAGED\]$/);
  assert.match(second!, /^ {2}\S.*backup/);
  assert.deepEqual(rest, []);
});

test('serve prints addresses for other machines when it listens on all addresses without --ui-origin', async (t) => {
  const cwd = await temporaryDirectory(t);
  assert.equal(pinakes(cwd, 'init', 'archive').code, 0);
  const told = async (...args: string[]) => {
    const child = startPinakes(cwd, 'serve', '--port', '0', '--replay-port', '0', ...args);
    t.after(() => child.kill('SIGKILL'));
    let said = '';
    for await (const piece of child.stderr!) {
      said += String(piece);
      if (!said.includes('Press Ctrl-C to stop the server.')) continue;
      child.kill('SIGTERM');
    }
    return said;
  };
  const hint = /Other machines can open http:\/\/\S+:\d+\/, or use the name of this machine\./;
  assert.match(await told('--host', '0.0.0.0', '--insecure'), hint);
  const origins = ['--ui-origin', 'http://a.test:8080', '--replay-origin', 'http://a.test:8081'];
  assert.doesNotMatch(await told('--host', '0.0.0.0', '--insecure', ...origins), hint);
  assert.doesNotMatch(await told(), hint);
});

test('serve reads the token from a file, and refuses invalid options', async (t) => {
  const cwd = await temporaryDirectory(t);
  writeFileSync(join(cwd, 'token'), 'a-token-of-my-own\n');
  const { child, served } = await start(t, cwd, 'serve', '--init', '--token', '@token');
  assert.equal(served.token, 'a-token-of-my-own');
  const taken = await runPinakes(
    cwd,
    'serve',
    '--init',
    '-a',
    'other',
    '--port',
    new URL(served.uiAddress).port,
    '--replay-port',
    '0',
  );
  assert.deepEqual([taken.code, /PORT_IN_USE/.test(taken.err)], [2, true]);
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  assert.deepEqual(await ended, [0, null]);
  for (const args of [
    ['--port', '70000'],
    ['--ui-origin', 'nonsense'],
    ['--token', '@nowhere'],
    ['--port', '8765', '--replay-port', '8765'],
    ['--port', '0', '--replay-port', '0', '--access-log', join('nowhere', 'access.log')],
  ]) {
    const refused = await runPinakes(cwd, 'serve', ...args);
    assert.equal(refused.code, 2, args.join(' '));
    assert.match(refused.err, /BAD_ARGUMENT|FILE_MISSING/);
  }
});

test('the link that serve prints has the token, whatever characters the token has', async (t) => {
  const cwd = await temporaryDirectory(t);
  const token = '100%&more#than+that';
  const child = startPinakes(
    cwd,
    'serve',
    '--init',
    '--no-index',
    '--port',
    '0',
    '--replay-port',
    '0',
    '--token',
    token,
  );
  t.after(() => child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout! })) {
    const link = /^ {2}to change it +(\S+)$/.exec(line)?.[1];
    if (link === undefined) continue;
    assert.equal(decodeURIComponent(new URL(link).hash.slice('#token='.length)), token);
    break;
  }
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
});

test('serve adds files from the given directories only, and limits the size of uploads', async (t) => {
  const cwd = await temporaryDirectory(t);
  const [inside, also, outside] = [join(cwd, 'inside'), join(cwd, 'also'), join(cwd, 'outside')];
  for (const directory of [inside, also, outside]) {
    mkdirSync(directory);
    writeFileSync(join(directory, 'a.warc'), WARC);
  }
  symlinkSync(join(outside, 'a.warc'), join(inside, 'link.warc'));
  const roots = ['--add-root', inside, '--add-root', 'also'];
  const { child, served } = await start(t, cwd, 'serve', '--init', '--no-index', ...roots, '--upload-max', '1000');
  const headers = { authorization: `Bearer ${served.token}`, 'content-type': 'application/json' };
  const added = async (path: string) => {
    const body = JSON.stringify({ kind: 'add', input: { paths: [path] } });
    const { text } = await ask(served.uiAddress, '/api/jobs', { method: 'POST', headers, body });
    const { id } = JSON.parse(text) as { id: string };
    for (;;) {
      const job = JSON.parse((await ask(served.uiAddress, `/api/jobs/${id}`, { headers })).text);
      if (job.state === 'done' || job.state === 'failed') return job.error?.code ?? job.report.captures;
      await setTimeout(20);
    }
  };
  assert.equal(await added(join(inside, 'a.warc')), 1);
  assert.equal(await added(join(also, 'a.warc')), 0, 'it is known already');
  assert.equal(await added(join(outside, 'a.warc')), 'PATH_REFUSED');
  assert.equal(await added(join(inside, 'link.warc')), 'PATH_REFUSED');
  assert.equal(await added(`${inside}/../outside/a.warc`), 'PATH_REFUSED');
  const upload = (body: string) =>
    ask(served.uiAddress, '/api/uploads?name=a.warc', { method: 'POST', headers: { ...headers }, body });
  assert.equal((await upload(WARC)).status, 202);
  const refused = await upload(WARC.repeat(20));
  assert.equal(refused.status, 413);
  assert.match(refused.text, /1000/);
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
  for (const args of [
    ['--add-root', 'nowhere'],
    ['--add-root', join(inside, 'a.warc')],
    ['--upload-max', '1e6'],
    ['--upload-max', '0'],
  ]) {
    const wrong = await runPinakes(cwd, 'serve', ...args);
    assert.equal(wrong.code, 2, args.join(' '));
    assert.match(wrong.err, /BAD_ARGUMENT|FILE_MISSING/);
  }
});

test('demo creates an archive of three days with revisits, without a network, and replays it', async (t) => {
  const cwd = await temporaryDirectory(t);
  const { child, served, said } = await start(t, cwd, 'demo', '--no-open', '--keep', 'sample');
  assert.match(said(), /Stored \d+ captures of a sample site on three days/);
  const home = 'http://library.example/';
  const lines = (await ask(served.uiAddress, `/cdx?url=${home}&fl=timestamp,statuscode`)).text.trim().split('\n');
  assert.deepEqual(lines, ['20220301093000 200', '20230615140500 200', '20241120184000 200']);
  const revisits = (await ask(served.uiAddress, '/cdx?url=library.example/*&filter=mimetype:warc/revisit')).text;
  assert.ok(revisits.split('\n').length > 10);
  const page = await ask(served.replayAddress, `/web/20220301093000mp_/${home}`);
  assert.match(page.text, /The reading room opens at sunrise/);
  const picture = await ask(served.replayAddress, '/web/20220301im_/http://library.example/columns.png');
  assert.deepEqual([picture.status, picture.headers['content-type']], [200, 'image/png']);
  assert.deepEqual([...picture.body.subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  assert.equal((await runPinakes(cwd, 'verify', '--archive', 'sample')).code, 0);
});

test('demo with an invalid port creates nothing', async (t) => {
  const cwd = await temporaryDirectory(t);
  for (const port of ['eighty', '99999', '8081']) {
    const { code, out, err } = await runPinakes(cwd, 'demo', '--no-open', '--keep', 'sample', '--port', port);
    assert.deepEqual([code, out], [2, ''], port);
    assert.match(err, /^pinakes: .*BAD_ARGUMENT/, port);
    assert.equal(existsSync(join(cwd, 'sample')), false, port);
  }
});
