import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createArchive } from '../../src/archive/index.ts';
import { Database } from '../../src/database/index.ts';
import { type AuditEntry, type AuditLog, auditedFacts, openAudit } from '../../src/server/index.ts';
import { scratch, storeDays, writeWarc } from '../api/served-archive.ts';
import { newToken } from '../contents/content-client.ts';
import { noPostgres, PostgresServer } from '../contract/postgres-server.ts';
import { pinakes } from '../journeys/pinakes-runner.ts';
import { asPage, library, signIn } from './library.ts';
import { Visitor } from './oidc-service.ts';

const START = 1_700_000_000_000;

function entryOf(number: number, name: string, action: AuditEntry['action'] = 'add'): AuditEntry {
  const who = { kind: 'person', name } as const;
  return { id: `entry-${number}`, time: START + number * 1000, action, who, outcome: 'done' };
}

/** What every audit log promises. `open` opens a log of its own, or the same one again. */
function auditContract(open: (name: string) => Promise<AuditLog>): void {
  test('pages show every entry once, the newest first, also when entries are added meanwhile', async () => {
    const log = await open('pages');
    const other = await open('pages');
    for (let number = 0; number < 25; number++) await (number % 2 === 0 ? log : other).append(entryOf(number, 'ada'));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { entries, next } = await other.read({ limit: 7, after: cursor });
      seen.push(...entries.map(({ id }) => id));
      await log.append(entryOf(100 + seen.length, 'eve'));
      cursor = next;
    } while (cursor !== undefined);
    assert.deepEqual(
      seen,
      Array.from({ length: 25 }, (_, index) => `entry-${24 - index}`),
    );
    await assert.rejects(log.read({ limit: 1, after: 'nowhere' }), RangeError);
  });

  test('entries are found by who and what', async () => {
    const log = await open('found');
    assert.deepEqual(await log.read({ limit: 10 }), { entries: [] });
    await log.append(entryOf(1, 'Ada Lovelace', 'delete'));
    await log.append({ ...entryOf(2, 'carl'), what: { collection: 'a "b"\n', ids: [1, 2] }, address: '192.0.2.7' });
    const found = async (query: object) => (await log.read({ limit: 10, ...query })).entries.map(({ id }) => id);
    assert.deepEqual(await found({ who: 'lovelace' }), ['entry-1']);
    assert.deepEqual(await found({ action: 'add' }), ['entry-2']);
    assert.deepEqual(await found({ outcome: 'failed' }), []);
    const [newest] = (await log.read({ limit: 1 })).entries;
    assert.deepEqual(newest!.what, { collection: 'a "b"\n', ids: [1, 2] });
    assert.deepEqual(await found({ since: newest!.time }), ['entry-2']);
    assert.deepEqual(await found({ until: newest!.time }), ['entry-1']);
  });
}

describe('the audit log in a file', () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'pinakes-audit-'));
  });
  after(() => rmSync(directory, { recursive: true }));
  const place = (name: string) => {
    mkdirSync(join(directory, name), { recursive: true });
    return join(directory, name);
  };
  auditContract((name) => openAudit(place(name), undefined));

  test('the file can be renamed at any time, and a line that a crash cut off hides no other', async () => {
    const at = place('rotated');
    const log = await openAudit(at, undefined);
    const path = join(at, 'audit.jsonl');
    await log.append(entryOf(1, 'ada'));
    assert.equal(statSync(path).mode & 0o777, 0o600);
    renameSync(path, `${path}.1`);
    await log.append(entryOf(2, 'ada'));
    appendFileSync(path, '{"id":"entry-3","time":17');
    await log.append(entryOf(4, 'ada'));
    assert.deepEqual(
      (await log.read({ limit: 9 })).entries.map(({ id }) => id),
      ['entry-4', 'entry-2'],
    );
    assert.equal(readFileSync(`${path}.1`, 'utf8').split('\n').length, 2);
  });

  test('long logs are read in pieces', async () => {
    const at = place('long');
    const log = await openAudit(at, undefined);
    const what = { note: 'x'.repeat(5000) };
    await Promise.all(Array.from({ length: 100 }, (_, number) => log.append({ ...entryOf(number, 'ada'), what })));
    assert.equal((await log.read({ limit: 200 })).entries.length, 100);
  });
});

describe('the audit log in a database', { skip: noPostgres }, () => {
  let server: PostgresServer;
  const databases: Database[] = [];
  before(async () => {
    server = await PostgresServer.start();
  });
  after(async () => {
    await Promise.all(databases.map((database) => database.close()));
    await server.dispose();
  });
  const databaseOf = async (schema: string) => {
    const database = await Database.open({ url: server.url, schema });
    databases.push(database);
    return database;
  };
  auditContract(async (name) => openAudit('/nowhere', await databaseOf(`audit ${name}`)));

  test('the database refuses to change and to remove entries', async () => {
    const database = await databaseOf('fixed');
    const log = await openAudit('/nowhere', database);
    await log.append(entryOf(1, 'ada'));
    for (const statement of ['update fixed.audit set who = 1', 'delete from fixed.audit', 'truncate fixed.audit'])
      await assert.rejects(database.query(statement), /append-only/, statement);
    assert.equal((await log.read({ limit: 9 })).entries.length, 1);
  });
});

test('what looks like a secret is left out of entries, and they stay small', () => {
  const facts = auditedFacts({
    token: 'abc',
    input: {
      password: 'abc',
      seeds: ['http://u:abc@a.test/?x=1&access_token=abc&key=abc#sid=abc'],
      authorization: 'abc',
    },
    note: 'Bearer abc pin_abcabc',
    key: 'sha256:1234',
    many: Array.from({ length: 50 }, (_, index) => index),
    long: 'x'.repeat(1000),
  });
  const text = JSON.stringify(facts);
  assert.ok(!text.includes('abc'), text);
  assert.match(text, /http:\/\/a\.test\/\?x=1&access_token=\.\.\.&key=\.\.\.#sid=\.\.\./);
  assert.match(text, /sha256:1234/);
  assert.match(text, /and 30 more/);
  assert.ok(text.length < 1000);
});

test('the log says who added, exported, deleted and was refused, by people and by tokens', async (t) => {
  const one = await library(t);
  await storeDays(one.archive, 'http://a.test/', [1, 2]);
  const carl = new Visitor();
  await signIn(carl, one, 'carl');
  const selection = { url: 'http://a.test/' };
  const preview = await asPage(carl, one, '/api/deletes/preview', { json: { selection } });
  const { token } = (await preview.json()) as { token: string };
  const { id } = (await (await asPage(carl, one, '/api/deletes', { json: { selection, token } })).json()) as {
    id: string;
  };
  await one.overJob(id);
  assert.equal((await asPage(carl, one, '/api/takedowns', { json: {} })).status, 403);
  const bob = await newToken(one.directory, 'bob', ['read']);
  assert.equal((await one.call('/api/jobs', { json: { kind: 'verify', input: {} }, token: bob })).status, 403);
  const exported = await one.call('/api/jobs', { json: { kind: 'export', input: { format: 'warc', selection: {} } } });
  await one.overJob(String(exported.json.id));
  const { items } = (await one.call('/api/audit?limit=50')).json as { items: Record<string, unknown>[] };
  const lines = items.map(({ who, action, outcome, code }) => {
    const { kind, name, role } = who as Record<string, string>;
    return [kind, name, role, action, outcome, code].filter((part) => part !== undefined).join(' ');
  });
  for (const line of [
    'person carl curator sign-in done',
    'person carl curator delete begun',
    'person carl curator takedown refused RIGHT_MISSING',
    'token bob job refused RIGHT_MISSING',
    'server token of the server export begun',
  ])
    assert.ok(lines.includes(line), `${line} is not in\n${lines.join('\n')}`);
  const deleted = items.find(({ action, outcome }) => action === 'delete' && outcome === 'begun')!;
  assert.deepEqual((deleted.what as { input: object }).input, { selection });
  assert.equal((deleted.what as { job: string }).job, id);
  assert.equal(deleted.address, '127.0.0.1');
  assert.equal((await asPage(carl, one, '/api/audit')).status, 403, 'only administrators see it');
});

test('commands are entered with the user of the machine, in the server and without one', async (t) => {
  const directory = scratch(t);
  await createArchive(directory, { name: 'trial' });
  await writeWarc(join(directory, 'site.warc.gz'), 'site', 2);
  const run = async (...argv: string[]) => {
    const done = await pinakes(directory, ...argv, '--archive', '.');
    assert.ok(done.code === 0 || done.code === 1, done.err);
    return done;
  };
  const empty = await run('audit');
  assert.match(empty.err, /Nobody has done anything yet/);
  await run('add', 'site.warc.gz', '--collection', 'first');
  await run('stats');
  await run('delete', '--collection', 'first', '--dry-run');
  await run('delete', '--collection', 'first', '--yes');
  await run('token', 'add', 'bob', '--rights', 'read');
  const { out } = await run('audit', '--json');
  const entries = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditEntry);
  assert.deepEqual(
    entries.map(({ action, outcome }) => `${action} ${outcome}`),
    ['add begun', 'add done', 'delete begun', 'delete done', 'token done'],
  );
  for (const { who } of entries) assert.deepEqual(who, { kind: 'system', name: userInfo().username });
  assert.equal(entries[0]!.what!.collection, 'first');
  assert.doesNotMatch(out, /pin_/);
  const none = await run('audit', '--who', 'somebody-else');
  assert.match(none.err, /Nobody did anything that matches/);
});
