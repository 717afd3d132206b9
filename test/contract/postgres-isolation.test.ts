/**
 * C1 to C5 and D3 by hand: two commits on two connections of a real PostgreSQL, with their statements in every order
 * (interleaving.ts). And that the checks are needed: removing a content in one statement, `delete ... where not
 * exists`, loses captures.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  type Block,
  type BlockKey,
  type Capture,
  type Catalog,
  type CommitGroup,
  type CommitOutcome,
  type Lease,
  openPostgresCatalog,
  type Segment,
} from '../../src/catalog/index.ts';
import { capture } from './catalog-fixture.ts';
import { interleave, type Run, type Stepped, stepped, type Work } from './interleaving.ts';
import { noPostgres, PostgresServer } from './postgres-server.ts';

type Committed = Pick<CommitOutcome, 'kind'>;

describe('two commits in every order of their statements', { skip: noPostgres }, () => {
  let server: PostgresServer;
  let catalogs: readonly [Catalog, Catalog];
  let steps: readonly [Stepped, Stepped];
  let observer: Catalog;
  let runs = 0;
  before(async () => {
    server = await PostgresServer.start();
    const open = () => openPostgresCatalog({ url: server.url, schema: 'isolation' });
    catalogs = [await open(), await open()];
    observer = await open();
    steps = stepped(catalogs, observer.database!.query);
  });
  after(async () => {
    await Promise.all([...catalogs, observer].map((catalog) => catalog.close()));
    await server.dispose();
  });

  /** Names and places of a run that no other run has. */
  function next(): {
    key: BlockKey;
    holder: Block['holder'];
    of: (name: string, changes?: Partial<Capture>) => Capture;
  } {
    const run = ++runs;
    const digest = new Uint8Array(32).fill(1);
    new DataView(digest.buffer).setUint32(0, run * 2654435761);
    let offset = 0;
    return {
      key: { digest, overflow: 0 },
      holder: { segment: run, offset: 0, length: 90 },
      of: (name, changes) =>
        capture(`http://${name}.example/${run}`, {
          place: { segment: run, offset: (offset += 100), length: 90 },
          ...changes,
        }),
    };
  }
  const commit =
    (index: 0 | 1, group: CommitGroup): Work<Committed> =>
    () =>
      catalogs[index].commit(group);
  const kindsOf = ({ outcomes }: Run<Committed>) => outcomes.map(({ kind }) => kind);
  const inOrder = async (
    t: { diagnostic(text: string): void },
    prepare: () => Promise<readonly [Work<Committed>, Work<Committed>]>,
    check: (run: Run<Committed>) => Promise<void>,
  ) => {
    const seen = new Map<string, number>();
    const orders = await interleave(steps, prepare, async (run) => {
      const kinds = kindsOf(run).join(' ');
      seen.set(kinds, (seen.get(kinds) ?? 0) + 1);
      await check(run).catch((error: Error) => {
        error.message += `\n${run.trace.join('\n')}`;
        throw error;
      });
    });
    t.diagnostic(`${orders} orders: ${JSON.stringify(Object.fromEntries(seen))}`);
    return seen;
  };

  test('C3: a content that is removed while a revisit is stored is kept, or the revisit is refused', async (t) => {
    let now: ReturnType<typeof next>;
    const seen = await inOrder(
      t,
      async () => {
        now = next();
        const { key, holder, of } = now;
        const original = of('original', { block: key });
        await observer.commit({ blocks: [{ key, size: 10, holder }], captures: [{ capture: original }] });
        return [
          commit(0, { removeCaptures: [original] }),
          commit(1, {
            referents: [{ key, holder }],
            captures: [{ capture: of('revisit', { kind: 'revisit', block: key }) }],
          }),
        ];
      },
      async ({ outcomes: [removed, stored], first }) => {
        assert.equal(removed.kind, 'committed');
        const [held] = await observer.getBlocks([now.key]);
        assert.equal(held?.references, stored.kind === 'committed' ? 1 : undefined);
        if (stored.kind !== 'committed') assert.deepEqual([stored.kind, first], ['stale', 0]);
      },
    );
    assert.equal(seen.size, 2, 'both happen');
  });

  test('C3: removing a content in one statement, `delete ... where not exists`, loses captures', async (t) => {
    const schema = catalogs[0].database!.schema;
    const id = (key: BlockKey) => [key.digest];
    let now: ReturnType<typeof next>;
    let lost = 0;
    const naive = async (index: 0 | 1, statements: readonly string[]): Promise<Committed> => {
      await catalogs[index].database!.transact(async (query) => {
        for (const text of statements) await query(text, text.includes('$1') ? id(now.key) : undefined);
      });
      return { kind: 'committed' };
    };
    await inOrder(
      t,
      async () => {
        now = next();
        const { key, holder, of } = now;
        const original = of('original', { block: key });
        const revisit = of('revisit', { kind: 'revisit', block: key });
        await observer.commit({ blocks: [{ key, size: 10, holder }], captures: [{ capture: original }] });
        const { segment, offset } = revisit.place;
        return [
          () =>
            naive(0, [
              `delete from ${schema}.captures where digest = $1`,
              `delete from ${schema}.blocks b where digest = $1
               and not exists (select from ${schema}.captures c where c.digest = b.digest)`,
            ]),
          () =>
            naive(1, [
              `select digest from ${schema}.blocks where digest = $1 for key share`,
              `insert into ${schema}.captures select time, ${segment}, ${offset}, 90, 0, 1, 200, 0, 1, 'naive ${runs}', '',
               '', '', $1::bytea, '' from (select 0 as time) t where exists (select from ${schema}.blocks where digest = $1)`,
            ]),
        ];
      },
      async () => {
        const database = observer.database!;
        const [row] = await database.query(
          `select (select count(*) from ${schema}.captures where digest = $1) as captures,
             (select count(*) from ${schema}.blocks where digest = $1) as blocks`,
          id(now.key),
        );
        if (Number(row!.captures) > 0 && Number(row!.blocks) === 0) lost++;
        await database.query(`delete from ${schema}.captures where digest = $1`, id(now.key));
        await database.query(`delete from ${schema}.blocks where digest = $1`, id(now.key));
      },
    );
    t.diagnostic(`${lost} of them lose the content of a capture`);
    assert.ok(lost > 0, 'the statement that is not used here loses contents');
  });

  test('C3: a revisit that names a holder is refused once the holder has moved', async (t) => {
    const seen = await inOrder(
      t,
      async () => {
        const { key, holder, of } = next();
        await observer.commit({
          blocks: [{ key, size: 10, holder }],
          captures: [{ capture: of('a', { block: key }) }],
        });
        return [
          commit(0, { holderMoves: [{ key, from: holder, to: { ...holder, offset: 7 } }] }),
          commit(1, {
            referents: [{ key, holder }],
            captures: [{ capture: of('b', { kind: 'revisit', block: key }) }],
          }),
        ];
      },
      async ({ outcomes: [moved, stored], first }) => {
        assert.equal(moved.kind, 'committed');
        assert.equal(stored.kind, first === 0 ? 'stale' : 'committed');
      },
    );
    assert.equal(seen.size, 2, 'both happen');
  });

  test('C1: nothing is committed under a lease that has ended', async (t) => {
    let lease: Lease;
    const seen = await inOrder(
      t,
      async () => {
        const { of } = next();
        lease = (await observer.takeLease(`writer ${runs}`, 'test', 1e9))!;
        const group = { lease, captures: [{ capture: of('a') }] };
        const end = async (): Promise<Committed> => {
          await catalogs[0].endLease(lease);
          return { kind: 'committed' };
        };
        return [end, commit(1, group)];
      },
      async ({ outcomes: [, stored], first }) => assert.equal(stored.kind, first === 0 ? 'fenced' : 'committed'),
    );
    assert.equal(seen.size, 2, 'both happen');
  });

  test('C2: of two commits that append to a segment at the same length, one is made', async (t) => {
    await inOrder(
      t,
      async () => {
        const { of } = next();
        const segment = (await observer.listSegment({ volume: 'main', name: `s${runs}`, collection: 1 }))! as Segment;
        const from = { state: 'open', bytes: 0, volume: 'main' } as const;
        const group = (id: string): CommitGroup => ({
          id,
          segments: [{ number: segment.number, from, to: { bytes: 100, records: 1 } }],
          captures: [{ capture: of(id) }],
        });
        return [commit(0, group('a')), commit(1, group('b'))];
      },
      async (run) => assert.deepEqual(kindsOf(run).toSorted(), ['committed', 'fenced']),
    );
  });

  test('C5: of two commits that add the same capture, one is made and the other one knows it', async (t) => {
    await inOrder(
      t,
      async () => {
        const { of } = next();
        const mark = new Uint8Array(16);
        new DataView(mark.buffer).setUint32(0, runs);
        const same = of('same');
        const group = (offset: number): CommitGroup => ({
          captures: [{ capture: { ...same, place: { ...same.place, offset } }, marks: [mark] }],
        });
        return [commit(0, group(1)), commit(1, group(2))];
      },
      async (run) => assert.deepEqual(kindsOf(run).toSorted(), ['committed', 'known']),
    );
  });

  test('D3: nothing that is barred is committed after the bar', async (t) => {
    const seen = await inOrder(
      t,
      async () => {
        const { key, holder, of } = next();
        return [
          commit(0, { bars: [{ kind: 'content', digest: key.digest }] }),
          commit(1, { blocks: [{ key, size: 10, holder }], captures: [{ capture: of('a', { block: key }) }] }),
        ];
      },
      async ({ outcomes: [barred, stored], first }) => {
        assert.equal(barred.kind, 'committed');
        assert.equal(stored.kind, first === 0 ? 'barred' : 'committed');
      },
    );
    assert.equal(seen.size, 2, 'both happen');
  });

  test('I12: of two commits that add the same content, one has it and the other one loses the race', async (t) => {
    let now: ReturnType<typeof next>;
    await inOrder(
      t,
      async () => {
        now = next();
        const { key, holder, of } = now;
        const group = (offset: number): CommitGroup => ({
          blocks: [{ key, size: 10, holder: { ...holder, offset } }],
          captures: [{ capture: of(`c${offset}`, { block: key }) }],
        });
        return [commit(0, group(1)), commit(1, group(2))];
      },
      async (run) => {
        assert.deepEqual(kindsOf(run), ['committed', 'committed']);
        const lost = run.outcomes.map((outcome) => (outcome as unknown as { lost: readonly Block[] }).lost.length);
        assert.deepEqual(lost.toSorted(), [0, 1]);
        assert.equal((await observer.getBlocks([now.key]))[0]?.references, 2);
      },
    );
  });
});
