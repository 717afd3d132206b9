import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants, zstdCompressSync } from 'node:zlib';
import { seededRandom } from '../../base/index.ts';
import { ByteWindow } from './byte-window.ts';
import { dictionaryId } from './zstd-dictionary.ts';
import { dictionaryOfFile, parseFrameHead } from './zstd-frame.ts';
import { ZstdSource } from './zstd-source.ts';
import { trainDictionary } from './zstd-trainer.ts';

type Read = {
  text: string;
  frames: { offset: number; length: number | undefined; isDamaged: boolean; text: string }[];
  findings: string[];
};

function read(
  bytes: Buffer,
  pieceBytes = Number.POSITIVE_INFINITY,
  options: { offset?: number; dictionary?: Buffer; seek?: boolean } = {},
): Read {
  const findings: string[] = [];
  const offset = options.offset ?? 0;
  const source = new ZstdSource((code, at) => findings.push(`${code} ${at}`), options);
  const output = new ByteWindow(0, 16);
  let fed = offset;
  for (let pulls = 0; ; pulls++) {
    assert.ok(pulls < 100 + 10 * bytes.length, 'the source is in an endless loop');
    const result = source.pull(output);
    if (result === 'end') break;
    if (result === 'other') source.searchNext();
    if (result !== 'need-input') continue;
    assert.equal(source.isInputEnded, false, 'input is requested after its end');
    const piece = bytes.subarray(fed, fed + Math.min(pieceBytes, bytes.length));
    source.input.push(piece);
    fed += piece.length;
    if (piece.length === 0) source.isInputEnded = true;
  }
  source.close();
  const text = output.buffer.subarray(0, output.end).toString('latin1');
  const frames = source.members.map((member) => ({
    offset: member.offset,
    length: member.length,
    isDamaged: member.isDamaged,
    text: text.slice(member.from, member.to),
  }));
  return { text, frames, findings };
}

function record(number: number, bodyBytes = 200): string {
  const random = seededRandom(number);
  const words = ['archive', 'record', 'payload', 'digest', 'crawl', '<p>', '</p>'];
  let body = '';
  while (body.length < bodyBytes) body += `${words[Math.floor(random() * words.length)]}${Math.floor(random() * 100)} `;
  return `WARC/1.1\r\nWARC-Type: resource\r\nX-Number: ${number}\r\nContent-Length: ${body.length}\r\n\r\n${body}\r\n\r\n`;
}

const CHECKSUM = { [constants.ZSTD_c_checksumFlag]: 1 };

function frame(text: string, dictionary?: Buffer): Buffer {
  return zstdCompressSync(Buffer.from(text, 'latin1'), { params: CHECKSUM, ...(dictionary && { dictionary }) });
}

function skippable(content: Buffer, magic = 0x184d2a5d): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(magic, 0);
  head.writeUInt32LE(content.length, 4);
  return Buffer.concat([head, content]);
}

const samples = Array.from({ length: 60 }, (_, i) => Buffer.from(record(1000 + i)));
const dictionary = Buffer.from(trainDictionary(samples, { bytesMax: 4096, id: 40_000 })!);
const otherDictionary = Buffer.from(trainDictionary(samples.slice(7), { bytesMax: 2048, id: 50_000 })!);

test('frames without a dictionary are read with their exact places and lengths', () => {
  const [first, second] = [frame(record(1)), frame(record(2, 300_000))];
  for (const pieceBytes of [Number.POSITIVE_INFINITY, 1000]) {
    const { frames, findings } = read(Buffer.concat([first, second]), pieceBytes);
    assert.deepEqual(findings, []);
    assert.deepEqual(frames, [
      { offset: 0, length: first.length, isDamaged: false, text: record(1) },
      { offset: first.length, length: second.length, isDamaged: false, text: record(2, 300_000) },
    ]);
  }
});

test('the dictionary of the first frame is used for all other frames, whether the dictionary is compressed or not', () => {
  for (const first of [skippable(dictionary), skippable(zstdCompressSync(dictionary))]) {
    const bytes = Buffer.concat([first, frame(record(1), dictionary), frame(record(2), dictionary)]);
    for (const pieceBytes of [Number.POSITIVE_INFINITY, 1]) {
      const { frames, findings } = read(bytes, pieceBytes);
      assert.deepEqual(findings, []);
      assert.deepEqual(
        frames.map(({ text }) => text),
        [record(1), record(2)],
      );
      assert.equal(frames[0]!.offset, first.length);
    }
  }
});

test('reading from an offset uses the given dictionary', () => {
  const start = skippable(dictionary);
  const [first, second] = [frame(record(1), dictionary), frame(record(2), dictionary)];
  const bytes = Buffer.concat([start, first, second]);
  const offset = start.length + first.length;
  const { frames, findings } = read(bytes, 100, { offset, dictionary });
  assert.deepEqual(findings, []);
  assert.deepEqual(frames, [{ offset, length: second.length, isDamaged: false, text: record(2) }]);
});

test('reading from the middle of a file begins with the next record and has no findings', () => {
  const start = skippable(dictionary);
  const [first, second] = [frame(record(1), dictionary), frame(record(2), dictionary)];
  const bytes = Buffer.concat([start, first, second]);
  const { frames, findings } = read(bytes, 100, { offset: start.length + 5, dictionary, seek: true });
  assert.deepEqual(findings, []);
  assert.deepEqual(
    frames.map(({ offset }) => offset),
    [start.length + first.length],
  );
});

test('a frame that needs another dictionary is reported, and the other frames are read', () => {
  const bytes = Buffer.concat([
    skippable(dictionary),
    frame(record(1), dictionary),
    frame(record(2), otherDictionary),
    frame(record(3), dictionary),
  ]);
  const { frames, findings } = read(bytes);
  assert.deepEqual(
    findings.map((finding) => finding.split(' ')[0]),
    ['zstd-dictionary-missing', 'member-damaged'],
  );
  assert.equal(frames[0]!.text, record(1));
  assert.equal(frames.at(-1)!.text, record(3));
});

test('a file without its dictionary has a finding for each frame', () => {
  const bytes = Buffer.concat([frame(record(1), dictionary), frame(record(2), dictionary)]);
  const { frames, findings } = read(bytes);
  assert.deepEqual(frames, []);
  assert.equal(findings[0], 'zstd-dictionary-missing 0');
});

test('a damaged dictionary is ignored, and the file is read', () => {
  const broken = Buffer.from(dictionary);
  broken.fill(0xff, 8, 120);
  assert.equal(dictionaryOfFile(skippable(broken)), undefined);
  const { frames, findings } = read(Buffer.concat([skippable(broken), frame(record(1))]));
  assert.deepEqual(findings, []);
  assert.equal(frames[0]!.text, record(1));
  const truncatedFrame = zstdCompressSync(dictionary).subarray(0, 100);
  assert.equal(dictionaryOfFile(skippable(truncatedFrame)), undefined);
});

test('the dictionary of a file is known as soon as all its bytes are there', () => {
  const start = skippable(dictionary);
  assert.equal(dictionaryOfFile(start.subarray(0, 5)), 'short');
  assert.equal(dictionaryOfFile(start.subarray(0, start.length - 1)), 'short');
  const found = dictionaryOfFile(start);
  assert.ok(Buffer.isBuffer(found) && dictionaryId(found) === 40_000);
  assert.equal(dictionaryOfFile(frame(record(1))), undefined);
  assert.equal(dictionaryOfFile(skippable(dictionary, 0x184d2a50)), undefined);
  const huge = Buffer.from(start);
  huge.writeUInt32LE(0xffffffff, 4);
  assert.equal(dictionaryOfFile(huge), undefined);
});

test('skippable frames are skipped wherever they are', () => {
  const other = skippable(Buffer.from('something else'), 0x184d2a53);
  const [first, second] = [frame(record(1)), frame(record(2))];
  for (const pieceBytes of [Number.POSITIVE_INFINITY, 1]) {
    const { frames, findings } = read(Buffer.concat([first, other, second, other]), pieceBytes);
    assert.deepEqual(findings, []);
    assert.deepEqual(
      frames.map(({ offset }) => offset),
      [0, first.length + other.length],
    );
  }
});

test('a file that ends inside a skippable frame has a finding', () => {
  const first = frame(record(1));
  const cut = skippable(Buffer.alloc(100), 0x184d2a53).subarray(0, 50);
  const { frames, findings } = read(Buffer.concat([first, cut]));
  assert.equal(frames[0]!.text, record(1));
  assert.deepEqual(findings, [`member-truncated ${first.length}`]);
});

test('a record in several frames gives several members', () => {
  const text = record(1, 1000);
  const parts = [text.slice(0, 50), text.slice(50, 600), text.slice(600)];
  const { frames, findings } = read(Buffer.concat(parts.map((part) => frame(part))));
  assert.deepEqual(findings, []);
  assert.deepEqual(
    frames.map((found) => found.text),
    parts,
  );
});

test('empty frames, frames without size or checksum, raw and repeated blocks are read', () => {
  const noise = Buffer.from(Array.from({ length: 1000 }, (_, i) => (i * i * 31) & 255)).toString('latin1');
  const plain = zstdCompressSync(Buffer.from(record(1)), { params: { [constants.ZSTD_c_contentSizeFlag]: 0 } });
  const bytes = Buffer.concat([
    plain,
    frame(''),
    frame(`WARC/1.1\r\n${noise}`),
    frame(`WARC/1.1\r\n${'a'.repeat(9999)}`),
  ]);
  for (const pieceBytes of [Number.POSITIVE_INFINITY, 1]) {
    const { frames, findings } = read(bytes, pieceBytes);
    assert.deepEqual(findings, []);
    assert.deepEqual(
      frames.map(({ text }) => text.length),
      [record(1).length, 1010, 10_009],
    );
  }
});

test('the head of a frame is read with every size of its fields', () => {
  const head = parseFrameHead(frame(record(1), dictionary), 0, 100);
  assert.ok(typeof head === 'object');
  assert.equal(head.dictionaryId, 40_000);
  assert.ok(head.hasChecksum);
  assert.equal(parseFrameHead(frame(record(1)), 0, 3), 'short');
  assert.equal(parseFrameHead(Buffer.from('28b52ffd08', 'hex'), 0, 5), undefined);
  assert.equal(parseFrameHead(Buffer.from('28b52ffe00', 'hex'), 0, 5), undefined);
});

test('a file cut off anywhere gives the whole frames before the cut, and the cut is reported', () => {
  const parts = [frame(record(1)), frame(record(2))];
  const whole = Buffer.concat(parts);
  for (let end = 0; end <= whole.length; end++) {
    const got = read(whole.subarray(0, end));
    assert.ok((record(1) + record(2)).startsWith(got.text), `cut at ${end}`);
    const isBorder = [0, parts[0]!.length, whole.length].includes(end);
    assert.deepEqual(
      got.findings.map((finding) => finding.split(' ')[0]),
      isBorder ? [] : ['member-truncated'],
      `cut at ${end}`,
    );
    if (end >= parts[0]!.length) assert.equal(got.frames[0]!.text, record(1));
    assert.deepEqual(read(whole.subarray(0, end), 1), got, `cut at ${end}, in pieces of one byte`);
  }
});

test('damage at any byte of a frame costs at most that frame', () => {
  const start = skippable(dictionary);
  const parts = [1, 2, 3].map((number) => frame(record(number), dictionary));
  const whole = Buffer.concat([start, ...parts]);
  const from = start.length + parts[0]!.length;
  const third = from + parts[1]!.length;
  for (let at = from; at < third; at++) {
    for (const value of [0x00, 0xff, whole[at]! ^ 0x40]) {
      const broken = Buffer.from(whole);
      broken[at] = value;
      const { frames, findings } = read(broken);
      assert.equal(frames[0]!.text, record(1), `byte ${at} made ${value}`);
      assert.equal(frames.find(({ offset }) => offset === third)?.text, record(3), `byte ${at} made ${value}`);
      if (!broken.equals(whole)) assert.notDeepEqual(findings, [], `byte ${at} made ${value}: nothing was reported`);
    }
  }
});

test('a frame with only a wrong checksum gives all of its bytes', () => {
  const bytes = frame(record(1));
  bytes[bytes.length - 1]! ^= 1;
  for (const pieceBytes of [Number.POSITIVE_INFINITY, 1]) {
    const { frames, findings } = read(Buffer.concat([bytes, frame(record(2))]), pieceBytes);
    assert.deepEqual(findings, ['member-damaged 0']);
    assert.deepEqual(
      frames.map(({ text }) => text),
      [record(1), record(2)],
    );
  }
});

test('garbage between frames is skipped and reported', () => {
  const garbage = Buffer.from('\x28\xb5\x2f\xfd nothing \x28\xb5', 'latin1');
  const [first, second] = [frame(record(1)), frame(record(2))];
  const { frames, findings } = read(Buffer.concat([first, Buffer.from('garbage'), garbage, second]));
  assert.deepEqual(
    frames.map(({ text }) => text),
    [record(1), record(2)],
  );
  assert.deepEqual(findings, [`garbage-skipped ${first.length}`]);
});

test('NUL bytes between and after frames are padding', () => {
  const [first, second] = [frame(record(1)), frame(record(2))];
  for (const bytes of [1, 3, 4, 7000]) {
    const padded = Buffer.concat([first, Buffer.alloc(bytes), second, Buffer.alloc(bytes)]);
    for (const pieceBytes of [1, 1000, padded.length]) {
      const { text, findings } = read(padded, pieceBytes);
      assert.equal(text, record(1) + record(2));
      assert.deepEqual(findings, [`padding-skipped ${first.length}`, `padding-skipped ${padded.length - bytes}`]);
    }
  }
});
