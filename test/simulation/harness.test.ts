import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { bite } from './bite.ts';
import { explore, exploreSeed, replay } from './explorer.ts';
import { faultyWriter, writersAndDeleter } from './harness-scenarios.ts';
import { harnessDeleter, harnessWriter, memberOf } from './harness-writer.ts';
import { prepare, type Scenario } from './scenario.ts';
import { ScheduleFailure, Scheduler } from './scheduler.ts';
import { SUITES } from './suites.ts';

suite('The simulation', () => {
  test('finds no loss where commits check the contents that revisits refer to (C3)', async () => {
    const { found, costDone, schedules } = await explore(writersAndDeleter, { costMax: 1 });
    assert.equal(found, undefined);
    assert.equal(costDone, 1);
    assert.ok(schedules > 100, `${schedules} schedules`);
  });

  test('finds the loss without the check, and its schedule loses the content again', async () => {
    const { found, schedules } = await explore(writersAndDeleter, { costMax: 2, without: { referents: true } });
    assert.ok(found);
    assert.equal(found.cost, 1);
    assert.ok(schedules < 200, `after ${schedules} schedules`);
    assert.match(found.breaches[0]!, /^I5 the capture w1, acknowledged, has lost its content/);
    const { lines, breaches } = await replay(writersAndDeleter, found, { referents: true });
    assert.deepEqual(breaches, found.breaches);
    const order = ['W: asks for which contents are held', 'D: commits deletion of', 'W: commits'];
    const places = order.map((line) => lines.findIndex((found) => found.startsWith(line)));
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
      lines.join('\n'),
    );
  });

  test('finds the loss at random too, and a seed gives the same schedule again', async () => {
    const prepared = await prepare(writersAndDeleter, { referents: true });
    for (let seed = 1; seed <= 500; seed++) {
      const found = await exploreSeed(writersAndDeleter, seed, prepared);
      if (!found) continue;
      assert.deepEqual(await exploreSeed(writersAndDeleter, seed, prepared), found);
      assert.deepEqual((await replay(writersAndDeleter, found, { referents: true })).breaches, found.breaches);
      return;
    }
    assert.fail('500 seeds found nothing');
  });

  test('finds no loss when answers and PUTs are lost, arrive late, or a writer dies', async () => {
    const { found, schedules } = await explore(faultyWriter, { costMax: 2 });
    assert.equal(found, undefined);
    assert.ok(schedules > 400, `${schedules} schedules`);
  });

  test('finds a name that gets other bytes (P2)', async () => {
    const scenario: Scenario = {
      ...writersAndDeleter,
      processes: { W: harnessWriter([[{ id: 'w1', content: 'x' }]], { keepsName: true }), D: harnessDeleter('p1') },
    };
    const { found } = await explore(scenario, { costMax: 1 });
    assert.match(found!.breaches[0]!, /^P2 other bytes are put under the name _pinakes\/open\/segment-W\/0-0\.part/);
  });

  test('finds what is lost when the catalog goes back or is lost and nobody adopts', async () => {
    const losses = [{ goesBack: 'failover' }, { goesBack: 'power cut' }, { isLossy: true }] as const;
    for (const loss of losses) {
      const { found } = await explore({ ...faultyWriter, hasFaults: false, ...loss }, { costMax: 1 });
      assert.match(found!.breaches.join(), /^I\d .*\bw\d\b/, JSON.stringify(loss));
    }
  });

  test('tells how soon the loss of a rule is found', async () => {
    const options = { costMax: 1, limitMs: 10_000 };
    const referents = await bite([faultyWriter, writersAndDeleter], ['referents'], options);
    assert.equal(referents.scenario, writersAndDeleter.name);
    assert.equal(referents.exploration?.found?.cost, 1);
    const bars = await bite([writersAndDeleter], ['bars'], options);
    assert.equal(bars.exploration, undefined, 'nothing is barred in this scenario');
    assert.ok(bars.schedules > 100);
  });

  test('cuts unsynced bytes at a power cut, at a record or inside one', async () => {
    const left = new Set<number>();
    const appending: Scenario = {
      name: 'appends to a disk',
      processes: {
        W: async ({ disk, catalog, ids }) => {
          const members = [memberOf('a', ids()), memberOf('b', ids()), memberOf('c', ids())];
          await disk.create('main/object');
          await disk.append('main/object', 0, members.slice(0, 1));
          await disk.sync(['main/object']);
          await catalog.collectionNumber('one');
          await disk.append('main/object', members[0]!.length, members.slice(1));
          await catalog.collectionNumber('two');
        },
      },
      goesBack: 'power cut',
      finish: async ({ disk }) => {
        left.add(disk.objects.get('main/object')?.bytes ?? -1);
        return [];
      },
    };
    const { found } = await explore(appending, { costMax: 2 });
    assert.equal(found, undefined);
    const { length } = memberOf('a', '<urn:uuid:00000000-0000-4000-8000-000000000000>');
    const records = [...left].map((bytes) => Math.round((2 * bytes) / length) / 2);
    assert.deepEqual(records.sort(), [1, 1.5, 2, 3]);
  });

  test('finds a process that throws, and one that does not end', async () => {
    const throwing: Scenario = {
      ...faultyWriter,
      processes: { W: () => Promise.reject(new Error('a bug of its own')) },
    };
    assert.match((await explore(throwing, { costMax: 0 })).found!.breaches[0]!, /^W fails: Error: a bug of its own/);
    const unhandled: Scenario = {
      ...faultyWriter,
      processes: {
        W: async ({ process }) => {
          void process.pass(() => 'a call').then(() => Promise.reject(new Error('a bug of its own')));
          await process.pass(() => 'another call');
          await process.pass(() => 'a third');
        },
      },
    };
    const { found } = await explore(unhandled, { costMax: 0 });
    assert.match(found!.breaches[0]!, /^an error is not handled: Error: a bug of its own/);
    const endless: Scenario = {
      ...faultyWriter,
      processes: {
        W: async ({ process }) => {
          for (;;) await process.pass(() => 'again');
        },
      },
    };
    assert.match((await explore(endless, { costMax: 0 })).found!.breaches[0]!, /^no end after \d+ steps/);
  });
});

suite('The scheduler', () => {
  const time = () => ({ now: 0 });

  test('lets one process go on at a time, from gate to gate', async () => {
    const log: string[] = [];
    const scheduler = new Scheduler({ choose: (alternatives) => alternatives.length - 1, time: time() });
    for (const name of ['A', 'B'])
      scheduler.add(name, async (process) => {
        for (let step = 0; step < 3; step++) {
          log.push(`${name} begins ${step}`);
          for (let turn = 0; turn < 20; turn++) await undefined;
          log.push(`${name} ends ${step}`);
          await process.pass(() => `step ${step}`);
        }
      });
    await scheduler.run();
    assert.equal(log.length, 12);
    for (let at = 0; at < log.length; at += 2) assert.equal(log[at]!.replace('begins', 'ends'), log[at + 1]);
    assert.notDeepEqual(log.slice(0, 6).join(), log.filter((line) => line.startsWith('A')).join());
  });

  test('wakes sleepers in order of time, and only when nothing else can go on', async () => {
    const woken: string[] = [];
    const clock = time();
    const scheduler = new Scheduler({ choose: () => 0, time: clock });
    for (const [name, ms] of [
      ['A', 300],
      ['B', 100],
      ['C', 200],
    ] as const)
      scheduler.add(name, async (process) => {
        await process.sleep(ms);
        await process.pass(() => 'a call');
        woken.push(`${name} at ${clock.now}`);
      });
    await scheduler.run();
    assert.deepEqual(woken, ['B at 100', 'C at 200', 'A at 300']);
  });

  test('never lets a killed process go on', async () => {
    const done: number[] = [];
    const scheduler = new Scheduler({
      choose: (alternatives) =>
        Math.max(
          0,
          alternatives.findIndex(({ kind }) => kind === 'kill' && done.length === 2),
        ),
      time: time(),
    });
    scheduler.add(
      'A',
      async (process) => {
        for (let step = 0; step < 5; step++) {
          await process.pass(() => 'a call');
          done.push(step);
        }
      },
      { mayDie: true },
    );
    await scheduler.run();
    assert.deepEqual(done, [0, 1]);
  });

  test('fails when a process waits for something else, or moves out of its turn', async () => {
    const waiting = new Scheduler({ choose: () => 0, time: time() });
    waiting.add('A', () => new Promise(() => {}));
    await assert.rejects(waiting.run(), (error) => {
      return error instanceof ScheduleFailure && error.message === 'A waits for something that is not a gate';
    });
    const moving = new Scheduler({ choose: (alternatives) => alternatives.length - 1, time: time() });
    moving.add('A', async (process) => {
      await process.pass(() => 'a call');
      await late;
    });
    moving.add('B', async (process) => {
      late = setTimeout(1).then(() => process.pass(() => 'out of turn'));
      late.catch(() => {});
      await process.pass(() => 'a call');
    });
    let late: Promise<void> | undefined;
    moving.add('C', () => setTimeout(5));
    await assert.rejects(moving.run(), /B moves while another process is let go on/);
  });
});

suite('An exploration that leaves out schedules which arrive at a known state', () => {
  for (const name of ['B ', 'T2', 'Eb2', 'I3'])
    test(`ends in the same worlds as one that runs all, in ${name.trim()}`, async () => {
      const scenario = SUITES.ledger!.find((one) => one.name.startsWith(name))!;
      const [all, some] = [new Set<string>(), new Set<string>()];
      const ofAll = await explore(scenario, { costMax: 1, runsAll: true, sound: all });
      const ofSome = await explore(scenario, { costMax: 1, sound: some });
      assert.deepEqual([ofAll.costDone, ofSome.costDone], [1, 1]);
      assert.deepEqual([...some].sort(), [...all].sort());
      assert.ok(ofSome.schedules <= ofAll.schedules);
    });
});
