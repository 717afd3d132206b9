/** Tokens, sessions and the audit log of an archive in a cluster: in its database, for every server and command. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Database } from '../../src/database/index.ts';
import { hashOfToken, openSessions, openTokens, type Session } from '../../src/server/index.ts';
import { scratch } from '../api/served-archive.ts';
import { noPostgres, PostgresServer } from '../contract/postgres-server.ts';
import { pinakes } from '../journeys/pinakes-runner.ts';

describe('people in a cluster', { skip: noPostgres }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.dispose());

  test('commands keep tokens and the audit log in the database', async (t) => {
    const directory = scratch(t);
    const run = async (...argv: string[]) => {
      const done = await pinakes(directory, ...argv, '--archive', 'shared');
      assert.equal(done.code, 0, done.err);
      return done.out;
    };
    const made = await pinakes(directory, 'init', 'shared', '--catalog', `${server.url}?schema=people`);
    assert.equal(made.code, 0, made.err);
    const token = (await run('token', 'add', 'bob', '--rights', 'read')).trim();
    assert.match(await run('token', 'ls'), /^bob {2}read/);
    const database = await Database.open({ url: server.url, schema: 'people' });
    t.after(() => database.close());
    const tokens = await openTokens('/nowhere', database);
    assert.equal((await tokens.find(hashOfToken(token)))?.name, 'bob');
    await run('token', 'revoke', 'bob');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assert.equal(await tokens.find(hashOfToken(token)), undefined);
    assert.ok(!existsSync(join(directory, 'shared', 'tokens.json')));
    assert.ok(!existsSync(join(directory, 'shared', 'audit.jsonl')));
    const lines = (await run('audit', '--json')).trim().split('\n');
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { route: string }).route),
      ['pinakes token add', 'pinakes token revoke'],
    );
  });

  test('a session that ends on one server has ended on every other, with what depends on it', async () => {
    const databases = await Promise.all([1, 2].map(() => Database.open({ url: server.url, schema: 'sessions' })));
    const [one, two] = await Promise.all(databases.map((database) => openSessions('/nowhere', database)));
    assert.deepEqual(await one!.key(), await two!.key());
    const times = { created: 1000, used: 1000, ends: 9000 };
    const person = { name: 'ada', ids: ['1'], groups: ['staff'] };
    const page: Session = { hash: 'page', kind: 'page', parent: '', person, sealed: 'x', ...times };
    const replay: Session = { hash: 'replay', kind: 'replay', parent: 'session:page', ...times };
    const keep = { endedBefore: 0, usedBefore: 0 };
    await one!.add(page, keep);
    await one!.add(replay, keep);
    assert.deepEqual(await two!.find('page'), page);
    await two!.touch('page', 2000);
    assert.equal((await one!.find('page'))!.used, 2000);
    await one!.add({ ...replay, hash: 'ticket', kind: 'ticket' }, keep);
    const taken = await Promise.all([one!.take('ticket'), two!.take('ticket'), one!.take('ticket')]);
    assert.equal(taken.filter((session) => session !== undefined).length, 1);
    await two!.remove('page');
    assert.equal(await one!.find('page'), undefined);
    assert.equal(await one!.find('replay'), undefined);
    await one!.add({ ...page, hash: 'old' }, keep);
    await one!.add({ ...page, hash: 'new', used: 5000 }, { endedBefore: 0, usedBefore: 3000 });
    assert.equal(await two!.find('old'), undefined, 'what ended is forgotten');
    await Promise.all(databases.map((database) => database.close()));
  });
});
