import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { type CommitPace, CommitWindow, DISK_PACE, OBJECT_PACE } from './commit-window.ts';

type Item = { readonly name: string; readonly mayWait: boolean };

const waiting = (name: string): Item => ({ name, mayWait: true });
const urgent = (name: string): Item => ({ name, mayWait: false });

type Begun = { readonly window: CommitWindow<Item>; readonly isOver: () => Promise<boolean> };

function begin(...items: Item[]): Begun {
  return beginWith(DISK_PACE, items);
}

/** Every item has a megabyte. */
function beginWith(pace: CommitPace, items: readonly Item[]): Begun {
  const window = new CommitWindow<Item>({
    mayWait: ({ mayWait }) => mayWait,
    bytesOf: () => 2 ** 20,
    pace: () => pace,
  });
  for (const item of items) window.add(item);
  let isOver = false;
  void window.gather().then(() => {
    isOver = true;
  });
  return { window, isOver: () => new Promise((resolve) => setImmediate(() => resolve(isOver))) };
}

test.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
test.afterEach(() => mock.timers.reset());

test('an item that may not wait ends the wait for all items, in whatever order they arrive', async () => {
  assert.equal(await begin(urgent('a')).isOver(), true);
  assert.equal(await begin(waiting('a'), urgent('b')).isOver(), true);
  const { window, isOver } = begin(waiting('a'));
  assert.equal(await isOver(), false);
  window.add(urgent('b'));
  assert.equal(await isOver(), true);
});

test('waiting continues while others arrive, up to a limit', async () => {
  const { window, isOver } = begin(waiting('first'));
  let came = 0;
  while (!(await isOver())) {
    assert.ok(came < 100, 'the wait ends');
    window.add(waiting(`later ${came++}`));
    mock.timers.tick(2);
  }
  assert.ok(came > 1, 'several arrived meanwhile');
});

test('a pause without an arrival ends the wait', async () => {
  const { isOver } = begin(waiting('a'));
  assert.equal(await isOver(), false);
  mock.timers.tick(2);
  assert.equal(await isOver(), true);
});

test('a full batch does not wait, and a flush ends all waiting', async () => {
  const many = Array.from({ length: 1000 }, (_, index) => waiting(String(index)));
  assert.equal(await begin(...many).isOver(), true);
  const { window, isOver } = begin(waiting('a'));
  assert.equal(await isOver(), false);
  window.flush();
  assert.equal(await isOver(), true);
});

test('behind objects, items wait longer, and at most until there are 8 MiB', async () => {
  const { window, isOver } = beginWith(OBJECT_PACE, [waiting('a')]);
  mock.timers.tick(20);
  assert.equal(await isOver(), false);
  for (let more = 0; more < 6; more++) window.add(waiting(`more ${more}`));
  assert.equal(await isOver(), false);
  window.add(waiting('the last'));
  assert.equal(await isOver(), true);
});

test('items are taken in order, and taken items do not end later waits', async () => {
  const { window } = begin(urgent('a'), waiting('b'), waiting('c'));
  assert.deepEqual(
    window.take(2).map(({ name }) => name),
    ['a', 'b'],
  );
  assert.equal(window.size, 1);
  let isOver = false;
  void window.gather().then(() => {
    isOver = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isOver, false);
});
