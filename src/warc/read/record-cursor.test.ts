import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import type { CursorOptions } from '../member/cursor-options.ts';
import { RecordCursor } from './record-cursor.ts';

type Read = {
  records: { at: string; type: string; head: string; body: string; length: number | undefined; complete: boolean }[];
  findings: string[];
};

function read(bytes: Buffer, pieceBytes: () => number = () => bytes.length, options: CursorOptions = {}): Read {
  const cursor = new RecordCursor('file', options);
  const records: Read['records'] = [];
  const findings: string[] = [];
  let fed = options.offset ?? 0;
  let body: Buffer[] = [];
  for (let steps = 0; ; steps++) {
    assert.ok(steps < 1000 + 8 * bytes.length, 'the cursor is in an endless loop');
    const step = cursor.step();
    if (step === 'need-input') {
      const room = cursor.reserve();
      const taken = bytes.copy(room, 0, fed, fed + Math.min(room.length, Math.max(1, pieceBytes())));
      fed += taken;
      if (taken === 0) cursor.end();
      else cursor.commit(taken);
    } else if (step === 'finding') {
      assert.equal(cursor.finding.file, 'file');
      findings.push(`${cursor.finding.code} ${cursor.finding.offset}`);
    } else if (step === 'record') {
      body = [];
    } else if (step === 'body') {
      assert.ok(cursor.chunk.length > 0);
      body.push(Buffer.from(cursor.chunk));
    } else if (step === 'end') {
      const { head, tail } = cursor;
      assert.equal(Buffer.concat(body).length, tail.bodyBytes);
      records.push({
        at: `${head.offset}+${head.innerOffset}`,
        type: head.type,
        head: Buffer.from(head.bytes).toString('latin1'),
        body: Buffer.concat(body).toString('latin1'),
        length: tail.length,
        complete: tail.isComplete,
      });
    } else if (step === 'skipped') {
      assert.ok(cursor.chunk.length > 0);
    } else {
      cursor.close();
      assert.equal(cursor.step(), 'done');
      return { records, findings };
    }
  }
}

const DATE = 'WARC-Date: 2024-03-01T10:00:00Z';
const ID = 'WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>';

/** A sound record, except for the given changes. */
function record(body: string, changes: { length?: number | string; trailer?: string; lines?: string[] } = {}): Buffer {
  const lines = changes.lines ?? [ID, DATE, 'WARC-Type: resource', 'WARC-Target-URI: http://example.test/'];
  const length = changes.length ?? Buffer.byteLength(body, 'latin1');
  const head = ['WARC/1.1', ...lines, ...(length === '' ? [] : [`Content-Length: ${length}`]), '', ''].join('\r\n');
  return Buffer.from(`${head}${body}${changes.trailer ?? '\r\n\r\n'}`, 'latin1');
}

const A = record('first body');
const B = record('second body, longer');
const C = record('third');
const bodies = (got: Read) => got.records.map(({ body }) => body);
const ALL = ['first body', 'second body, longer', 'third'];

test('uncompressed records are read with offset, length and body', () => {
  const { records, findings } = read(Buffer.concat([A, B]));
  assert.deepEqual(findings, []);
  assert.deepEqual(
    records.map(({ at, length, body, complete }) => ({ at, length, body, complete })),
    [
      { at: '0+0', length: A.length, body: 'first body', complete: true },
      { at: `${A.length}+0`, length: B.length, body: 'second body, longer', complete: true },
    ],
  );
});

for (const [name, compress] of [
  ['gzip', gzipSync],
  ['zstd', zstdCompressSync],
] as const) {
  test(`${name} records are read with the place and length of their members`, () => {
    const members = [A, B, C].map((bytes) => compress(bytes));
    const { records, findings } = read(Buffer.concat(members));
    assert.deepEqual(findings, []);
    assert.deepEqual(
      records.map(({ at, length, body }) => ({ at, length, body })),
      [
        { at: '0+0', length: members[0]!.length, body: ALL[0] },
        { at: `${members[0]!.length}+0`, length: members[1]!.length, body: ALL[1] },
        { at: `${members[0]!.length + members[1]!.length}+0`, length: members[2]!.length, body: ALL[2] },
      ],
    );
  });

  test(`two records in one ${name} member are reported once, and have no length of their own`, () => {
    const bytes = Buffer.concat([compress(Buffer.concat([A, B])), compress(Buffer.concat([A, C]))]);
    const { records, findings } = read(bytes);
    assert.deepEqual(findings, ['member-shared 0']);
    assert.deepEqual(bodies({ records, findings }), ['first body', ALL[1], 'first body', 'third']);
    assert.equal(records[1]!.at, `0+${A.length}`);
    assert.deepEqual(
      records.map(({ length }) => length),
      [undefined, undefined, undefined, undefined],
    );
  });

  test(`a record in two ${name} members is one record, wherever the first member ends`, () => {
    for (let cut = 10; cut < B.length; cut++) {
      const parts = [compress(A), compress(B.subarray(0, cut)), compress(B.subarray(cut)), compress(C)];
      const got = read(Buffer.concat(parts));
      assert.deepEqual(bodies(got), ALL, `cut at ${cut}`);
      const isInTrailer = cut >= B.length - 4;
      const finding = isInTrailer ? 'trailer-missing' : 'record-spans-members';
      assert.deepEqual(got.findings, [`${finding} ${parts[0]!.length}`], `cut at ${cut}`);
      if (!isInTrailer) assert.equal(got.records[1]!.length, parts[1]!.length + parts[2]!.length);
      assert.equal(got.records[2]!.at, `${parts[0]!.length + parts[1]!.length + parts[2]!.length}+0`);
    }
  });

  test(`a record in many tiny ${name} members is one record`, () => {
    const parts = Array.from({ length: B.length }, (_, at) => compress(B.subarray(at, at + 1)));
    const got = read(Buffer.concat([compress(A), ...parts, compress(C)]));
    assert.deepEqual(bodies(got), ALL);
  });

  test(`a block with a length that is too long ends at the next record in a ${name} file`, () => {
    const long = compress(record('second body, longer', { length: 5000 }));
    const first = compress(A);
    const got = read(Buffer.concat([first, long, compress(C)]));
    assert.deepEqual(bodies(got), ['first body', 'second body, longer\r\n\r\n', 'third']);
    assert.deepEqual(got.findings, [`content-length-long ${first.length}`]);
    assert.deepEqual(
      got.records.map(({ complete }) => complete),
      [true, false, true],
    );
  });

  test(`a length that is too short costs only the rest of the block in a ${name} file`, () => {
    const first = compress(A);
    const got = read(Buffer.concat([first, compress(record('second body, longer', { length: 6 })), compress(C)]));
    assert.deepEqual(bodies(got), ['first body', 'second', 'third']);
    assert.deepEqual(got.findings, [`content-length-short ${first.length}`]);
  });

  test(`a ${name} record without a length reaches to the end of its member`, () => {
    const first = compress(A);
    const got = read(Buffer.concat([first, compress(record('second', { length: '' })), compress(C)]));
    assert.deepEqual(bodies(got), ['first body', 'second\r\n\r\n', 'third']);
    assert.deepEqual(got.findings, [`content-length-invalid ${first.length}`, `trailer-missing ${first.length}`]);
    assert.equal(got.records[1]!.complete, false);
  });

  test(`a record whose head ends with its ${name} member has no body, and the next record is read`, () => {
    for (const bytes of [12, 30, 100]) {
      const first = compress(A.subarray(0, bytes));
      const got = read(Buffer.concat([first, compress(B), compress(C)]));
      assert.deepEqual(bodies(got), ['', ALL[1], ALL[2]], `${bytes} bytes of head`);
      assert.equal(got.findings[0], 'head-truncated 0');
    }
  });

  test(`line ends at the beginning of a ${name} member belong to no record`, () => {
    const bytes = Buffer.concat([compress(A), compress(Buffer.concat([Buffer.from('\r\n\r\n'), B]))]);
    for (const pieceBytes of [1000, 1]) {
      const got = read(bytes, () => pieceBytes);
      assert.deepEqual(bodies(got), ALL.slice(0, 2));
      assert.deepEqual(got.findings, []);
      assert.equal(got.records[1]!.at, `${compress(A).length}+4`);
    }
  });
}

test('a file compressed as a whole is read', () => {
  const got = read(gzipSync(Buffer.concat([A, B, C])));
  assert.deepEqual(bodies(got), ALL);
  assert.deepEqual(got.findings, ['member-shared 0']);
});

test('input longer than `inputBytes` gives the same records and findings, in any coding', () => {
  const long = record('a long body '.repeat(30_000));
  const packed = (pack: (bytes: Buffer) => Buffer) => Buffer.concat([A, long, B, C].map(pack));
  for (const file of [
    packed((bytes) => bytes),
    packed((bytes) => gzipSync(bytes)),
    packed((bytes) => zstdCompressSync(bytes)),
  ])
    for (const inputBytes of [0, 10, 5000]) assert.deepEqual(read(file, undefined, { inputBytes }), read(file));
});

test('heads with LF alone and folded lines are read', () => {
  const text = `WARC/1.0\nWARC-Type: resource\n${ID}\n${DATE}\nX-Long: one\n two\n\t three\nContent-Length: 4\n\nbody\n\n`;
  const { records, findings } = read(Buffer.concat([Buffer.from(text), A]));
  assert.deepEqual(findings, ['trailer-missing 0']);
  assert.equal(records[0]!.body, 'body');
  assert.equal(records[1]!.body, 'first body');
});

test('a length that is too long is detected by the record inside the block', () => {
  for (const length of [20, 40, 150, 100_000]) {
    const got = read(Buffer.concat([A, record('short', { length }), B, C]));
    assert.equal(got.records.length, 4, `length ${length}`);
    assert.deepEqual(bodies(got).slice(2), ALL.slice(1));
    assert.deepEqual(got.findings, [`content-length-long ${A.length}`]);
    assert.equal(got.records[1]!.complete, false);
  }
});

test('a length that is too short costs only the rest of the block', () => {
  for (const length of [0, 1, 10]) {
    const got = read(Buffer.concat([A, record('a longer body', { length }), B]));
    assert.deepEqual(bodies(got), ['first body', 'a longer body'.slice(0, length), ALL[1]]);
    assert.deepEqual(got.findings, [`content-length-short ${A.length}`]);
  }
});

test('an uncompressed record without a readable length is reported, and the next record is found', () => {
  for (const length of ['', '-1', 'ten', '99999999999999999999']) {
    const got = read(Buffer.concat([A, record('second', { length }), C]));
    assert.deepEqual(bodies(got), ['first body', '', 'third']);
    assert.equal(got.findings[0], `content-length-invalid ${A.length}`);
    assert.equal(got.findings[1]?.split(' ')[0], 'garbage-skipped');
  }
});

test('a missing or odd trailer is reported', () => {
  for (const trailer of ['', '\r\n', '\n\n', '\r\n\r\n\r\n', '\n']) {
    for (const bytes of [Buffer.concat([record('x', { trailer }), B]), record('x', { trailer })]) {
      const got = read(bytes);
      assert.deepEqual(bodies(got), bytes.length > 300 ? ['x', ALL[1]] : ['x'], JSON.stringify(trailer));
      assert.deepEqual(got.findings, ['trailer-missing 0'], JSON.stringify(trailer));
    }
  }
});

test('an uncompressed file that ends inside a record has a finding', () => {
  const got = read(Buffer.concat([A, B.subarray(0, B.length - 10)]));
  assert.deepEqual(bodies(got), ['first body', ALL[1]!.slice(0, -6)]);
  assert.deepEqual(got.findings, [`record-truncated ${A.length}`]);
  assert.equal(got.records[1]!.complete, false);
});

test('an uncompressed file that ends inside a head has a finding', () => {
  const got = read(Buffer.concat([A, B.subarray(0, 60)]));
  assert.equal(got.findings[0], `head-truncated ${A.length}`);
  assert.equal(got.records.length, 2);
});

test('a record after a record that was cut off is found, even inside a line', () => {
  const got = read(Buffer.concat([record('torn off here', { length: 500, trailer: '' }), B, C]));
  assert.deepEqual(bodies(got).slice(1), ALL.slice(1));
  assert.deepEqual(got.findings, ['content-length-long 0']);
});

test('garbage and NUL bytes between records are skipped and reported', () => {
  const garbage = Buffer.from('this is no record\nnor is WARC/this\n');
  const got = read(Buffer.concat([garbage, A, garbage, B, Buffer.alloc(700), C, Buffer.alloc(5)]));
  assert.deepEqual(bodies(got), ALL);
  const second = garbage.length + A.length;
  const third = second + garbage.length + B.length;
  assert.deepEqual(got.findings, [
    'garbage-skipped 0',
    `garbage-skipped ${second}`,
    `padding-skipped ${third}`,
    `padding-skipped ${third + 700 + C.length}`,
  ]);
});

test('a record is found after any mixture of NULs, empty lines and garbage', () => {
  for (const between of ['x\n\n\r\n\n\r\n', '\0\0\r\n\n', '\0x\n\r\n', 'x\n\n\0\0\n', 'x\r\n\n\rx\n\n\n']) {
    const got = read(Buffer.concat([A, Buffer.from(between), B, Buffer.from(between), C]));
    assert.deepEqual(bodies(got), ALL, JSON.stringify(between));
  }
});

test('garbage inside a member is skipped and reported at the offset of the member', () => {
  const first = gzipSync(A);
  const got = read(Buffer.concat([first, gzipSync(Buffer.concat([Buffer.from('garbage\n'), B])), gzipSync(C)]));
  assert.deepEqual(bodies(got), ALL);
  assert.deepEqual(got.findings, [`garbage-skipped ${first.length}`]);
});

test('a head without end is given up, and the next record is found', () => {
  const endless = Buffer.from(`WARC/1.1\r\n${'X-Field: value\r\n'.repeat(80_000)}`);
  for (const pieceBytes of [1 << 20, 100_000]) {
    const got = read(Buffer.concat([endless, A]), () => pieceBytes);
    assert.deepEqual(bodies(got), ['first body']);
    assert.deepEqual(got.findings, ['head-unreadable 0']);
  }
});

test('a head without end that contains many beginnings of heads is given up and reported once', () => {
  const beginnings = Buffer.from('WARC/1.1\r\nWARC-Type: resource\r\n'.repeat(40_000));
  for (const compress of [(bytes: Buffer) => bytes, gzipSync]) {
    const start = compress(beginnings);
    const got = read(Buffer.concat([start, compress(record('x', { trailer: '' })), compress(A)]), () => 300_000);
    assert.equal(bodies(got).at(-1), 'first body');
    const codes = got.findings.map((finding) => finding.split(' ')[0]);
    assert.equal(codes.filter((code) => code === 'head-unreadable').length, 1);
  }
});

test('a head that can be read is found inside a head that was given up', () => {
  const start = Buffer.from(`WARC/1.1\r\n${'X-Field: value\r\n'.repeat(60_000)}`);
  const rest = Buffer.from('X-Field: value\r\n'.repeat(20_000));
  const inner = Buffer.from(`WARC/1.1\r\n${ID}\r\n${DATE}\r\nWARC-Type: resource\r\nContent-Length: 5\r\n`);
  const got = read(Buffer.concat([start, inner, rest, Buffer.from('\r\ninner\r\n\r\n'), A]), () => 100_000);
  assert.deepEqual(bodies(got), ['inner', 'first body']);
  assert.deepEqual(got.findings, ['head-unreadable 0']);
});

test('an ARC record with a blank in its type is read, and so is the record before it', () => {
  const version = '1 0 Another\nURL IP-address Archive-date Content-type Archive-length\n';
  const arc = (url: string, date: string, type: string, body: string) =>
    Buffer.from(`${url} 192.0.2.1 ${date} ${type} ${body.length}\n${body}\n`);
  const got = read(
    Buffer.concat([
      arc('filedesc://a.arc', '20240301100000', 'text/plain', version),
      arc('http://a.test/', '20240301100000', 'text/html', 'one'),
      arc('http://b.test/', '20240301100000', 'text/html; charset=utf-8', 'two'),
      arc('http://c.test/', '20240301', 'text/html', 'three'),
    ]),
  );
  assert.deepEqual(bodies(got).slice(1), ['one', 'two', 'three']);
  assert.deepEqual(got.findings, ['date-nonstandard 252']);
});

test('faults of heads are reported', () => {
  const cases: [lines: string[], finding: string][] = [
    [[ID, DATE, 'WARC-Type: resource', 'no field'], 'field-malformed'],
    [[ID, DATE, 'WARC-Type: resource', ': no name'], 'field-malformed'],
    [[ID, DATE, 'WARC-Type: resource', 'WARC-Type: response'], 'field-duplicate'],
    [[DATE, 'WARC-Type: resource'], 'field-missing'],
    [[ID, 'WARC-Type: resource'], 'field-missing'],
    [[ID, DATE], 'field-missing'],
    [[ID, 'WARC-Date: yesterday', 'WARC-Type: resource'], 'date-invalid'],
    [[ID, DATE, 'WARC-Type: resource', 'WARC-Target-URI: <http://a.test/>'], 'target-uri-bracketed'],
  ];
  for (const [lines, finding] of cases) {
    const got = read(Buffer.concat([A, record('x', { lines })]));
    assert.deepEqual(got.findings, [`${finding} ${A.length}`], lines.join());
    assert.equal(got.records[1]!.body, 'x');
  }
});

test('an unknown version is reported and read like a known one', () => {
  for (const version of ['WARC/2.0', 'WARC/1.2.3', 'WARC/7']) {
    const bytes = Buffer.from(A.toString('latin1').replace('WARC/1.1', version));
    assert.deepEqual(read(bytes).findings, ['version-unknown 0'], version);
    assert.deepEqual(bodies(read(bytes)), ['first body']);
  }
  for (const version of ['WARC/1.0', 'WARC/0.17', 'WARC/0.18', 'warc/1.1']) {
    const bytes = Buffer.from(A.toString('latin1').replace('WARC/1.1', version));
    assert.deepEqual(read(bytes).findings, [], version);
  }
});

const ARC = [
  'filedesc://demo.arc 0.0.0.0 20240301100000 text/plain 71\n',
  '1 0 ExampleOrg\nURL IP-address Archive-date Content-type Archive-length\n\n',
  'http://www.example.test:80/a 192.0.2.10 20240301100000 text/html 57\n',
  'HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>hello</p>\n\n',
].join('');

test('an ARC file is read as the worked example shows', () => {
  const { records, findings } = read(Buffer.from(ARC));
  assert.deepEqual(findings, []);
  assert.deepEqual(
    records.map(({ at, type, body, complete }) => ({ at, type, bytes: body.length, complete })),
    [
      { at: '0+0', type: 'filedesc', bytes: 71, complete: true },
      { at: '129+0', type: 'response', bytes: 57, complete: true },
    ],
  );
});

test('the version block of an ARC file may be longer or shorter than declared', () => {
  for (const length of ['60', '72', '73', '100', '200']) {
    const got = read(Buffer.from(ARC.replace('plain 71', `plain ${length}`)));
    assert.equal(got.records.length, 2, length);
    assert.ok(got.records[1]!.body.startsWith('HTTP/1.0 200 OK'), length);
    const isExact = length === '72';
    assert.deepEqual(got.findings, isExact ? [] : ['arc-length-adjusted 0'], length);
  }
  const [version, record] = [ARC.slice(0, 129), ARC.slice(129)];
  const packed = Buffer.concat([gzipSync(version.replace('plain 71', 'plain 73')), gzipSync(record)]);
  assert.deepEqual(read(packed).findings, ['arc-length-adjusted 0']);
  assert.equal(read(packed).records.length, 2);
});

test('ARC records with spaces in the URL, of version 2, and with wrong lengths are read', () => {
  const spaced = ARC.replace('example.test:80/a ', 'example.test:80/a b c ');
  assert.equal(read(Buffer.from(spaced)).records[1]!.type, 'response');
  const second = ARC.replace('text/html 57', 'text/html 200 - - 0 demo.arc 57').replace('1 0 Ex', '2 0 Ex');
  assert.equal(read(Buffer.from(second)).records[1]!.body.length, 57);
  const more = `${ARC}http://two.test/ 192.0.2.1 20240301100000 text/html 4\nbody\n`;
  for (const [length, finding] of [
    ['50', 'content-length-short'],
    ['70', 'content-length-long'],
    ['5000', 'content-length-long'],
    ['-1', 'content-length-invalid'],
    ['99999999999999999999', 'content-length-invalid'],
  ]) {
    const got = read(Buffer.from(more.replace('html 57', `html ${length}`)));
    assert.equal(got.records.length, 3, length);
    assert.equal(got.records[2]!.body, 'body', length);
    assert.equal(got.findings[0], `${finding} 129`, length);
  }
});

test('one wrong byte at the beginning of a compressed file costs one record, not all', () => {
  for (const compress of [gzipSync, zstdCompressSync]) {
    for (const at of [0, 1, 2, 3]) {
      const bytes = Buffer.concat([compress(A), compress(B), compress(C)]);
      bytes[at]! ^= 0xff;
      const got = read(bytes, () => 10);
      assert.deepEqual(bodies(got).slice(-2), ALL.slice(1), `byte ${at}`);
      assert.notDeepEqual(got.findings, []);
    }
  }
});

test('an uncompressed file with a damaged first line is still read as uncompressed', () => {
  const bytes = Buffer.concat([A, record(gzipSync(A).toString('latin1')), C]);
  bytes[0] = 0x58;
  const got = read(bytes);
  assert.equal(got.records.length, 2);
  assert.equal(got.findings[0], 'garbage-skipped 0');
});

test('an empty file has no records and no findings', () => {
  assert.deepEqual(read(Buffer.alloc(0)), { records: [], findings: [] });
  assert.deepEqual(read(Buffer.from('\r\n\r\n')), { records: [], findings: [] });
});

test('a file with many wrong lengths is read with bounded work', () => {
  const lie = Buffer.from(`WARC/1.1\r\n${ID}\r\n${DATE}\r\nWARC-Type: resource\r\nContent-Length: 3000000\r\n\r\n`);
  const got = read(Buffer.concat(Array.from({ length: 6000 }, () => lie)));
  assert.ok(got.records.length > 50);
});

test('reading from any offset begins with the next record', () => {
  const plain = Buffer.concat([A, B, C]);
  for (let offset = 0; offset <= A.length; offset += 7) {
    const got = read(plain, () => 50, { offset, coding: 'none', seek: true });
    assert.deepEqual(got.findings, []);
    assert.equal(got.records[0]!.at, offset === 0 ? '0+0' : `${A.length}+0`, `from ${offset}`);
  }
});

/** Files of sound and unsound records in every coding. */
const files = fc
  .record({
    parts: fc.array(
      fc.record({
        body: fc.string({ maxLength: 40 }).map((text) => Buffer.from(text).toString('latin1')),
        length: fc.option(fc.oneof(fc.nat(60), fc.constantFrom('', '-1', 'x')), { nil: undefined, freq: 3 }),
        trailer: fc.constantFrom('\r\n\r\n', '\r\n\r\n', '\r\n\r\n', '', '\n', '\r\n', '\0\0\0'),
        cut: fc.option(fc.nat(200), { nil: undefined, freq: 4 }),
      }),
      { minLength: 1, maxLength: 6 },
    ),
    coding: fc.constantFrom('gzip', 'zstd', 'none'),
    damage: fc.array(fc.tuple(fc.nat(2000), fc.nat(255)), { maxLength: 2 }),
  })
  .map(({ parts, coding, damage }) => {
    const compress = { gzip: gzipSync, zstd: zstdCompressSync, none: (bytes: Buffer) => bytes }[coding]!;
    const members = parts.map(({ body, length, trailer, cut }) => {
      const bytes = record(body, { trailer, ...(length !== undefined && { length }) });
      if (cut === undefined || cut === 0) return compress(bytes);
      return Buffer.concat([compress(bytes.subarray(0, cut)), compress(bytes.subarray(cut))]);
    });
    const file = Buffer.concat(members);
    for (const [at, value] of damage) if (at < file.length) file[at] = value;
    return file;
  });

for (const [coding, compress, filling] of [
  ['gzip', gzipSync, 'a line of a page without an end to it, over and over\r\n'],
  ['zstd', zstdCompressSync, '\0'],
] as const)
  test(`a ${coding} member with endless bytes after its record is left, and the next member is read`, () => {
    const bomb = compress(Buffer.concat([A, Buffer.alloc(100 * 1024 * 1024, filling)]));
    const got = read(Buffer.concat([bomb, compress(B)]));
    assert.deepEqual(
      got.records.map(({ at, body }) => [at, body]),
      [
        ['0+0', 'first body'],
        [`${bomb.length}+0`, 'second body, longer'],
      ],
    );
    assert.ok(got.findings.includes('member-endless 0'), String(got.findings));
  });

test('a member with many bytes after its record is read to its end unless these bytes compress extremely', () => {
  const noise = Buffer.alloc(70 * 1024 * 1024);
  for (let at = 0; at < noise.length; at += 64) noise.writeUInt32LE(Math.imul(at, 0x9e3779b1) >>> 0, at);
  const got = read(gzipSync(Buffer.concat([A, noise, Buffer.from('\n'), B]), { level: 1 }));
  assert.deepEqual(
    got.records.map(({ body }) => body),
    ['first body', 'second body, longer'],
  );
});

test('records and findings do not depend on the pieces of the input', () => {
  fc.assert(
    fc.property(files, fc.infiniteStream(fc.integer({ min: 1, max: 300 })), (file, sizes) => {
      const whole = read(file);
      const inPieces = read(file, () => sizes.next().value);
      const inBytes = read(file, () => 1);
      for (const other of [inPieces, inBytes]) {
        assert.deepEqual(other.records, whole.records);
        assert.deepEqual([...other.findings].sort(), [...whole.findings].sort());
      }
    }),
    { numRuns: 300 },
  );
});
