/** The totals of a catalog on PostgreSQL are exact, and no commit waits for another because of them. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { seededRandom } from '../../src/base/index.ts';
import { type Catalog, type CommitGroup, openPostgresCatalog, type Totals } from '../../src/catalog/index.ts';
import { all } from './catalog-fixture.ts';
import { CatalogWorld } from './catalog-world.ts';
import { noOwnPostgres, PostgresServer } from './postgres-server.ts';

const WRITERS = 8;
const OPERATIONS = 1000;
const WAIT_MS = 50;

/** Random changes. Contents often come after captures that refer to them, and captures take the place of others. */
class TotalsWorld extends CatalogWorld {
  group(): CommitGroup {
    const captures = this.some(4, () => ({ capture: this.capture() }));
    return {
      captures,
      blocks: this.some(2, () => {
        const key = this.blockKey();
        // The size depends on the key, so that no group has another content under it.
        return { key, size: 100 + key.digest[0]! + 7 * key.overflow, holder: this.place() };
      }),
      removeCaptures: this.some(3, () => this.capture()),
      moves: this.below(4) === 0 ? [{ from: this.capture(), to: this.capture() }] : [],
      deletions:
        this.below(6) === 0 ? [{ capture: this.capture(), mark: new Uint8Array(16).fill(this.below(256)) }] : [],
      sweep: this.some(1, () => this.blockKey()),
      keepsUnreferenced: this.below(3) === 0,
    };
  }
}

async function counted(catalog: Catalog): Promise<Totals> {
  const captures = await all(catalog.captures({}));
  const blocks = await all(catalog.blocks());
  const sizes = new Map(blocks.map(({ key, size }) => [idOf(key), size]));
  const sum = (numbers: Iterable<number>) => [...numbers].reduce((one, other) => one + other, 0);
  return {
    captures: captures.length,
    blocks: blocks.length,
    revisits: captures.filter(({ kind }) => kind === 'revisit').length,
    payloadBytes: sum(captures.map(({ block }) => (block && sizes.get(idOf(block))) ?? 0)),
    uniquePayloadBytes: sum(sizes.values()),
  };
}

function idOf({ digest, overflow }: { digest: Uint8Array; overflow: number }): string {
  return `${Buffer.from(digest).toString('hex')} ${overflow}`;
}

describe('the totals of a catalog on PostgreSQL', { skip: noOwnPostgres }, () => {
  let server: PostgresServer;
  before(async () => {
    // The server writes down every wait for a lock that takes this long.
    server = await PostgresServer.start([`deadlock_timeout=${WAIT_MS}ms`, 'log_lock_waits=on']);
  });
  after(() => server.dispose());
  const open = (schema: string) => openPostgresCatalog({ url: server.url, schema });

  test(`are what a count gives after ${OPERATIONS} random commits of ${WRITERS} writers`, async (t) => {
    const seed = Number(process.env.PINAKES_SEED ?? Math.floor(Math.random() * 2 ** 32));
    t.diagnostic(`seed ${seed}`);
    const catalog = await open('random');
    const outcomes: Record<string, number> = {};
    const work = async (writer: number) => {
      const world = new TotalsWorld(seededRandom(seed + writer));
      for (let operation = 0; operation < OPERATIONS / WRITERS; operation++) {
        const { kind } = await catalog.commit(world.group());
        outcomes[kind] = (outcomes[kind] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => work(writer)));
    t.diagnostic(JSON.stringify(outcomes));
    assert.ok(outcomes.committed! > OPERATIONS / 2, JSON.stringify(outcomes));
    const totals = await catalog.totals();
    assert.deepEqual(totals, await counted(catalog));
    assert.ok(totals.captures > 0 && totals.payloadBytes > 0);
    await catalog.close();
  });

  test(`make none of ${WRITERS} writers wait for a lock for ${WAIT_MS} ms`, async (t) => {
    const catalog = await open('writers');
    const popular = { digest: new Uint8Array(32).fill(9), overflow: 0 };
    const holder = { segment: 1, offset: 0, length: 10 };
    await catalog.commit({ blocks: [{ key: popular, size: 10, holder }], keepsUnreferenced: true });
    const waits = () => server.log().match(/still waiting for .*|acquired .* after .* ms/g) ?? [];
    const before = waits().length;
    const work = async (writer: number) => {
      const world = new CatalogWorld(seededRandom(writer));
      for (let commit = 0; commit < 40; commit++) {
        const captures = Array.from({ length: 10 }, (_, index) => ({
          capture: {
            ...world.capture(),
            place: { segment: 10 + writer, offset: commit * 1000 + index, length: 10 },
            block: popular,
          },
        }));
        assert.equal((await catalog.commit({ referents: [{ key: popular, holder }], captures })).kind, 'committed');
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => work(writer)));
    assert.deepEqual(waits().slice(before), []);
    const totals = await catalog.totals();
    assert.deepEqual([totals.captures, totals.payloadBytes], [WRITERS * 400, WRITERS * 4000]);
    const [{ slots } = { slots: 0 }] = await catalog.database!.query('select count(*) as slots from writers.totals');
    t.diagnostic(`${String(slots)} rows of totals`);
    assert.ok(Number(slots) <= WRITERS + 1, 'a row for each commit at one moment, not for each commit');
    await catalog.close();
  });
});
