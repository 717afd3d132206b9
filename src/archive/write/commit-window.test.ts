import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { CommitWindow } from './commit-window.ts';

type Item = { readonly name: string; readonly mayWait: boolean };

const waiting = (name: string): Item => ({ name, mayWait: true });
const urgent = (name: string): Item => ({ name, mayWait: false });

function begin(...items: Item[]): { window: CommitWindow<Item>; isOver: () => Promise<boolean> } {
  const window = new CommitWindow<Item>(({ mayWait }) => mayWait);
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
