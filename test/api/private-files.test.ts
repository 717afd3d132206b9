/**
 * Only the owner of the archive can read uploads, exports and the history of jobs. A client that disconnects does not
 * cause a failure.
 */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { createArchive } from '../../src/archive/index.ts';
import { makeServer } from '../server/trial-server.ts';
import { scratch, served, servedAt, storeDays, TOKEN } from './served-archive.ts';

const isWindows = process.platform === 'win32';

function modesBelow(directory: string, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const path = join(directory, name);
    const info = statSync(path);
    const mode = `${name} ${(info.mode & 0o777).toString(8)}`;
    return info.isDirectory()
      ? [
          mode,
          ...modesBelow(
            directory,
            readdirSync(path).map((inner) => join(name, inner)),
          ),
        ]
      : [mode];
  });
}

const KEPT = ['jobs.jsonl', 'uploads', 'exports'];

test('only the owner can read the history of jobs, uploads and exports', {
  skip: isWindows && 'Windows has other permissions',
}, async (t) => {
  const before = process.umask(0o022);
  t.after(() => process.umask(before));
  const one = await served(t);
  await storeDays(one.archive, 'http://site.test/', [1, 2]);
  const exported: string[] = [];
  for (const format of ['warc.gz', 'cdxj']) {
    const reply = await one.call('/api/jobs', { json: { kind: 'export', input: { format } } });
    const job = await one.overJob((reply.json as { id: string }).id);
    assert.equal(job.state, 'done', job.error?.message);
    exported.push(job.id);
  }
  const port = Number(new URL(one.server.uiAddress).port);
  const socket = connect(port, '127.0.0.1');
  socket.write(
    `POST /api/uploads?name=a.warc HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\nWARC/1.1\r\n`,
  );
  while (readdirSync(join(one.directory, 'uploads')).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 5));
  const modes = modesBelow(one.directory, KEPT);
  socket.destroy();
  assert.equal(modes.length, 1 + 2 + 1 + exported.length * 2);
  for (const mode of modes)
    assert.match(mode, /(?:jobs\.jsonl|\.part|\.gz|\.cdxj) 600$|(?:uploads|exports|-[0-9a-f]+|[0-9a-f]+) 700$/);
});

test('the start of a server makes files private that an earlier server left readable', {
  skip: isWindows && 'Windows has other permissions',
}, async (t) => {
  const directory = scratch(t);
  await createArchive(directory);
  const upload = '01234567-89ab-4def-8123-456789abcdef-a.warc';
  const jobs = [
    { id: 'one', kind: 'export', state: 'done', input: {}, log: [], report: {} },
    { id: 'two', kind: 'add', state: 'running', input: { upload }, log: [] },
  ];
  writeFileSync(join(directory, 'jobs.jsonl'), jobs.map((job) => `${JSON.stringify(job)}\n`).join(''));
  mkdirSync(join(directory, 'exports', 'one'), { recursive: true });
  writeFileSync(join(directory, 'exports', 'one', 'kept.cdxj'), '');
  mkdirSync(join(directory, 'uploads'));
  writeFileSync(join(directory, 'uploads', upload), 'WARC/1.1\r\n');
  for (const mode of modesBelow(directory, KEPT)) {
    const path = join(directory, mode.replace(/ \d+$/, ''));
    chmodSync(path, statSync(path).isDirectory() ? 0o775 : 0o664);
  }
  await servedAt(t, directory, {});
  assert.deepEqual(modesBelow(directory, KEPT), [
    'jobs.jsonl 600',
    'uploads 700',
    `uploads/${upload} 600`,
    'exports 700',
    'exports/one 700',
    'exports/one/kept.cdxj 600',
  ]);
});

test('the server keeps running when a client disconnects in the middle of a body', async (t) => {
  const { archive, server, failures } = await makeServer(t);
  const token = 'Authorization: Bearer trial-token-0123456789';
  const requests: readonly (readonly [address: string, target: string, body: string])[] = [
    [server.uiAddress, '/api/uploads?name=a.warc', 'Content-Length: 1000000\r\n\r\nWARC/1.1\r\n'],
    [server.uiAddress, '/api/uploads?name=a.warc', 'Transfer-Encoding: chunked\r\n\r\n5\r\nWARC/\r\n'],
    [server.uiAddress, '/api/jobs', 'Content-Length: 1000\r\n\r\n{"kind":'],
    [server.uiAddress, '/cdx/outbackcdx', 'Content-Length: 1000\r\n\r\n CDX N b a'],
    [server.replayAddress, '/web/2024mp_/http://site.test/', 'Content-Length: 1000\r\n\r\na=b'],
  ];
  for (const [address, target, body] of requests) {
    for (const leave of ['destroy', 'resetAndDestroy'] as const) {
      const { port } = new URL(address);
      const type = target === '/api/jobs' ? 'application/json' : 'application/octet-stream';
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => {});
      socket.write(
        `POST ${target} HTTP/1.1\r\nHost: localhost:${port}\r\n${token}\r\nContent-Type: ${type}\r\n${body}`,
      );
      const uploads = () => readdirSync(join(archive.directory, 'uploads')).length;
      if (target.startsWith('/api/uploads'))
        while (uploads() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      else await fetch(`${server.uiAddress}/healthz`);
      socket[leave]();
      while (uploads() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await fetch(`${server.uiAddress}/healthz`);
    }
  }
  assert.deepEqual(failures, []);
});
