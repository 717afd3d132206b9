import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { fromUtf8, seededRandom, utf8 } from '../base/index.ts';
import { Runs } from './runs.ts';

const A = { name: 'main/a.warc.gz', sequence: 3 };
const B = { name: 'main/b.warc.gz', sequence: 9 };

/** A segment as the test knows it: for each record its bytes, and where it was first written to. */
type Known = { readonly offset: number; readonly bytes: number; readonly root: string; readonly rootOffset: number };

suite('Runs', () => {
  test('say where a record of a replacement was first written to, and where a first place is now', () => {
    const runs = new Runs();
    const before = Runs.ofRoot(A, 1000);
    runs.add(before, { from: 100, offset: 50, bytes: 100, isAnew: false });
    runs.add(before, { from: 200, offset: 150, bytes: 100, isAnew: false });
    runs.add(before, { from: 400, offset: 250, bytes: 700, isAnew: true });
    runs.add(before, { from: 500, offset: 950, bytes: 50, isAnew: false });
    assert.equal(runs.length, 3);
    assert.deepEqual(runs.roots, [A]);
    assert.deepEqual(runs.rootOf(150), { root: A.name, sequence: 3, offset: 200 });
    assert.deepEqual(runs.rootOf(250), { root: A.name, sequence: 3, offset: 400 });
    assert.equal(runs.rootOf(300), undefined);
    assert.equal(runs.rootOf(0), undefined);
    assert.deepEqual(runs.rootOf(950), { root: A.name, sequence: 3, offset: 500 });
    assert.deepEqual(runs.currentOf(A.name, 200), { offset: 150, isSame: true });
    assert.deepEqual(runs.currentOf(A.name, 0), { offset: 50, isSame: false });
    assert.deepEqual(runs.currentOf(A.name, 300), { offset: 250, isSame: false });
    assert.deepEqual(runs.currentOf(A.name, 401), { offset: 950, isSame: false });
    assert.equal(runs.currentOf(A.name, 550), undefined);
    assert.equal(runs.currentOf(B.name, 0), undefined);
  });

  test('keep the segments apart that one replacement replaces', () => {
    const runs = new Runs();
    runs.add(Runs.ofRoot(A, 300), { from: 200, offset: 10, bytes: 100, isAnew: false });
    runs.add(Runs.ofRoot(B, 300), { from: 100, offset: 110, bytes: 200, isAnew: false });
    assert.deepEqual(runs.roots, [A, B]);
    assert.equal(runs.length, 2);
    assert.equal(runs.currentOf(A.name, 300), undefined, 'what follows is of another root');
    assert.deepEqual(runs.currentOf(B.name, 0), { offset: 110, isSame: false });
    assert.deepEqual(runs.sectionOf(A.name), { offset: 10, next: 110 });
    assert.deepEqual(runs.sectionOf(B.name), { offset: 110, next: undefined });
    assert.equal(runs.sectionOf('main/c.warc.gz'), undefined);
    assert.deepEqual(Runs.ofRoot(A, 300).sectionOf(A.name), { offset: 0, next: undefined });
  });

  test('leave out a record that has no root: the runs record of the replaced segment', () => {
    const before = new Runs();
    before.add(Runs.ofRoot(A, 300), { from: 100, offset: 10, bytes: 100, isAnew: false });
    assert.ok(!new Runs().add(before, { from: 110, offset: 10, bytes: 50, isAnew: false }));
  });

  test('are written and read as a record and as a note', () => {
    const runs = new Runs();
    runs.add(Runs.ofRoot(A, 300), { from: 200, offset: 10, bytes: 100, isAnew: false });
    runs.add(Runs.ofRoot(B, 2 ** 41), { from: 2 ** 40, offset: 2 ** 40, bytes: 200, isAnew: true });
    assert.equal(
      fromUtf8(runs.format()),
      '{"version":1,"roots":[["main/a.warc.gz",3],["main/b.warc.gz",9]],"runs":[\n[0,200,10,100],\n[1,1099511627776,1099511627776,1]]}\n',
    );
    JSON.parse(fromUtf8(runs.format()));
    assert.deepEqual([...Runs.parse(runs.format())!], [...runs]);
    assert.deepEqual([...Runs.parseNote(runs.toNote())!], [...runs]);
    const none = new Runs();
    assert.equal(fromUtf8(none.format()), '{"version":1,"roots":[],"runs":[]}\n');
    assert.deepEqual([...Runs.parse(none.format())!], []);
    assert.deepEqual([...Runs.parseNote(none.toNote())!], []);
  });

  test('are refused when they are damaged', () => {
    const text = (runs: string, roots = '[["main/a",3],["main/b",9]]', version = '1') =>
      `{"version":${version},"roots":${roots},"runs":[${runs}]}`;
    assert.ok(Runs.parse(utf8(text('[0,0,10,5],[0,5,20,5],[1,0,30,1]'))));
    const damaged = [
      '',
      '{}',
      text('[0,0,10,5],[1,0,30,1]').slice(0, -2),
      text('[0,0,10,5],[1,0,30,1]', '[["main/a",3]]'),
      text('[0,0,10,5]'),
      text('[1,0,10,5],[0,0,30,1]'),
      text('[0,0,10,5],[0,4,20,5],[1,0,30,1]'),
      text('[0,0,10,5],[0,5,14,5],[1,0,30,1]'),
      text('[0,0,10,0],[1,0,30,1]'),
      text('[0,0,10,5,1],[1,0,30,1]'),
      text('[0,0,10,-5],[1,0,30,1]'),
      text('[0,0,10,5],,[1,0,30,1]'),
      text('[0,0,10,5] [1,0,30,1]'),
      text('[0,0,10,5],[1,0,30,1]', '[["main/a",3],["main/a",9]]'),
      text('[0,0,10,5],[1,0,30,1]', '[["main/a",3],["../b",9]]'),
      text('[0,0,10,5],[1,0,30,1]', undefined, '2'),
    ];
    for (const block of damaged) assert.equal(Runs.parse(utf8(block)), undefined, block);
    const note = Runs.parse(utf8(text('[0,0,10,5],[1,0,30,1]')))!.toNote();
    assert.ok(Runs.parseNote(note));
    for (const one of ['', 'x', note.slice(0, 20), `A${note}`]) assert.equal(Runs.parseNote(one), undefined, one);
  });

  test('compose over any number of replacements and merges', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = seededRandom(seed);
      const upTo = (most: number) => 1 + Math.floor(random() * most);
      const begin = (root: typeof A): { known: Known[]; runs: Runs } => {
        const known: Known[] = [];
        let offset = 0;
        for (let count = upTo(12); count > 0; count--) {
          const bytes = 1 + upTo(400);
          known.push({ offset, bytes, root: root.name, rootOffset: offset });
          offset += bytes;
        }
        return { known, runs: Runs.ofRoot(root, offset) };
      };
      let segments = [begin(A), begin(B)];
      for (let round = 0; round < 5; round++) {
        const merges = segments.length > 1 && random() < 0.3;
        segments = (merges ? [segments] : segments.map((segment) => [segment])).map((olds) => {
          const runs = new Runs();
          const known: Known[] = [];
          let offset = upTo(100);
          for (const old of olds)
            for (const record of old.known) {
              if (random() < 0.3) {
                if (random() < 0.3) offset += upTo(50);
                continue;
              }
              const isAnew = random() < 0.3;
              const bytes = isAnew ? 1 + upTo(800) : record.bytes;
              assert.ok(runs.add(old.runs, { from: record.offset, offset, bytes, isAnew }), `seed ${seed}`);
              known.push({ ...record, offset, bytes });
              offset += bytes;
            }
          return { known, runs: Runs.parseNote(Runs.parse(runs.format())!.toNote())! };
        });
      }
      for (const { known, runs } of segments)
        for (const { offset, root, rootOffset } of known) {
          assert.equal(runs.rootOf(offset)?.root, root, `seed ${seed}`);
          assert.equal(runs.rootOf(offset)?.offset, rootOffset, `seed ${seed}`);
          assert.deepEqual(runs.currentOf(root, rootOffset), { offset, isSame: true }, `seed ${seed}`);
        }
    }
  });
});
