import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants, crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { seededRandom } from '../../base/index.ts';
import { ByteWindow } from './byte-window.ts';
import { gzipHeadLength } from './gzip-member.ts';
import { GzipSource } from './gzip-source.ts';

type Read = {
  text: string;
  members: { offset: number; length: number | undefined; isDamaged: boolean; text: string }[];
  findings: string[];
};

/** Reads members to the end of the input, in pieces. */
function read(bytes: Buffer, pieceBytes = Number.POSITIVE_INFINITY, seekFrom?: number): Read {
  const findings: string[] = [];
  const source = new GzipSource((code, offset) => findings.push(`${code} ${offset}`), {
    offset: seekFrom ?? 0,
    seek: seekFrom !== undefined,
  });
  const output = new ByteWindow(0, 16);
  const all = new Set<(typeof source.members)[number]>();
  let fed = seekFrom ?? 0;
  for (let pulls = 0; ; pulls++) {
    assert.ok(pulls < 100 + 10 * bytes.length, 'the source is in an endless loop');
    const result = source.pull(output);
    for (const member of source.members) all.add(member);
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
  const decoded = output.buffer.subarray(0, output.end).toString('latin1');
  const members = [...all]
    .filter((member) => source.members.includes(member))
    .map(({ offset, length, isDamaged, from, to }) => ({ offset, length, isDamaged, text: decoded.slice(from, to) }));
  return { text: decoded, members, findings };
}

function record(number: number, bodyBytes = 20): string {
  const random = seededRandom(number);
  const body = Array.from({ length: bodyBytes }, () => String.fromCharCode(97 + Math.floor(random() * 20))).join('');
  return `WARC/1.1\r\nWARC-Type: resource\r\nX-Number: ${number}\r\nContent-Length: ${body.length}\r\n\r\n${body}\r\n\r\n`;
}

function trailer(text: string, changes: { crc?: number; size?: number } = {}): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(changes.crc ?? crc32(text), 0);
  bytes.writeUInt32LE(changes.size ?? Buffer.byteLength(text), 4);
  return bytes;
}

function member(text: string, flags = 0, fields: readonly Buffer[] = [], changes = {}): Buffer {
  const head = Buffer.from([0x1f, 0x8b, 0x08, flags, 0, 0, 0, 0, 0, 3]);
  return Buffer.concat([head, ...fields, deflateRawSync(text), trailer(text, changes)]);
}

const EXTRA = Buffer.concat([Buffer.from([12, 0]), Buffer.from('sl\x08\0abcdefgh', 'latin1')]);
const NAME = Buffer.from('name.warc\0');
const COMMENT = Buffer.from('a comment\0');
const HEAD_CRC = Buffer.from([1, 2]);

for (const [name, flags, fields] of [
  ['no field', 0, []],
  ['an extra field', 4, [EXTRA]],
  ['a name', 8, [NAME]],
  ['a comment', 16, [COMMENT]],
  ['a head checksum', 2, [HEAD_CRC]],
  ['the text flag', 1, []],
  ['all fields', 31, [EXTRA, NAME, COMMENT, HEAD_CRC]],
] as const) {
  test(`a member with ${name} in its head is read with its exact place and length`, () => {
    const first = member(record(1), flags, fields);
    const second = member(record(2), flags, fields);
    for (const pieceBytes of [Number.POSITIVE_INFINITY, 1, 3]) {
      const { members, findings } = read(Buffer.concat([first, second]), pieceBytes);
      assert.deepEqual(findings, []);
      assert.deepEqual(members, [
        { offset: 0, length: first.length, isDamaged: false, text: record(1) },
        { offset: first.length, length: second.length, isDamaged: false, text: record(2) },
      ]);
    }
  });
}

test('the length of a head is known only when the head is complete', () => {
  const bytes = member('x', 31, [EXTRA, NAME, COMMENT, HEAD_CRC]);
  const length = 10 + EXTRA.length + NAME.length + COMMENT.length + HEAD_CRC.length;
  for (let end = 0; end < length; end++) assert.equal(gzipHeadLength(bytes, 0, end), 0, `of ${end} bytes`);
  assert.equal(gzipHeadLength(bytes, 0, length), length);
  assert.equal(gzipHeadLength(Buffer.from('WARC/1.1'), 0, 8), -1);
  assert.equal(gzipHeadLength(Buffer.from([0x1f, 0x8b, 0x07]), 0, 3), -1);
});

test('a head whose name has no end is not a head', () => {
  const bytes = Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]), Buffer.alloc(80_000, 'x')]);
  assert.equal(gzipHeadLength(bytes, 0, 1000), 0);
  assert.equal(gzipHeadLength(bytes, 0, bytes.length), -1);
});

test('reserved flags are reported and ignored', () => {
  const { members, findings } = read(member(record(1), 0xe0));
  assert.deepEqual(findings, ['gzip-flags-reserved 0']);
  assert.equal(members[0]!.text, record(1));
});

test('stored, fixed and dynamic blocks are read alike', () => {
  const text = record(1, 70_000);
  for (const options of [{ level: 0 }, { strategy: 4 }, { level: 9 }]) {
    const bytes = gzipSync(text, options);
    const { members, findings } = read(Buffer.concat([bytes, bytes]), 1000);
    assert.deepEqual(findings, []);
    assert.deepEqual(
      members.map(({ offset, length }) => [offset, length]),
      [
        [0, bytes.length],
        [bytes.length, bytes.length],
      ],
    );
    assert.equal(members[1]!.text, text);
  }
});

test('empty members are skipped and not kept', () => {
  const empty = gzipSync('');
  const bytes = Buffer.concat([empty, empty, member(record(1)), empty, member(record(2)), empty]);
  const { members, findings } = read(bytes);
  assert.deepEqual(findings, []);
  assert.deepEqual(
    members.map(({ text }) => text),
    [record(1), record(2)],
  );
});

test('a file cut off anywhere gives the whole members before the cut, and the decodable part of the last', () => {
  const parts = [member(record(1)), member(record(2), 8, [NAME]), member(record(3))];
  const whole = Buffer.concat(parts);
  const text = record(1) + record(2) + record(3);
  let last = 0;
  for (let end = 0; end <= whole.length; end++) {
    const got = read(whole.subarray(0, end));
    assert.ok(text.startsWith(got.text), `cut at ${end}`);
    assert.ok(got.text.length >= last, `cut at ${end}: less than before`);
    last = got.text.length;
    const isBorder = [0, parts[0]!.length, parts[0]!.length + parts[1]!.length, whole.length].includes(end);
    assert.deepEqual(
      got.findings.map((finding) => finding.split(' ')[0]),
      isBorder ? [] : ['member-truncated'],
      `cut at ${end}`,
    );
    assert.deepEqual(read(whole.subarray(0, end), 1), got, `cut at ${end}, in pieces of one byte`);
  }
});

test('a member without its trailer gives all of its bytes and the remaining length', () => {
  const bytes = member(record(1));
  const { members } = read(bytes.subarray(0, bytes.length - 3));
  assert.deepEqual(members, [{ offset: 0, length: bytes.length - 3, isDamaged: true, text: record(1) }]);
});

test('damage at any byte of a member costs at most that member', () => {
  const parts = [member(record(1)), member(record(2, 300)), member(record(3))];
  const whole = Buffer.concat(parts);
  const start = parts[0]!.length;
  for (let at = start; at < start + parts[1]!.length; at++) {
    for (const value of [0x00, 0xff, whole[at]! ^ 0x10]) {
      const broken = Buffer.from(whole);
      broken[at] = value;
      const { members } = read(broken);
      assert.equal(members[0]!.text, record(1), `byte ${at} made ${value}`);
      const third = members.find(({ offset }) => offset === start + parts[1]!.length);
      assert.equal(third?.text, record(3), `byte ${at} made ${value}`);
    }
  }
});

test('all bytes before the damage are decoded, whatever pieces the input has', () => {
  const head = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
  const invalidBlock = Buffer.alloc(40, 0x07);
  for (const bodyBytes of [0, 1, 900, 960, 961, 962, 3000]) {
    for (const last of ['\x00', '\xff', 'x']) {
      const text = record(1, bodyBytes) + last;
      const deflated = deflateRawSync(Buffer.from(text, 'latin1'), { finishFlush: constants.Z_SYNC_FLUSH });
      const broken = Buffer.concat([head, deflated, invalidBlock, member(record(2))]);
      for (const pieceBytes of [Number.POSITIVE_INFINITY, 1, 10, 1000]) {
        const { members, findings } = read(broken, pieceBytes);
        assert.deepEqual(findings, ['member-damaged 0']);
        assert.deepEqual(members[0], { offset: 0, length: undefined, isDamaged: true, text });
        assert.equal(members[1]!.text, record(2));
      }
    }
  }
});

test('a stream that continues into the next member does not swallow that member', () => {
  const text = record(1, 2000);
  const deflated = deflateRawSync(text, { level: 0 });
  const next = member(record(2));
  // The stored block declares 40 bytes more than there are.
  const length = deflated.readUInt16LE(1) + 40;
  deflated.writeUInt16LE(length, 1);
  deflated.writeUInt16LE(length ^ 0xffff, 3);
  const first = Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), deflated, trailer(text)]);
  const { members } = read(Buffer.concat([first, next]));
  assert.equal(members.at(-1)!.offset, first.length);
  assert.equal(members.at(-1)!.text, record(2));
});

test('a head whose extra field reaches past the end of the file does not swallow the rest', () => {
  const first = member(record(1));
  first[3] = 4;
  const { members, findings } = read(Buffer.concat([first, member(record(2))]));
  assert.equal(members.at(-1)!.text, record(2));
  assert.equal(findings[0], 'member-truncated 0');
});

test('NUL bytes between and after members are padding', () => {
  const first = member(record(1));
  const bytes = Buffer.concat([first, Buffer.alloc(50), member(record(2)), Buffer.alloc(7000)]);
  for (const pieceBytes of [Number.POSITIVE_INFINITY, 1]) {
    const { members, findings } = read(bytes, pieceBytes);
    assert.deepEqual(
      members.map(({ text }) => text),
      [record(1), record(2)],
    );
    assert.deepEqual(findings, [`padding-skipped ${first.length}`, `padding-skipped ${bytes.length - 7000}`]);
  }
});

test('garbage before, between and after members is skipped and reported once', () => {
  const garbage = Buffer.from('no member \x1f\x8b\x08 at all, nor here \x1f\x8b', 'latin1');
  const first = member(record(1));
  const second = member(record(2));
  const bytes = Buffer.concat([garbage, first, garbage, second, garbage]);
  const { members, findings } = read(bytes);
  assert.deepEqual(
    members.map(({ offset }) => offset),
    [garbage.length, 2 * garbage.length + first.length],
  );
  const end = 2 * garbage.length + first.length + second.length;
  assert.deepEqual(findings, [
    'garbage-skipped 0',
    `garbage-skipped ${garbage.length + first.length}`,
    `garbage-skipped ${end}`,
  ]);
});

test('a wrong checksum and a wrong length are reported, and the bytes are returned', () => {
  const bytes = Buffer.concat([
    member(record(1), 0, [], { crc: 1 }),
    member(record(2), 0, [], { size: 1 }),
    member(record(3), 0, [], { crc: 1, size: 1 }),
    member(record(4)),
  ]);
  const { members, findings } = read(bytes);
  assert.deepEqual(
    members.map(({ text }) => text),
    [record(1), record(2), record(3), record(4)],
  );
  const [, second, third] = members.map(({ offset }) => offset);
  assert.deepEqual(findings, ['gzip-crc 0', `gzip-length ${second}`, `gzip-crc ${third}`, `gzip-length ${third}`]);
  assert.ok(members.every(({ isDamaged, length }) => !isDamaged && length !== undefined));
});

test('bytes in memory after the end of the input are not read as the magic number of a member', () => {
  const text = record(1);
  const bytes = Buffer.concat([member(text, 0, [], { crc: 1 }), Buffer.from([0x1f, 0x8b])]);
  for (const leftover of [0, 0x08]) {
    const findings: string[] = [];
    const source = new GzipSource((code, offset) => findings.push(`${code} ${offset}`));
    source.input.push(Buffer.concat([bytes, Buffer.alloc(8, leftover)]));
    source.input.end = bytes.length;
    const output = new ByteWindow(0, 16);
    for (let result = source.pull(output); result !== 'end'; result = source.pull(output)) source.isInputEnded = true;
    source.close();
    assert.deepEqual(findings, ['gzip-crc 0', `member-truncated ${bytes.length - 2}`]);
    assert.equal(output.buffer.subarray(0, output.end).toString(), text);
  }
});

test('reading from the middle of a file begins with the next record and has no findings', () => {
  const parts = [member(record(1)), member(record(2)), member(record(3))];
  const whole = Buffer.concat(parts);
  for (let from = 1; from <= parts[0]!.length; from++) {
    const { members, findings } = read(whole, 1000, from);
    assert.equal(members[0]!.offset, parts[0]!.length, `from ${from}`);
    assert.deepEqual(findings, []);
  }
});
