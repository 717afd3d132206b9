/**
 * The server behind nginx, with the configuration of docs/serve.md and with the defaults of nginx. Skipped when nginx
 * is not installed; NGINX names its program.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { response, writeForeign } from '../archive/foreign-file.ts';
import { contentOf, makeArchive, page, temporaryDirectory } from '../archive/trial-archive.ts';
import { ask, makeServer, TOKEN } from './trial-server.ts';

const NGINX = process.env.NGINX ?? 'nginx';
const isAbsent = spawnSync(NGINX, ['-v']).status !== 0;
const TIME = Date.UTC(2024, 2, 1, 10);
const DOCS = new URL('../../docs/serve.md', import.meta.url);
const [UI, REPLAY] = ['archive.example.org', 'replay.example.org'];

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts nginx with server blocks, and returns when it listens. */
async function startNginx(t: TestContext, servers: string, port: number): Promise<void> {
  const directory = await temporaryDirectory(t);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`);
  await writeFile(
    join(directory, 'nginx.conf'),
    `daemon off; master_process off; pid nginx.pid; error_log stderr; events {}
http { access_log off; ${temporary.join(' ')}
${servers}
}
`,
  );
  const child = spawn(NGINX, ['-p', directory, '-c', 'nginx.conf'], { stdio: ['ignore', 'ignore', 'pipe'] });
  t.after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  let said = '';
  child.stderr.on('data', (piece: Buffer) => {
    said += piece;
  });
  for (let attempt = 0; ; attempt++) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    if (child.exitCode !== null || attempt > 200) throw new Error(`nginx did not start: ${said}`);
    await wait(50);
  }
}

/** The example of the documentation, without certificates, on a port of this machine. */
async function documented(port: number, addresses: { uiAddress: string; replayAddress: string }): Promise<string> {
  const [, example] = /```nginx\n(.*?)```/s.exec(await readFile(DOCS, 'utf8'))!;
  return example!
    .replaceAll('listen 443 ssl', `listen 127.0.0.1:${port}`)
    .replace(/^ *ssl_certificate.*\n/gm, '')
    .replace('http://127.0.0.1:8080', addresses.uiAddress)
    .replace('http://127.0.0.1:8081', addresses.replayAddress);
}

/** Reads events until the text of one matches, and returns the text of all. */
async function eventsUntil(
  address: string,
  host: string,
  wanted: RegExp,
  begin: () => Promise<unknown>,
): Promise<string> {
  const { hostname, port } = new URL(address);
  const sent = httpRequest({ hostname, port, path: '/api/jobs/events', headers: { host }, agent: false });
  sent.end();
  const [events] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  const begun = begin();
  for await (const piece of events as AsyncIterable<Buffer>) {
    text += piece;
    if (wanted.test(text)) break;
  }
  sent.destroy();
  await begun;
  return text;
}

test('behind nginx pages are shown, large files are uploaded, and events arrive at once', {
  skip: isAbsent && 'nginx is not installed; NGINX names its program',
  timeout: 60_000,
}, async (t) => {
  const archive = await makeArchive(t);
  const url = `http://site.test/${'long/'.repeat(400)}`;
  const fields = Array.from({ length: 50 }, (_, index) => `X-Field-${index}: ${'v'.repeat(80)}`);
  await archive.store(page(url, TIME, contentOf('a page'), fields));
  const { server, failures } = await makeServer(t, {
    archive,
    uiOrigin: `https://${UI}`,
    replayOrigin: `https://${REPLAY}`,
  });
  const [port, plainPort] = [await freePort(), await freePort()];
  const plain = `server { listen 127.0.0.1:${plainPort}; location / { proxy_pass ${server.uiAddress}; proxy_set_header Host $host; } }`;
  await startNginx(t, `${await documented(port, server)}\n${plain}`, port);
  const address = `http://127.0.0.1:${port}`;
  const plainAddress = `http://127.0.0.1:${plainPort}`;

  const led = await ask(address, `/web/${url}`, { headers: { host: UI } });
  assert.deepEqual([led.status, led.headers.location], [302, `https://${REPLAY}/web/20240301100000mp_/${url}`]);
  const shown = await ask(address, `/web/20240301100000mp_/${url}`, { headers: { host: REPLAY } });
  assert.equal(shown.status, 200);
  assert.match(shown.text, /a page/);
  const raw = await ask(address, `/web/20240301100000id_/${url}`, { headers: { host: UI } });
  assert.deepEqual([raw.status, raw.body], [200, Buffer.from(contentOf('a page'))]);

  const files = await Promise.all(
    ['one', 'two'].map(async (name) => {
      const large = response(`http://site.test/${name}`, TIME, contentOf(name, 3_000_000));
      return readFile(await writeForeign(join(await temporaryDirectory(t), `${name}.warc`), [large], 'none'));
    }),
  );
  const upload = (to: string, name: string, body: Buffer) =>
    ask(to, `/api/uploads?name=${name}`, {
      method: 'POST',
      body,
      headers: {
        host: UI,
        authorization: `Bearer ${TOKEN}`,
        'content-type': 'application/octet-stream',
        'content-length': String(body.length),
      },
    });
  const done = /event: job\n.*\ndata: .*"state":"done"/;
  await eventsUntil(address, UI, done, async () =>
    assert.equal((await upload(address, 'one.warc', files[0]!)).status, 202),
  );
  assert.equal((await ask(address, '/web/http://site.test/one', { headers: { host: UI } })).status, 302);
  // As documented for the defaults, events are forwarded and nginx refuses large bodies.
  await eventsUntil(plainAddress, UI, done, async () =>
    assert.equal((await upload(server.uiAddress, 'two.warc', files[1]!)).status, 202),
  );
  assert.equal((await upload(plainAddress, 'one.warc', files[0]!)).status, 413);
  assert.deepEqual(failures, []);
});
