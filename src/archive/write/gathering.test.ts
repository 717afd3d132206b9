import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Gathering } from './gathering.ts';

type Item = { readonly name: string; readonly isPatient: boolean };

const patient = (name: string): Item => ({ name, isPatient: true });
const impatient = (name: string): Item => ({ name, isPatient: false });

function begin(...items: Item[]): { gathering: Gathering<Item>; isOver: () => Promise<boolean> } {
  const gathering = new Gathering<Item>(({ isPatient }) => isPatient);
  for (const item of items) gathering.add(item);
  let isOver = false;
  void gathering.gather().then(() => {
    isOver = true;
  });
  return { gathering, isOver: () => new Promise((resolve) => setImmediate(() => resolve(isOver))) };
}

test.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
test.afterEach(() => mock.timers.reset());

test('nobody waits with one who is impatient, whoever came first', async () => {
  assert.equal(await begin(impatient('a')).isOver(), true);
  assert.equal(await begin(patient('a'), impatient('b')).isOver(), true);
  const { gathering, isOver } = begin(patient('a'));
  assert.equal(await isOver(), false);
  gathering.add(impatient('b'));
  assert.equal(await isOver(), true);
});

test('the patient are waited for as long as others keep coming, but not without end', async () => {
  const { gathering, isOver } = begin(patient('first'));
  let came = 0;
  while (!(await isOver())) {
    assert.ok(came < 100, 'the wait ends');
    gathering.add(patient(`later ${came++}`));
    mock.timers.tick(2);
  }
  assert.ok(came > 1, 'several were waited for');
});

test('a pause in which nobody comes ends the wait', async () => {
  const { isOver } = begin(patient('a'));
  assert.equal(await isOver(), false);
  mock.timers.tick(2);
  assert.equal(await isOver(), true);
});

test('enough of them do not wait for more, nor does anybody once there is a hurry', async () => {
  const many = Array.from({ length: 1000 }, (_, index) => patient(String(index)));
  assert.equal(await begin(...many).isOver(), true);
  const { gathering, isOver } = begin(patient('a'));
  assert.equal(await isOver(), false);
  gathering.hurry();
  assert.equal(await isOver(), true);
});

test('they are taken in order, and who was taken is not waited with any more', async () => {
  const { gathering } = begin(impatient('a'), patient('b'), patient('c'));
  assert.deepEqual(
    gathering.take(2).map(({ name }) => name),
    ['a', 'b'],
  );
  assert.equal(gathering.size, 1);
  let isOver = false;
  void gathering.gather().then(() => {
    isOver = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isOver, false);
});
