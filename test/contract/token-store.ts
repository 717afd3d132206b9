/** What every store of tokens promises. `open` returns another store of the same tokens, as another server has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { hashOfToken, type NamedToken, type TokenStore } from '../../src/server/index.ts';

/** From a revocation until the last server refuses the token. */
const REVOKED_WITHIN_MS = 1000;

export type TokenStores = {
  /** A store of tokens of its own, or another store of the tokens of `name`. */
  open(name: string): Promise<TokenStore>;
  /** Whether several servers count what is stored with one token. */
  readonly hasManyServers: boolean;
};

export function newNamedToken(name: string, given: Partial<NamedToken> = {}): NamedToken {
  return {
    name,
    hash: hashOfToken(`secret of ${name}`),
    rights: ['read', 'add'],
    created: 1_700_000_000_000,
    ...given,
  };
}

export function tokenStoreContract(stores: () => TokenStores): void {
  test('a token is found by its hash, with everything that was said of it', async () => {
    const store = await stores().open('found');
    const plain = newNamedToken('plain');
    const full = newNamedToken('full', {
      created: plain.created + 1,
      rights: ['read', 'add', 'crawl', 'delete', 'admin'],
      collections: ['a', 'b "c"'],
      expires: 1_800_000_000_000,
      quotaBytes: 5_000_000_000,
    });
    await store.add(plain);
    await store.add(full);
    assert.deepEqual(await store.find(plain.hash), plain);
    assert.deepEqual(await store.find(full.hash), full);
    assert.equal(await store.find(hashOfToken('another')), undefined);
    assert.deepEqual(await store.list(), [plain, full]);
    await store.close();
  });

  test('two tokens never have one name, whoever adds them', async () => {
    const [one, two] = [await stores().open('names'), await stores().open('names')];
    const tries = Array.from({ length: 6 }, (_, index) =>
      (index % 2 === 0 ? one : two).add(newNamedToken('bob', { hash: hashOfToken(`try ${index}`) })),
    );
    const outcomes = await Promise.allSettled(tries);
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.equal((outcome.reason as { code: string }).code, 'TOKEN_EXISTS');
    assert.equal((await two.list()).length, 1);
    await Promise.all([one.close(), two.close()]);
  });

  test('every store sees at once what another adds, and refuses within a second what another revokes', async () => {
    const [here, there] = [await stores().open('seen'), await stores().open('seen')];
    const token = newNamedToken('bob');
    assert.equal(await there.find(token.hash), undefined);
    await here.add(token);
    assert.deepEqual(await there.find(token.hash), token);
    // Asked for all the time, as a busy client does.
    let isBusy = true;
    const busy = (async () => {
      while (isBusy) {
        await there.find(token.hash);
        await delay(5);
      }
    })();
    await here.revoke('bob');
    assert.equal(await here.find(token.hash), undefined);
    await delay(REVOKED_WITHIN_MS);
    assert.equal(await there.find(token.hash), undefined);
    isBusy = false;
    await busy;
    await assert.rejects(here.revoke('bob'), { code: 'TOKEN_UNKNOWN' });
    await Promise.all([here.close(), there.close()]);
  });

  test('a quota is kept, and what was given back can be stored again', async () => {
    const store = await stores().open('quota');
    const token = newNamedToken('bob', { quotaBytes: 1000 });
    await store.add(token);
    assert.equal(await store.charge(token, 600), true);
    assert.equal(await store.charge(token, 600), false, 'too much');
    assert.equal(await store.usedBytes(token), 600, 'a refused charge counts nothing');
    assert.equal(await store.charge(token, 400), true, 'exactly the rest');
    assert.equal(await store.charge(token, 1), false);
    assert.equal(await store.charge(token, -500), true);
    assert.equal(await store.charge(token, 500), true);
    assert.equal(await store.usedBytes(token), 1000);
    await store.close();
  });

  test('charges at the same time never exceed a quota', async () => {
    const { hasManyServers, open } = stores();
    const one = await open('race');
    const two = hasManyServers ? await open('race') : one;
    const token = newNamedToken('bob', { quotaBytes: 100 });
    await one.add(token);
    const charges = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? one : two).charge(token, 7));
    const accepted = (await Promise.all(charges)).filter((isAccepted) => isAccepted).length;
    assert.ok(accepted * 7 <= 100, `${accepted} charges of 7 in a quota of 100`);
    assert.equal(await two.usedBytes(token), accepted * 7, 'what was refused is not counted');
    // Nobody else charges now, so the rest of the quota can be used up.
    let left = Math.floor(100 / 7) - accepted;
    while (left-- > 0) assert.equal(await one.charge(token, 7), true);
    assert.equal(await one.charge(token, 7), false);
    await Promise.all([one.close(), two.close()]);
  });

  test('a token without a quota is counted too', async () => {
    const store = await stores().open('counted');
    const token = newNamedToken('bob');
    await store.add(token);
    for (let charge = 0; charge < 20; charge++) await store.charge(token, 10_000_000_000);
    assert.equal(await store.usedBytes(token), 200_000_000_000);
    assert.equal(await store.usedBytes(newNamedToken('eve')), 0);
    await store.close();
  });
}
