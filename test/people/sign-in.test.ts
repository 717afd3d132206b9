import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { storeDays, TOKEN } from '../api/served-archive.ts';
import { asPage, codeOf, library, sessionOf, signIn } from './library.ts';
import { CLIENT_SECRET, callbackFor, Visitor } from './oidc-service.ts';

const MINUTE_MS = 60_000;

test('people sign in at a provider, have the role of their group, and return to where they were', async (t) => {
  const one = await library(t);
  for (const [name, role, rights] of [
    ['ada', 'administrator', 5],
    ['carl', 'curator', 4],
    ['rita', 'reader', 1],
  ] as const) {
    const visitor = new Visitor();
    const reply = await signIn(visitor, one, name, '/collections?x=1');
    assert.equal(reply.headers.get('location'), `${one.server.uiUrl}/collections?x=1`, await reply.text());
    const session = await sessionOf(visitor, one);
    assert.deepEqual([session.kind, session.name, session.role], ['person', name, role]);
    assert.equal((session.rights as string[]).length, rights);
  }
  const elsewhere = new Visitor();
  const reply = await signIn(elsewhere, one, 'rita', '//evil.example/');
  assert.equal(reply.headers.get('location'), `${one.server.uiUrl}/`, 'never to another site');
});

test('the cookie is hidden from scripts and other sites, and only its hash is kept', async (t) => {
  const one = await library(t);
  const visitor = new Visitor();
  const reply = await signIn(visitor, one, 'carl');
  const cookie = reply.headers.getSetCookie().find((line) => line.startsWith('pinakes-session='))!;
  for (const rule of ['HttpOnly', 'SameSite=Strict', 'Path=/']) assert.ok(cookie.includes(rule), cookie);
  assert.doesNotMatch(cookie, /domain/i);
  const secret = visitor.cookies(one.server.uiUrl).get('pinakes-session')!;
  assert.equal(Buffer.from(secret, 'base64url').length, 32);
  const path = join(one.directory, 'sessions.json');
  const text = readFileSync(path, 'utf8');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.ok(!text.includes(secret));
  assert.ok(text.includes('"name":"carl"'));
  assert.ok(!/eyJ/.test(text), 'the token of the provider cannot be read');
});

test('a person without a role is refused, and gets no cookie', async (t) => {
  const one = await library(t);
  const visitor = new Visitor();
  const reply = await signIn(visitor, one, 'eve');
  assert.equal(reply.status, 403);
  assert.match(await reply.text(), /You have no role in this archive.*You are eve at localhost/s);
  assert.equal(visitor.cookies(one.server.uiUrl).get('pinakes-session'), undefined);
  assert.equal((await sessionOf(visitor, one)).kind, 'anonymous');
});

test('a callback counts once, in the browser that asked for it, with its own state, and soon', async (t) => {
  const one = await library(t);
  const { uiUrl } = one.server;
  const visitor = new Visitor();
  const isIn = async (who: Visitor) => (await sessionOf(who, one)).kind === 'person';

  const callback = await callbackFor(visitor, uiUrl, 'ada');
  assert.equal((await new Visitor().ask(callback)).status, 400, 'in another browser');
  const tampered = new URL(callback);
  const state = tampered.searchParams.get('state')!;
  tampered.searchParams.set('state', `${state.slice(0, -2)}xx`);
  assert.equal((await visitor.ask(tampered.href)).status, 400, 'with another state');
  const foreign = new URL(callback);
  foreign.searchParams.set('iss', 'https://evil.example');
  const thief = new Visitor();
  for (const [name, value] of visitor.cookies(uiUrl)) thief.setCookie(uiUrl, name, value);
  assert.equal((await thief.ask(foreign.href)).status, 403, 'of another provider');
  assert.equal(await isIn(visitor), false);

  const cookies = [...visitor.cookies(uiUrl)];
  assert.equal((await visitor.ask(callback)).status, 302);
  assert.ok(await isIn(visitor));
  const second = new Visitor();
  assert.equal((await second.ask(callback)).status, 400, 'a second time');
  for (const [name, value] of cookies) second.setCookie(uiUrl, name, value);
  assert.equal((await second.ask(callback)).status, 403, 'a second time, with the cookie of the first');
  assert.equal(await isIn(second), false);

  const late = new Visitor();
  const slow = await callbackFor(late, uiUrl, 'ada');
  one.pass(11 * MINUTE_MS);
  assert.equal((await late.ask(slow)).status, 400, 'after more than ten minutes');

  const declined = new URL(await callbackFor(late, uiUrl, 'ada'));
  declined.searchParams.delete('code');
  declined.searchParams.set('error', 'access_denied');
  const page = await late.ask(declined.href);
  assert.equal(page.status, 403);
  assert.match(await page.text(), /broken off.*Sign in again/s);
});

test('a session ends after inactivity, and in the end even if it is used', async (t) => {
  const one = await library(t);
  const visitor = new Visitor();
  await signIn(visitor, one, 'rita');
  const kind = async () => (await sessionOf(visitor, one)).kind;
  one.pass(119 * MINUTE_MS);
  assert.equal(await kind(), 'person');
  one.pass(121 * MINUTE_MS);
  assert.equal(await kind(), 'anonymous', 'after two hours without a request');
  await signIn(visitor, one, 'rita');
  for (let hour = 1; hour < 12; hour++) {
    one.pass(60 * MINUTE_MS);
    assert.equal(await kind(), 'person', `after ${hour} hours of use`);
  }
  one.pass(60 * MINUTE_MS);
  assert.equal(await kind(), 'anonymous', 'after twelve hours');
});

test('signing out ends the session on the server and at the provider', async (t) => {
  const one = await library(t);
  const visitor = new Visitor();
  await signIn(visitor, one, 'carl');
  const stolen = new Visitor();
  stolen.setCookie(one.server.uiUrl, 'pinakes-session', visitor.cookies(one.server.uiUrl).get('pinakes-session')!);
  assert.equal((await sessionOf(stolen, one)).name, 'carl');
  const foreign = await asPage(visitor, one, '/auth/sign-out', {
    method: 'POST',
    headers: { origin: 'https://evil.example' },
  });
  assert.equal(foreign.status, 403, 'no other site can sign somebody out');
  const reply = await asPage(visitor, one, '/auth/sign-out', { method: 'POST' });
  const { signedOut, to } = (await reply.json()) as { signedOut: boolean; to: string };
  assert.equal(signedOut, true);
  assert.equal((await sessionOf(stolen, one)).kind, 'anonymous', 'the cookie is worth nothing any more');
  assert.equal(visitor.cookies(one.server.uiUrl).get('pinakes-session'), undefined);
  const { searchParams } = new URL(to);
  assert.ok(searchParams.get('id_token_hint'));
  assert.equal(searchParams.get('post_logout_redirect_uri'), `${one.server.uiUrl}/`);
  const page = await (await visitor.ask(to)).text();
  assert.match(page, /<form[^>]+logout|op\.logoutForm/i, 'the provider asks whether to sign out there too');
});

test('a change with a cookie has to come from our own page', async (t) => {
  const one = await library(t);
  const visitor = new Visitor();
  await signIn(visitor, one, 'carl');
  const start = { kind: 'crawl', input: { mode: 'scheduled' } };
  const send = (headers: Record<string, string>) =>
    visitor.ask(`${one.server.uiUrl}/api/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(start),
    });
  const bare = await send({});
  assert.deepEqual([bare.status, await codeOf(bare)], [403, 'ORIGIN_MISSING']);
  for (const fields of [
    { origin: 'https://evil.example' },
    { origin: one.server.replayUrl },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', origin: one.server.uiUrl },
  ] as Record<string, string>[])
    assert.equal((await send(fields)).status, 403, JSON.stringify(fields));
  assert.notEqual((await send({ origin: one.server.uiUrl })).status, 403);
  assert.notEqual((await send({ 'sec-fetch-site': 'same-origin' })).status, 403);
  const asked = await visitor.ask(`${one.server.uiUrl}/api/session`, { headers: { 'sec-fetch-site': 'same-site' } });
  assert.equal(asked.status, 403, 'archived pages cannot even ask who is signed in');
});

test('archived pages of a private server are shown with a cookie of their own, which ends with the session', async (t) => {
  const one = await library(t, { isPrivate: true });
  await storeDays(one.archive, 'http://a.test/', [1]);
  const { uiUrl, replayUrl } = one.server;
  assert.notEqual(new URL(uiUrl).hostname, new URL(replayUrl).hostname);
  const archived = '/web/20240301100000mp_/http://a.test/';
  const visitor = new Visitor();
  await signIn(visitor, one, 'rita');
  const refused = await visitor.ask(replayUrl + archived);
  assert.equal(refused.status, 401);
  const given = await asPage(visitor, one, '/api/session/replay', { json: {} });
  const { path } = (await given.json()) as { path: string };
  const entered = await visitor.ask(`${replayUrl}${path}&to=${encodeURIComponent(archived)}`);
  assert.equal(entered.headers.get('location'), replayUrl + archived);
  assert.match(entered.headers.get('set-cookie')!, /^pinakes-replay=.*HttpOnly; SameSite=None; Secure; Partitioned/);
  const page = await visitor.ask(replayUrl + archived);
  assert.equal(page.status, 200);
  assert.match(await page.text(), /Scroll 1/);
  assert.equal((await visitor.ask(`${replayUrl}${path}&to=/`)).status, 401, 'a ticket is good once');
  const away = await asPage(visitor, one, '/api/session/replay', { json: {} });
  const next = ((await away.json()) as { path: string }).path;
  assert.equal((await visitor.ask(`${replayUrl}${next}&to=${encodeURIComponent('//evil.example/')}`)).status, 401);

  const replayCookie = visitor.cookies(replayUrl).get('pinakes-replay')!;
  const script = new Visitor();
  script.setCookie(uiUrl, 'pinakes-session', replayCookie);
  script.setCookie(uiUrl, 'pinakes-replay', replayCookie);
  assert.equal((await sessionOf(script, one)).kind, 'anonymous', 'the cookie of replay opens nothing else');
  for (const { url, cookie } of visitor.sent)
    if (url.startsWith(replayUrl)) assert.doesNotMatch(cookie, /pinakes-session/, url);

  await asPage(visitor, one, '/auth/sign-out', { method: 'POST' });
  assert.equal((await visitor.ask(replayUrl + archived)).status, 401);
});

test('no secret of a session is in a log, nor in what the operator is told', async (t) => {
  const one = await library(t, { isPrivate: true });
  await storeDays(one.archive, 'http://a.test/', [1]);
  const secrets = new Set([TOKEN, CLIENT_SECRET]);
  const visitor = new Visitor();
  const callback = await callbackFor(visitor, one.server.uiUrl, 'ada');
  for (const [, value] of visitor.cookies(one.server.uiUrl)) secrets.add(value);
  await visitor.ask(callback);
  await visitor.ask(callback);
  const { searchParams } = new URL(callback);
  secrets.add(searchParams.get('code')!).add(searchParams.get('state')!);
  const failing = new URL(await callbackFor(visitor, one.server.uiUrl, 'ada'));
  secrets.add(failing.searchParams.get('code')!);
  failing.searchParams.set('code', `${failing.searchParams.get('code')}x`);
  assert.equal((await visitor.ask(failing.href)).status, 403);
  const ticket = (await (await asPage(visitor, one, '/api/session/replay', { json: {} })).json()) as { path: string };
  secrets.add(ticket.path.split('=')[1]!);
  await visitor.ask(`${one.server.replayUrl}${ticket.path}&to=/web/20240301100000mp_/http://a.test/`);
  for (const url of [one.server.uiUrl, one.server.replayUrl])
    for (const [name, value] of visitor.cookies(url)) if (name.startsWith('pinakes')) secrets.add(value);
  const preview = await asPage(visitor, one, '/api/deletes/preview', {
    json: { selection: { url: 'http://a.test/' } },
  });
  const { token } = (await preview.json()) as { token: string };
  secrets.add(token);
  const deleted = await asPage(visitor, one, '/api/deletes', { json: { selection: { url: 'http://a.test/' }, token } });
  assert.equal(deleted.status, 202);
  await one.call('/api/jobs', { json: { kind: 'verify', input: {} } });
  const out = await asPage(visitor, one, '/auth/sign-out', { method: 'POST' });
  secrets.add(new URL(((await out.json()) as { to: string }).to).searchParams.get('id_token_hint')!);

  const audit = readFileSync(join(one.directory, 'audit.jsonl'), 'utf8');
  assert.equal(statSync(join(one.directory, 'audit.jsonl')).mode & 0o777, 0o600);
  const told = inspect(one.failures, { depth: 20, maxStringLength: null, maxArrayLength: null });
  assert.ok(one.failures.length > 0, 'the failed sign-in was told');
  const logs = { access: JSON.stringify(one.lines), audit, told };
  assert.ok(secrets.size >= 10);
  for (const [name, log] of Object.entries(logs))
    for (const secret of secrets)
      for (const text of [secret, encodeURIComponent(secret)])
        assert.ok(
          !log.includes(text),
          `${secret} is in ${name}: ${log.slice(Math.max(0, log.indexOf(text) - 300), log.indexOf(text))}`,
        );
});
