import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { concat, type Finding, utf8 } from '../../base/index.ts';
import { exactRange, type LineRange, prefixRange } from './cdx-search.ts';
import { MemoryByteSource } from './wacz-source.ts';
import { parseZipNumLine, writeZipNum, ZipNumReader, zipNumHeader } from './zipnum.ts';

async function built(lines: readonly string[], linesPerBlock: number) {
  const blocks: Uint8Array[] = [];
  let index = zipNumHeader('index.cdx.gz');
  for await (const { bytes, indexLine } of writeZipNum(lines, { linesPerBlock })) {
    blocks.push(bytes);
    index += indexLine;
  }
  return { data: concat(blocks), index, blocks };
}

function readerOf(index: string, data: Uint8Array) {
  const findings: Finding[] = [];
  const asked = { blocks: 0 };
  const source = new MemoryByteSource('index.cdx.gz', data);
  const reader = new ZipNumReader({
    index: async function* () {
      yield utf8(index);
    },
    file: 'index.idx',
    openPart: async (part) => {
      asked.blocks++;
      return part === 'index.cdx.gz' ? source : undefined;
    },
    onFinding: (finding) => findings.push(finding),
  });
  return { reader, findings, asked };
}

async function linesOf(reader: ZipNumReader, range?: LineRange): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of reader.lines(range)) lines.push(line);
  return lines;
}

const LINES = Array.from(
  { length: 1000 },
  (_, i) => `com,example)/${String(i >> 2).padStart(4, '0')} ${20240301100000 + i} {"i": ${i}}`,
);

test('blocks and secondary index have the form of the WACZ standard', async () => {
  const { index, data, blocks } = await built(LINES.slice(0, 5), 2);
  const [header, first, second] = index.split('\n');
  assert.equal(header, '!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}');
  assert.match(
    first!,
    /^com,example\)\/0000 20240301100000 \{"offset": 0, "length": \d+, "digest": "sha256:[0-9a-f]{64}"\}$/,
  );
  assert.match(second!, new RegExp(`^com,example\\)/0000 20240301100002 \\{"offset": ${blocks[0]!.length}, `));
  assert.equal(gunzipSync(data).toString(), `${LINES.slice(0, 5).join('\n')}\n`);
});

test('a key whose lines begin in the block before is found from its first line', async () => {
  const { index, data } = await built(LINES, 3);
  const { reader, findings } = readerOf(index, data);
  for (const key of ['0000', '0007', '0100', '0249']) {
    const urlKey = `com,example)/${key}`;
    assert.deepEqual(
      await linesOf(reader, exactRange(urlKey)),
      LINES.filter((line) => line.startsWith(`${urlKey} `)),
    );
  }
  assert.deepEqual(await linesOf(reader, exactRange('com,example)/9999')), []);
  assert.deepEqual(await linesOf(reader), LINES);
  assert.deepEqual(findings, []);
});

test('a search opens only the blocks that can contain its lines', async () => {
  const { index, data } = await built(LINES, 10);
  const { reader, asked } = readerOf(index, data);
  await linesOf(reader, exactRange('com,example)/0100'));
  assert.ok(asked.blocks <= 2, `${asked.blocks} blocks`);
});

test('many captures of one key over many blocks are all found', async () => {
  const lines = Array.from({ length: 100 }, () => 'com,a)/ 20240301100000 {}');
  const { index, data } = await built(['com,0)/ 20240301100000 {}', ...lines, 'com,b)/ 20240301100000 {}'], 7);
  assert.equal((await linesOf(readerOf(index, data).reader, exactRange('com,a)/'))).length, 100);
});

test('a search finds the same lines as a filter, for any sorted lines, block size and prefix', async () => {
  const line = fc.stringMatching(/^[a-d]{1,3} [0-9]{2} \{\}$/);
  await fc.assert(
    fc.asyncProperty(
      fc.array(line),
      fc.integer({ min: 1, max: 5 }),
      fc.stringMatching(/^[a-d]{1,2}$/),
      async (lines, size, prefix) => {
        const sorted = lines.toSorted();
        const { index, data } = await built(sorted, size);
        assert.deepEqual(
          await linesOf(readerOf(index, data).reader, prefixRange(prefix)),
          sorted.filter((text) => text.startsWith(prefix)),
        );
      },
    ),
    { numRuns: 60 },
  );
});

test('the classic form is read too', async () => {
  const blocks = [LINES.slice(0, 10), LINES.slice(10, 20)].map((lines) => gzipSync(`${lines.join('\n')}\n`));
  const offsets = [0, blocks[0]!.length];
  const index = blocks
    .map(
      (block, i) =>
        `${LINES[i * 10]!.split(' ').slice(0, 2).join(' ')}\tindex.cdx.gz\t${offsets[i]}\t${block.length}\t${i + 1}\n`,
    )
    .join('');
  const { reader, findings } = readerOf(index, concat(blocks));
  assert.deepEqual(await linesOf(reader), LINES.slice(0, 20));
  assert.deepEqual(await linesOf(reader, exactRange('com,example)/0002')), LINES.slice(8, 12));
  assert.deepEqual(findings, []);
});

test('a damaged block, a missing part and a malformed line are reported, and the other blocks are read', async () => {
  const { index, data, blocks } = await built(LINES.slice(0, 30), 10);
  const broken = data.slice();
  broken.fill(0, blocks[0]!.length + 12, blocks[0]!.length + blocks[1]!.length);
  const { reader, findings } = readerOf(
    `${index}senseless\nzzz 1 {"offset": 0, "length": 9, "filename": "gone.gz"}\n`,
    broken,
  );
  const lines = await linesOf(reader);
  assert.deepEqual(lines.slice(0, 10), LINES.slice(0, 10));
  assert.deepEqual(lines.slice(-10), LINES.slice(20, 30));
  const codes = new Set(findings.map(({ code }) => code));
  for (const code of ['zipnum-block-digest', 'zipnum-block-damaged', 'zipnum-line-unknown', 'zipnum-part-missing']) {
    assert.ok(codes.has(code), code);
  }
});

test('the complete lines of a block that is cut off are used', async () => {
  const lines = Array.from({ length: 2000 }, (_, i) => `k${String(i).padStart(5, '0')} 1 ${Math.sin(i)}`);
  const { index, data } = await built(lines, 2000);
  const { reader, findings } = readerOf(index, data.subarray(0, data.length / 2));
  const read = await linesOf(reader);
  assert.ok(read.length > 500 && read.length < 2000, `${read.length} lines`);
  assert.deepEqual(read, lines.slice(0, read.length));
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['zipnum-block-cut', 'zipnum-block-digest', 'zipnum-block-damaged'],
  );
});

test('a block that is declared as huge, or inflates to a huge size, is not read into memory (I9)', async () => {
  const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024));
  const index = `a 1 {"offset": 0, "length": ${bomb.length}}\nb 1 {"offset": 0, "length": 99999999999}\n`;
  const { reader, findings } = readerOf(zipNumHeader('index.cdx.gz') + index, bomb);
  assert.deepEqual(await linesOf(reader), []);
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['zipnum-block-damaged', 'zipnum-block-large'],
  );
});

test('lines of neither form are refused', () => {
  assert.equal(parseZipNumLine('a 1\tpart\tx\t1', ''), undefined);
  assert.equal(parseZipNumLine('a 1 {"offset": -1, "length": 2}', ''), undefined);
  assert.equal(parseZipNumLine('a 1 {"offset"', ''), undefined);
});
