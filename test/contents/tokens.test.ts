import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createArchive } from '../../src/archive/index.ts';
import { TokenFile } from '../../src/server/index.ts';
import { type Served, START_MS, scratch, served, servedAt, storeDays, TOKEN } from '../api/served-archive.ts';
import { pinakes } from '../journeys/pinakes-runner.ts';
import { ContentCalls, newToken, sha256 } from './content-client.ts';

const RIGHTS = ['read', 'add', 'crawl', 'delete', 'admin'] as const;

type Route = { readonly method: string; readonly path: string; readonly right: string };

/** All routes of the API, with the rights that they declare. */
async function routesOf(one: Served): Promise<Route[]> {
  const { paths } = (await one.call('/api/openapi.json')).json as { paths: Record<string, Record<string, object>> };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: path.replace(/\{(\w+)\}/g, 'a'.repeat(64)),
      right: (operation as { 'x-right': string })['x-right'],
    })),
  );
}

/** Calls a route without anything that it needs. The right is checked first. */
async function isRefused(one: Served, { method, path }: Route, token: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}` };
  const body = method === 'POST' || method === 'PUT' ? { body: '?' } : {};
  const response = await fetch(one.server.uiAddress + path, { method, headers, ...body });
  if (response.status === 403) return (await response.text()).includes('RIGHT_MISSING');
  await response.body?.cancel();
  return false;
}

test('every route declares a right, and refuses each token that lacks it', async (t) => {
  const one = await served(t);
  const routes = await routesOf(one);
  assert.ok(routes.length > 35);
  for (const right of RIGHTS) {
    const token = await newToken(one.directory, right, [right]);
    for (const route of routes) {
      const { right: needed } = route;
      assert.ok([...RIGHTS, 'open', 'self', 'some'].includes(needed as 'read'), `${route.path} declares ${needed}`);
      const isEnough =
        needed === 'open' || needed === 'self' || needed === 'some' || needed === right || right === 'admin';
      assert.equal(await isRefused(one, route, token), !isEnough, `${route.method} ${route.path} with ${right}`);
    }
  }
});

test('a token for some collections is refused wherever others could be seen', async (t) => {
  const one = await served(t);
  await storeDays(one.archive, 'http://a.test/', [1]);
  const token = await newToken(one.directory, 'limited', RIGHTS, { collections: ['own'] });
  for (const route of await routesOf(one)) {
    if (route.right === 'open' || route.right === 'self' || route.path.startsWith('/api/contents')) continue;
    assert.equal((await one.call(route.path, { method: route.method, token })).status, 403, route.path);
  }
  for (const path of [
    '/cdx?url=http://a.test/',
    '/web/2024/http://a.test/',
    '/web/*/http://a.test/',
    '/metrics',
    '/warc/x',
  ])
    assert.equal((await one.call(path, { token })).status, 403, path);
  const replay = await fetch(`${one.server.replayAddress}/web/2024mp_/http://a.test/`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(replay.status, 403);
  const calls = new ContentCalls(one, token);
  assert.equal((await calls.post('b', [{ digest: sha256('x') }], { collection: 'other' })).status, 403);
  assert.equal((await calls.post('b', [{ digest: sha256('x') }])).status, 403);
  assert.equal((await calls.post('b', [{ digest: sha256('x') }], { collection: 'own' })).status, 200);
});

test('a private server shows the archive to nobody without a token', async (t) => {
  const one = await served(t, { isPrivate: true });
  await storeDays(one.archive, 'http://a.test/', [1]);
  const reader = await newToken(one.directory, 'reader', ['read']);
  const paths = [
    '/cdx?url=http://a.test/',
    '/web/timemap/link/http://a.test/',
    '/metrics',
    '/api/captures?url=http://a.test/',
  ];
  for (const path of paths) {
    assert.equal((await one.call(path, { token: '' })).status, 401, path);
    assert.equal((await one.call(path, { token: reader })).status, 200, path);
  }
  for (const path of ['/web/2024mp_/http://a.test/', '/static/x'])
    assert.equal((await fetch(one.server.replayAddress + path)).status, 401, path);
  for (const path of ['/healthz', '/api/info']) assert.equal((await one.call(path, { token: '' })).status, 200, path);
  for (const { right, ...route } of await routesOf(one))
    if (right !== 'open' && right !== 'self')
      assert.equal((await one.call(route.path, { ...route, token: '' })).status, 401, route.path);
});

test('tokens are made and revoked while the server runs, and only their hashes are on the disk', async (t) => {
  const directory = scratch(t);
  await createArchive(directory, { name: 'trial' });
  const one = await servedAt(t, directory, {});
  const made = await pinakes(directory, 'token', 'add', 'bob', '--rights', 'add,read', '--archive', '.');
  assert.equal(made.code, 0, made.err);
  const token = made.out.trim();
  const text = readFileSync(join(directory, 'tokens.json'), 'utf8');
  assert.ok(!text.includes(token.slice(4)));
  assert.equal(statSync(join(directory, 'tokens.json')).mode & 0o777, 0o600);
  const calls = new ContentCalls(one, token);
  assert.equal((await calls.missing([sha256('x')])).status, 200);
  const again = await pinakes(directory, 'token', 'add', 'bob', '--rights', 'add', '--archive', '.');
  assert.match(again.err, /TOKEN_EXISTS/);
  const listed = await pinakes(directory, 'token', 'ls', '--archive', '.');
  assert.match(listed.out, /^bob {2}read,add {2}all collections/);
  assert.ok(!listed.out.includes(token));
  await pinakes(directory, 'token', 'revoke', 'bob', '--dry-run', '--archive', '.');
  assert.equal((await calls.missing([sha256('x')])).status, 200);
  assert.equal((await pinakes(directory, 'token', 'revoke', 'bob', '--archive', '.')).code, 0);
  assert.equal((await calls.missing([sha256('x')])).status, 401);
  assert.match((await pinakes(directory, 'token', 'revoke', 'bob', '--archive', '.')).err, /TOKEN_UNKNOWN/);
  for (const wrong of [
    ['--rights', 'fly'],
    ['--rights', 'add', '--expires', 'soon'],
    ['--rights', 'add', '--quota', '1X'],
  ])
    assert.equal(
      (await pinakes(directory, 'token', 'add', 'eve', '--archive', '.', ...wrong)).code,
      2,
      wrong.join(' '),
    );
});

test('many processes that change the tokens lose none of them', async (t) => {
  const directory = scratch(t);
  const names = Array.from({ length: 20 }, (_, index) => `token-${index}`);
  await Promise.all(names.map((name) => newToken(directory, name, ['read'])));
  const found = (await new TokenFile(directory).list()).map(({ name }) => name);
  assert.deepEqual(found.sort(), names.sort());
});

test('a damaged file of tokens refuses every named token, and not the token of the server', async (t) => {
  const one = await served(t, { onFailure: () => {} });
  const token = await newToken(one.directory, 'bob', ['read']);
  writeFileSync(join(one.directory, 'tokens.json'), '{');
  assert.equal((await one.call('/api/jobs', { token })).status, 500);
  assert.equal((await one.call('/api/jobs', { token: TOKEN })).status, 200);
});

test('an expired token is refused', async (t) => {
  let now = START_MS;
  const one = await served(t, { clock: () => now });
  const token = await newToken(one.directory, 'bob', ['read'], { expires: START_MS + 1000 });
  assert.equal((await one.call('/api/jobs', { token })).status, 200);
  now += 1000;
  const refused = await one.call('/api/jobs', { token });
  assert.deepEqual([refused.status, (refused.json.error as { code: string }).code], [401, 'TOKEN_EXPIRED']);
});

test('a quota is kept: what is over it is refused with 507 before anything is stored', async (t) => {
  const one = await served(t);
  const token = await newToken(one.directory, 'bob', ['read', 'add'], { quotaBytes: 10_100 });
  const calls = new ContentCalls(one, token);
  const first = 'a'.repeat(6000);
  assert.equal((await calls.put(first)).status, 200);
  assert.equal((await calls.post('one', [{ digest: sha256(first) }])).json.stored, 1);
  const second = 'b'.repeat(6000);
  assert.equal((await calls.put(second)).status, 507);
  const smaller = 'c'.repeat(3000);
  assert.equal((await calls.put(smaller)).status, 200);
  const both = [{ digest: sha256(smaller) }, ...Array.from({ length: 4 }, () => ({ digest: sha256(first) }))];
  assert.equal((await calls.post('two', both)).status, 507);
  assert.equal((await one.archive.totals()).captures, 1);
  // Asking again costs nothing.
  for (let time = 0; time < 30; time++)
    assert.equal((await calls.post('one', [{ digest: sha256(first) }])).json.known, 1);
  assert.equal((await calls.post('two', [{ digest: sha256(smaller) }])).json.stored, 1);
});
