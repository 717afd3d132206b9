import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block } from '../../catalog/index.ts';
import { type ContentFacts, type Decision, decide, type Question } from './decide.ts';

const SIZE = 5000;

function block(overflow: number, size = SIZE): Block {
  const holder = { segment: 1, offset: 100 + overflow, length: 10 };
  return { key: { digest: new Uint8Array(32).fill(7), overflow }, size, holder, references: 1 };
}

/** The decision about a record that is still to be written. */
function stored(facts: Partial<ContentFacts>): string {
  return text(decide({ size: SIZE, blocks: [], isShareable: true, sharedBytesMin: 0, ...facts }));
}

/** The decision about a record that is copied, with its overflow number. */
function copied(number: number, facts: Partial<ContentFacts>): string {
  return stored({ number, isShareable: false, ...facts });
}

function text(decision: Decision | Question): string {
  if ('blocks' in decision) return `${decision.kind} ${decision.blocks.map(({ key }) => key.overflow)}`;
  return `${decision.kind} ${'block' in decision ? decision.block.key.overflow : decision.overflow}`;
}

test('a content without a block of its digest is new', () => {
  assert.equal(stored({}), 'new 0');
  assert.equal(stored({ mode: 'compare' }), 'new 0');
  assert.equal(stored({ mode: 'force-new' }), 'new 0');
  assert.equal(copied(0, {}), 'new 0');
  assert.equal(copied(3, {}), 'new 3');
});

test('a held content becomes a revisit when its holder can be read and the revisit is smaller', () => {
  const blocks = [block(0)];
  assert.equal(stored({ blocks }), 'readable? 0');
  assert.equal(stored({ blocks, isReadable: true }), 'worth? 0');
  assert.equal(stored({ blocks, isReadable: true, isWorth: true }), 'revisit 0');
  assert.equal(stored({ blocks, isReadable: true, isWorth: false }), 'held 0');
});

test('a content whose holder cannot be read is lost, and no revisit refers to it', () => {
  const blocks = [block(0)];
  assert.equal(stored({ blocks, isReadable: false }), 'lost 0');
  assert.equal(stored({ blocks, isReadable: false, isWorth: true }), 'lost 0');
  assert.equal(copied(0, { blocks, isReadable: false }), 'lost 0');
});

test('empty and very small contents are held without a question', () => {
  assert.equal(stored({ size: 0, blocks: [block(0, 0)] }), 'held 0');
  assert.equal(stored({ size: 10, blocks: [block(0, 10)] }), 'held 0');
});

test('the policy of the archive can only raise the size from which contents are shared', () => {
  const blocks = [block(0)];
  assert.equal(stored({ blocks, sharedBytesMin: SIZE, isReadable: true, isWorth: true }), 'revisit 0');
  assert.equal(stored({ blocks, sharedBytesMin: SIZE + 1, isReadable: true, isWorth: true }), 'held 0');
});

test('a record that cannot become a revisit is held', () => {
  assert.equal(copied(0, { blocks: [block(0)] }), 'held 0');
});

test('a content of another size is a collision with the next number', () => {
  const other = block(0, SIZE + 1);
  assert.equal(stored({ blocks: [other] }), 'collision 1');
  assert.equal(stored({ blocks: [other, block(4, SIZE + 2)] }), 'collision 5');
  assert.equal(stored({ blocks: [other, block(4)], isReadable: true, isWorth: true }), 'revisit 4');
  assert.equal(stored({ blocks: [block(4), block(0)], isReadable: true, isWorth: true }), 'revisit 0');
});

test('mode force-new never finds an equal block', () => {
  assert.equal(stored({ mode: 'force-new', blocks: [block(0)] }), 'collision 1');
});

test('mode compare asks for the block with the same bytes', () => {
  const blocks = [block(0, SIZE + 1), block(1), block(2)];
  const compared = { mode: 'compare', blocks } as const;
  assert.equal(stored(compared), 'same? 1,2');
  assert.equal(stored({ ...compared, same: 'none' }), 'collision 3');
  assert.equal(stored({ ...compared, same: blocks[2] }), 'readable? 2');
  assert.equal(stored({ ...compared, blocks: [blocks[0]!] }), 'collision 1');
});

test('a content that the server says is unmodified becomes a revisit without a question', () => {
  const unmodified = block(0);
  assert.equal(stored({ unmodified, size: 0 }), 'revisit 0');
  assert.equal(stored({ unmodified, size: 0, mode: 'force-new' }), 'revisit 0');
});

test('the overflow number of a record names its block', () => {
  assert.equal(copied(1, { blocks: [block(0), block(1)] }), 'held 1');
  assert.equal(copied(2, { blocks: [block(0), block(1)] }), 'collision 2');
  assert.equal(copied(1, { blocks: [block(0), block(1, SIZE + 1)] }), 'collision 2');
});

test('a copied record without a number is the first content of its digest', () => {
  assert.equal(copied(0, { blocks: [block(1)] }), 'new 0');
  assert.equal(copied(0, { blocks: [block(1, SIZE + 1)] }), 'collision 0');
  assert.equal(copied(0, { blocks: [block(0, SIZE + 1)] }), 'collision 1');
  // A revisit in its place can name the number.
  assert.equal(copied(0, { blocks: [block(1)], isShareable: true, isReadable: true, isWorth: true }), 'revisit 1');
  assert.equal(stored({ blocks: [block(1)], isReadable: true, isWorth: false }), 'held 1');
});
