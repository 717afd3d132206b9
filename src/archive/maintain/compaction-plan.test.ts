import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { BlockKey, Capture } from '../../catalog/index.ts';
import { urlKey } from '../../url/index.ts';
import { RecordHead } from '../../warc/index.ts';
import { blockId } from '../revisit/catalog-draft.ts';
import { type DeadRecords, HolderChoice, planRewrite, pointsAt, type RewriteWish } from './compaction-plan.ts';

function contentOf(name: string): BlockKey {
  return { digest: createHash('sha256').update(name).digest(), overflow: 0 };
}

const SHARED = contentOf('shared');
const OTHER = contentOf('other');

function captureAt(offset: number, changes: Partial<Capture> = {}): Capture {
  const url = `http://a.test/${offset}`;
  const place = { segment: 1, offset, length: 10 };
  const facts = {
    kind: 'revisit',
    collection: 1,
    status: 200,
    mime: 'text/html',
    block: SHARED,
    hash: offset,
  } as const;
  return { urlKey: urlKey(url), url, time: offset, place, ...facts, ...changes };
}

/** The offsets that are appointed, and those that are promoted in each segment. */
function chosen(candidates: readonly (readonly [capture: Capture, isRewritable: boolean])[]) {
  const choice = new HolderChoice();
  for (const [capture, isRewritable] of candidates) choice.consider(blockId(capture.block!), capture, isRewritable);
  return {
    appointed: choice.appointments().map(([, { place }]) => place.offset),
    promoted: [...choice.promotions()].map(([segment, contents]) => [segment, [...contents.keys()]]),
  };
}

test('a full record is preferred to earlier revisits, even if its segment cannot be written anew', () => {
  const full = captureAt(90, { kind: 'response' });
  assert.deepEqual(
    chosen([
      [captureAt(10), true],
      [full, false],
      [captureAt(20), true],
    ]),
    { appointed: [90], promoted: [] },
  );
});

test('of several revisits, the earliest that is not a "not modified" reply is promoted', () => {
  const candidates = [captureAt(10, { status: 304 }), captureAt(30), captureAt(20)];
  const inEveryOrder = [candidates, candidates.toReversed()];
  for (const order of inEveryOrder)
    assert.deepEqual(chosen(order.map((capture) => [capture, true])), { appointed: [], promoted: [[1, [20]]] });
});

test('a "not modified" revisit is promoted when there is no other survivor', () => {
  assert.deepEqual(chosen([[captureAt(10, { status: 304 }), true]]), { appointed: [], promoted: [[1, [10]]] });
});

test('a revisit in a segment that cannot be written anew is not promoted', () => {
  assert.deepEqual(chosen([[captureAt(10), false]]), { appointed: [], promoted: [] });
});

test('each content gets its own holder; promotions are grouped by segment', () => {
  const elsewhere = { place: { segment: 2, offset: 50, length: 10 } };
  const third = captureAt(50, { block: contentOf('third'), ...elsewhere });
  assert.deepEqual(
    chosen([
      [captureAt(10), true],
      [captureAt(20, { block: OTHER }), true],
      [third, true],
    ]),
    {
      appointed: [],
      promoted: [
        [1, [10, 20]],
        [2, [50]],
      ],
    },
  );
});

/** A segment with deleted records at 100 to 300. The one at 100 still holds its content. */
const DEAD: DeadRecords = {
  deleted: new Map([
    [100, { offset: 100, block: SHARED }],
    [200, { offset: 200, block: OTHER }],
    [300, { offset: 300, block: undefined }],
  ]),
  holding: new Set([100]),
};

/** The offsets that a plan drops, keeps dead, promotes, repoints and shares. */
function planned(wish: RewriteWish, dead = DEAD) {
  const plan = planRewrite(dead, wish);
  return (
    plan && Object.values(plan).map((part: ReadonlySet<number> | ReadonlyMap<number, unknown>) => [...part.keys()])
  );
}

test('I5 No capture loses its content: a deleted record that holds a content is not dropped', () => {
  assert.deepEqual(planned({ drop: [100, 200, 300] }), [[200, 300], [100], [], [], []]);
  assert.equal(planned({ drop: [100] }), undefined);
});

test('a deleted record stays while revisits in other segments may point at it', () => {
  const mayBePointedAt = new Map([[blockId(OTHER), OTHER]]);
  assert.deepEqual(planned({ drop: [200, 300], mayBePointedAt }), [[300], [100, 200], [], [], []]);
});

test('only deleted records are dropped', () => {
  assert.equal(planned({ drop: [400] }), undefined);
  assert.deepEqual(planned({ drop: [300, 400] }), [[300], [100, 200], [], [], []]);
});

test('a record that was deleted meanwhile is neither promoted nor repointed nor shared', () => {
  const referent = { refersTo: '<urn:one>', refersToTargetUri: 'http://a.test/', refersToDate: '2026-01-01T00:00:00Z' };
  const promote = new Map([
    [200, OTHER],
    [500, SHARED],
  ]);
  const repoint = new Map([
    [300, referent],
    [600, referent],
  ]);
  const share = new Map([
    [100, []],
    [700, []],
  ]);
  assert.deepEqual(planned({ promote, repoint, share }), [[], [100, 200, 300], [500], [600], [700]]);
  assert.equal(planned({ promote: new Map([[200, OTHER]]), repoint: new Map([[300, referent]]) }), undefined);
});

test('an empty wish gives no plan', () => {
  assert.equal(planned({}), undefined);
  assert.equal(planned({ drop: [], promote: new Map(), repoint: new Map() }), undefined);
});

test('a revisit points at a record when it has its URI and its date', () => {
  const head = (uri: string, date: string) =>
    new RecordHead(
      'warc',
      '1.1',
      [
        { name: 'WARC-Refers-To-Target-URI', value: uri },
        { name: 'WARC-Refers-To-Date', value: date },
      ],
      new Uint8Array(0),
    );
  const referent = { refersTo: undefined, refersToTargetUri: 'http://a.test/', refersToDate: '2026-01-01T00:00:00Z' };
  assert.ok(pointsAt(head('http://a.test/', '2026-01-01T00:00:00Z'), referent));
  assert.ok(!pointsAt(head('http://a.test/', '2026-01-02T00:00:00Z'), referent));
  assert.ok(!pointsAt(head('http://b.test/', '2026-01-01T00:00:00Z'), referent));
});
