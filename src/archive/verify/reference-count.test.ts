import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { type Block, type BlockKey, type Capture, MemoryCatalog } from '../../catalog/index.ts';
import { urlKey } from '../../url/index.ts';
import { ReferenceCount, type WrongCount } from './reference-count.ts';

function keyOf(number: number, overflow = 0): BlockKey {
  return { digest: createHash('sha256').update(String(number)).digest(), overflow };
}

function captureOf(number: number, block: BlockKey): Capture {
  const url = `http://a.test/${number}`;
  const place = { segment: 1, offset: number, length: 1 };
  return {
    urlKey: urlKey(url),
    time: number,
    place,
    url,
    kind: 'response',
    collection: 1,
    status: 200,
    mime: 'text/html',
    block,
    hash: number,
  };
}

function blockOf(key: BlockKey, references: number): Block {
  return { key, size: 1, holder: { segment: 1, offset: 0, length: 1 }, references };
}

/**
 * 300 contents, where content n has n % 4 + 1 captures. Every fifth collides with a second content, which has the same
 * digest and one capture.
 */
function sample(): { captures: Capture[]; blocks: Block[] } {
  const captures: Capture[] = [];
  const blocks: Block[] = [];
  const add = (key: BlockKey, references: number) => {
    blocks.push(blockOf(key, references));
    for (let count = 0; count < references; count++) captures.push(captureOf(captures.length, key));
  };
  for (let number = 0; number < 300; number++) {
    add(keyOf(number), (number % 4) + 1);
    if (number % 5 === 0) add(keyOf(number, 1), 1);
  }
  return { captures, blocks };
}

/** A catalog whose blocks have other references than it would count. */
class WrongCatalog extends MemoryCatalog {
  readonly #blocks: readonly Block[];

  constructor(blocks: readonly Block[]) {
    super({ clock: () => 0 });
    this.#blocks = blocks;
  }

  override async *blocks(): AsyncGenerator<Block[]> {
    yield [...this.#blocks];
  }
}

async function wrongOf(captures: readonly Capture[], blocks: readonly Block[]): Promise<WrongCount[]> {
  const catalog = new WrongCatalog(blocks);
  await catalog.commit({ captures: captures.map((capture) => ({ capture })) });
  const count = new ReferenceCount();
  for (const capture of captures) count.addCapture(capture);
  for (const block of blocks) count.addBlock(block);
  return Array.fromAsync(count.wrong(catalog));
}

test('no count is reported when all counts are correct', async () => {
  const { captures, blocks } = sample();
  assert.deepEqual(await wrongOf(captures, blocks), []);
});

test('exactly the counts that are one too high or too low are reported', async () => {
  const { captures, blocks } = sample();
  for (const index of [0, 1, 77, blocks.length - 1]) {
    for (const by of [1, -1]) {
      const wrong = blocks.map((block, at) => (at === index ? { ...block, references: block.references + by } : block));
      const [found, ...others] = await wrongOf(captures, wrong);
      assert.deepEqual([found!.recorded, found!.counted], [blocks[index]!.references + by, blocks[index]!.references]);
      assert.deepEqual(others, []);
    }
  }
});

test('two counts that are wrong by the same amount in opposite directions do not hide each other', async () => {
  const { captures, blocks } = sample();
  const wrong = blocks.map((block, at) => {
    if (at === 10) return { ...block, references: block.references + 1 };
    return at === 20 ? { ...block, references: block.references - 1 } : block;
  });
  assert.equal((await wrongOf(captures, wrong)).length, 2);
});

test('a content that captures refer to but the catalog lacks is reported with some of their URLs', async () => {
  const { captures, blocks } = sample();
  const [found, ...others] = await wrongOf(
    captures,
    blocks.filter((_, at) => at !== 4),
  );
  assert.equal(found!.recorded, undefined);
  assert.equal(found!.counted, blocks[4]!.references);
  assert.match(found!.examples[0]!, /^http:\/\/a\.test\//);
  assert.deepEqual(others, []);
});
