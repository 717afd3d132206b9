import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { createArchive, openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { type ServerOptions, type SignInOptions, startServer } from '../../src/server/index.ts';
import { scratch, served } from '../api/served-archive.ts';
import { pinakes } from '../journeys/pinakes-runner.ts';

const SECRET = 'a secret between the proxy and the server';
const ROLES = [
  { role: 'administrator', person: 'ada@library.example' },
  { role: 'curator', group: 'editors' },
] as const;
const BY_SECRET: SignInOptions = {
  kind: 'proxy',
  userHeader: 'X-Forwarded-User',
  groupsHeader: 'X-Forwarded-Groups',
  secret: SECRET,
  roles: ROLES,
};

test('a proxy with the secret names people in a field', async (t) => {
  const one = await served(t, { signIn: BY_SECRET });
  const ask = async (fields: Record<string, string>, path = '/api/session', method = 'GET') => {
    const { status, json } = await one.call(path, { token: '', headers: fields, method });
    return [status, json.name ?? (json.error as { code: string } | undefined)?.code, json.role];
  };
  const proof = { 'x-pinakes-proxy-secret': SECRET };
  const ada = { 'x-forwarded-user': 'ada@library.example' };
  assert.deepEqual(await ask({ ...proof, ...ada }), [200, 'ada@library.example', 'administrator']);
  const carl = { 'x-forwarded-user': 'carl', 'x-forwarded-groups': 'staff, editors' };
  assert.deepEqual(await ask({ ...proof, ...carl }), [200, 'carl', 'curator']);
  assert.deepEqual(await ask({ ...proof, 'x-forwarded-user': 'eve' }), [403, 'ROLE_MISSING', undefined]);
  assert.deepEqual(await ask(proof), [200, undefined, undefined], 'nobody is named');
  assert.deepEqual(await ask(ada), [403, 'PROXY_SECRET_WRONG', undefined], 'this machine alone does not suffice');
  const wrong = { 'x-pinakes-proxy-secret': SECRET.slice(0, -1) };
  assert.deepEqual(await ask({ ...wrong, ...ada }), [403, 'PROXY_SECRET_WRONG', undefined]);
  const change = { ...proof, ...ada };
  assert.deepEqual((await ask(change, '/api/takedowns/preview', 'POST'))[1], 'ORIGIN_MISSING');
  const own = { ...change, origin: one.server.uiUrl };
  assert.notEqual((await ask(own, '/api/takedowns/preview', 'POST'))[0], 403);
});

test('a field that is there twice is refused, whoever wrote the other', async (t) => {
  const one = await served(t, { signIn: BY_SECRET });
  const url = new URL(one.server.uiAddress);
  const sent = request({ host: url.hostname, port: url.port, path: '/api/session' });
  sent.setHeader('X-Forwarded-User', ['eve', 'ada@library.example']);
  sent.setHeader('X-Pinakes-Proxy-Secret', SECRET);
  assert.equal((await replyTo(sent)).status, 400);
});

test('over Unix sockets no secret is needed, and only user and group can connect', async (t) => {
  const directory = scratch(t);
  await createArchive(directory, { name: 'trial' });
  const newId = seededIds(seededRandom(5));
  const archive = await openArchive(directory, { clock: Date.now, newId });
  const socketPaths = { ui: join(directory, 'web.sock'), replay: join(directory, 'replay.sock') };
  await leaveSocket(socketPaths.ui);
  const options: ServerOptions = {
    archive,
    ...{ host: '127.0.0.1', port: 0, replayPort: 0, token: 'token-of-the-tests', clock: Date.now, newId },
    ...{ version: '0', jobKinds: [], socketPaths, isPrivate: true },
    uiOrigin: 'https://archive.example.org',
    replayOrigin: 'https://replay.example.org',
    signIn: { kind: 'proxy', userHeader: 'Remote-User', roles: [{ role: 'reader', group: '*' }] },
  };
  const server = await startServer(options);
  t.after(async () => {
    await server.close();
    await archive.close();
  });
  assert.equal(server.uiAddress, socketPaths.ui);
  assert.equal(statSync(socketPaths.ui).mode & 0o777, 0o660);
  const ask = (socketPath: string, path: string, fields: Record<string, string> = {}) =>
    replyTo(request({ socketPath, path, headers: { host: 'archive.example.org', ...fields } }));
  const reader = { 'remote-user': 'rita' };
  assert.equal((await ask(socketPaths.ui, '/api/collections')).status, 401);
  const seen = await ask(socketPaths.ui, '/api/session', reader);
  assert.equal((JSON.parse(seen.text) as { role: string }).role, 'reader');
  assert.equal((await ask(socketPaths.ui, '/api/collections', reader)).status, 200);
  const page = '/web/20240301mp_/http://a.test/';
  assert.equal((await ask(socketPaths.replay, page)).status, 401);
  assert.equal((await ask(socketPaths.replay, page, reader)).status, 404, 'nothing is archived');
});

test('options that would let others act as somebody are refused with advice', async (t) => {
  const directory = scratch(t);
  await createArchive(directory, { name: 'trial' });
  const file = join(directory, 'secret');
  writeFileSync(file, 'short');
  const proxy = ['--user-header', 'X-Forwarded-User', '--role', 'reader=*'];
  const oidc = ['--oidc-client-id', 'pinakes', '--role', 'reader=*', '--oidc-issuer'];
  const two = ['--ui-origin', 'https://a.example', '--replay-origin'];
  for (const [options, says] of [
    [proxy, /Unix sockets with --socket-directory, or let the proxy prove itself with --proxy-secret-file/],
    [[...proxy, '--proxy-secret-file', file], /at least 16 characters/],
    [['--user-header', 'Cookie', '--role', 'reader=*'], /header field of its own/],
    [[...proxy.slice(0, 2), '--role', 'reader=staff', '--proxy-secret-file', file], /groups need --groups-header/],
    [proxy.slice(0, 2), /nobody would have a role/],
    [[...oidc, 'http://sso.example/'], /the issuer needs https/],
    [[...oidc, 'https://sso.example/', ...two, 'https://a.example:8443'], /two host names/],
    [[...oidc, 'https://sso.example/', '--host', '0.0.0.0', '--insecure'], /two host names/],
    [
      [...oidc, 'https://sso.example/', '--ui-origin', 'http://a.example', '--replay-origin', 'http://b.example'],
      /it needs https/,
    ],
  ] as const) {
    const { code, err } = await pinakes(
      directory,
      'serve',
      '--archive',
      '.',
      '--port',
      '0',
      '--replay-port',
      '0',
      ...options,
    );
    assert.equal(code, 2, options.join(' '));
    assert.match(err, /SIGN_IN_UNSAFE/);
    assert.match(err, says);
  }
});

async function replyTo(sent: ReturnType<typeof request>): Promise<{ status: number | undefined; text: string }> {
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject).end();
  });
  let text = '';
  for await (const piece of reply) text += String(piece);
  return { status: reply.statusCode, text };
}

/** Leaves a socket, as a killed server does. */
async function leaveSocket(path: string): Promise<void> {
  const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  const { spawnSync } = await import('node:child_process');
  spawnSync(process.execPath, ['-e', script]);
  assert.ok(statSync(path).isSocket());
}
