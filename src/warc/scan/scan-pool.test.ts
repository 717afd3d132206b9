import assert from 'node:assert/strict';
import fs, { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { digestOf, seededRandom, toHex } from '../../base/index.ts';
import { trainDictionary } from '../member/zstd-trainer.ts';
import { recordParts } from '../record/new-record.ts';
import { type EncoderOptions, MemberEncoder } from '../write/member-encoder.ts';
import { SCAN_COMPLETE, SCAN_HTTP, SCAN_TEXTS } from './scan-batch.ts';
import { type ScanOptions, scanFiles } from './scan-pool.ts';

let directory: string;
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'pinakes-scan-'));
});
after(() => rmSync(directory, { recursive: true, force: true }));

type Scanned = { records: string[]; findings: string[]; ends: string[]; bytes: number };

async function scan(files: readonly string[], options: ScanOptions): Promise<Scanned> {
  const scanned: Scanned = { records: [], findings: [], ends: [], bytes: 0 };
  for await (const item of scanFiles(files, options)) {
    if (item.kind === 'file-end') scanned.ends.push(`${item.file} ${item.records}`);
    else if (item.kind === 'file-failed') scanned.ends.push(`${item.file} ${item.error.code}`);
    else {
      const { batch } = item;
      scanned.bytes += item.bytes;
      for (let i = 0; i < batch.count; i++) {
        const { offset, length, innerOffset, headBytes, blockBytes, payloadBytes, status, flags } = batch.columns;
        const numbers = [offset, length, innerOffset, headBytes, blockBytes, payloadBytes, status, flags].map(
          (column) => column[i],
        );
        const texts = SCAN_TEXTS.map((name) => batch.text(i, name));
        scanned.records.push([...numbers, toHex(batch.digest(i)), ...texts].join('|'));
      }
      scanned.findings.push(...batch.findings.map(({ code, offset, message }) => `${code} ${offset} ${message}`));
    }
  }
  return scanned;
}

function body(seed: number): Buffer {
  const random = seededRandom(seed);
  const bytes = Math.floor(random() * 900);
  if (seed % 5 === 0) return Buffer.from(Array.from({ length: bytes }, () => Math.floor(random() * 256)));
  return Buffer.from(Array.from({ length: bytes }, () => 'abcdefgh \n'[Math.floor(random() * 10)]).join(''));
}

function records(options: EncoderOptions, count: number, first = 0): { start: Buffer; members: Buffer[] } {
  const encoder = new MemberEncoder(options);
  const members = Array.from({ length: count }, (_, i) => {
    const http = Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n'), body(first + i)]);
    const record = {
      type: 'response',
      recordId: `<urn:uuid:${first + i}>`,
      date: '2024-03-01T10:00:00Z',
      targetUri: `http://example.test/${first + i}/caf\u00e9`,
      contentType: 'application/http; msgtype=response',
      payloadDigest: digestOf('sha1', body(first + i)),
    } as const;
    return Buffer.from(encoder.encode(recordParts(record, http)));
  });
  const start = Buffer.from(encoder.fileStart());
  encoder.close();
  return { start, members };
}

function file(name: string, parts: readonly Uint8Array[]): string {
  const path = join(directory, name);
  writeFileSync(path, Buffer.concat(parts));
  return path;
}

const dictionary = trainDictionary(
  Array.from({ length: 60 }, (_, i) => body(i * 5 + 1)).filter(({ length }) => length > 50),
  { bytesMax: 2048 },
);

function samples(): string[] {
  const arc = Array.from({ length: 30 }, (_, i) => {
    const block = Buffer.concat([Buffer.from('HTTP/1.0 200 OK\r\n\r\n'), body(i)]);
    const head = `http://example.test/${i} 192.0.2.1 20240301100000 text/html ${block.length}\n`;
    return Buffer.concat([Buffer.from(head), block, Buffer.from('\n')]);
  });
  const damaged = records({ coding: 'gzip' }, 40).members;
  damaged[10]!.fill(0xff, 150, 180);
  damaged[20]!.writeUInt32LE(0, damaged[20]!.length - 8);
  const plainDamaged = records({ coding: 'none' }, 40).members;
  plainDamaged[5] = Buffer.from(
    plainDamaged[5]!.toString('latin1').replace(/Content-Length: \d+/, 'Content-Length: 99'),
    'latin1',
  );
  const withDictionary = records({ coding: 'zstd', dictionary }, 40);
  return [
    file('a.warc.gz', records({ coding: 'gzip' }, 40).members),
    file('b.warc', records({ coding: 'none' }, 40).members),
    file('c.warc.zst', records({ coding: 'zstd' }, 40).members),
    file('d.warc.zst', [withDictionary.start, ...withDictionary.members]),
    file('e.arc', arc),
    file(
      'f.arc.gz',
      arc.map((bytes) => gzipSync(bytes)),
    ),
    file('joined.warc.gz', [
      ...records({ coding: 'gzip' }, 20).members,
      ...records({ coding: 'none' }, 5).members,
      ...arc,
    ]),
    file('damaged.warc.gz', [...damaged.slice(0, 30), Buffer.alloc(3000), ...damaged.slice(30)]),
    file('damaged.warc', [
      ...plainDamaged.slice(0, 30),
      Buffer.from('garbage\n'.repeat(300)),
      ...plainDamaged.slice(30),
    ]),
    file('shared.warc.gz', [gzipSync(Buffer.concat(records({ coding: 'none' }, 40).members))]),
    file('empty.warc', []),
  ];
}

test('ranges of any size give the same records and findings as a single range', async () => {
  for (const path of samples()) {
    const whole = await scan([path], { rangeBytes: Number.MAX_SAFE_INTEGER });
    const size = readFileSync(path).length;
    assert.equal(whole.bytes, size, path);
    for (const rangeBytes of [499, 4096, size - 1, size].filter((bytes) => bytes > 0)) {
      const ranged = await scan([path], { rangeBytes });
      assert.deepEqual(ranged.records, whole.records, `${path} in ranges of ${rangeBytes}`);
      assert.deepEqual(ranged.findings, whole.findings, `${path} in ranges of ${rangeBytes}`);
      assert.deepEqual(ranged.ends, whole.ends);
      assert.equal(ranged.bytes, size);
    }
  }
});

test('an archive inside a record does not mislead the borders of ranges', async () => {
  const inner = Buffer.concat(records({ coding: 'gzip' }, 30, 1000).members);
  const innerPlain = Buffer.concat(records({ coding: 'none' }, 30, 2000).members);
  for (const options of [{ coding: 'gzip', level: 0 }, { coding: 'none' }, { coding: 'zstd' }] as const) {
    const encoder = new MemberEncoder(options);
    const holders = [inner, innerPlain].map((block, i) => {
      const targetUri = `http://example.test/archive${i}`;
      const record = { type: 'resource', recordId: `<urn:x:${i}>`, date: '2024-03-01T10:00:00Z', targetUri } as const;
      return Buffer.from(encoder.encode(recordParts(record, block)));
    });
    encoder.close();
    const around = records(options, 6).members;
    const path = file(`nested-${options.coding}`, [...around, ...holders, ...records(options, 6, 100).members]);
    const whole = await scan([path], { rangeBytes: Number.MAX_SAFE_INTEGER });
    assert.equal(whole.records.length, 14);
    for (const rangeBytes of [313, 1000, 5000]) {
      assert.deepEqual(await scan([path], { rangeBytes }), whole, `${options.coding} in ranges of ${rangeBytes}`);
    }
  }
});

test('a record much larger than a range is read once', async () => {
  const encoder = new MemberEncoder({ coding: 'gzip', level: 0 });
  const record = {
    type: 'resource',
    recordId: '<urn:x>',
    date: '2024-03-01T10:00:00Z',
    targetUri: 'http://a.test/',
  } as const;
  const large = Buffer.from(encoder.encode(recordParts(record, Buffer.alloc(12_000_000, 'x'))));
  const around = records({ coding: 'gzip' }, 2);
  const path = file('large.warc.gz', [...around.members, large, ...around.members]);
  const whole = await scan([path], { rangeBytes: Number.MAX_SAFE_INTEGER });
  assert.deepEqual(await scan([path], { rangeBytes: 500_000 }), whole);
  assert.equal(whole.records.length, 5);
});

test('no thread, one thread and two threads give the same facts, file by file', async () => {
  const files = [...samples(), join(directory, 'absent.warc'), directory];
  const [none, one, two] = await Promise.all([0, 1, 2].map((workers) => scan(files, { workers, rangeBytes: 3000 })));
  assert.deepEqual(one, none);
  assert.deepEqual(two, none);
  assert.deepEqual(none!.ends.slice(-2), [
    `${join(directory, 'absent.warc')} FILE_MISSING`,
    `${directory} FILE_IS_DIRECTORY`,
  ]);
});

test('a scan returns the facts of the records', async () => {
  const { members } = records({ coding: 'gzip' }, 3);
  const path = file('facts.warc.gz', members);
  let seen = 0;
  for await (const item of scanFiles([path], { algorithm: 'sha1' })) {
    if (item.kind !== 'batch') continue;
    const { batch } = item;
    for (let i = 0; i < batch.count; i++) {
      assert.deepEqual(Buffer.from(batch.digest(i)), Buffer.from(digestOf('sha1', body(i)).bytes));
      assert.equal(batch.columns.payloadBytes[i], body(i).length);
      assert.equal(batch.columns.length[i], members[i]!.length);
      assert.equal(batch.columns.status[i], 200);
      assert.equal(batch.text(i, 'targetUri'), `http://example.test/${i}/caf\u00e9`);
      assert.equal(batch.text(i, 'mime'), 'text/html');
      assert.equal(batch.text(i, 'refersTo'), '');
      assert.ok(batch.has(i, SCAN_COMPLETE) && batch.has(i, SCAN_HTTP));
      seen++;
    }
  }
  assert.equal(seen, 3);
});

/** Records with heads so long that a few hundred exceed the limit of a piece. They compress to almost nothing. */
function longHeads(count: number, first = 0): Buffer[] {
  const filler = 'x'.repeat(30_000);
  return Array.from({ length: count }, (_, i) => {
    const http = Buffer.from(`HTTP/1.1 200 OK\r\nX-Filler: ${filler}\r\n\r\n${first + i}`);
    const record = {
      type: 'response',
      recordId: `<urn:long:${first + i}>`,
      date: '2024-03-01T10:00:00Z',
      targetUri: `http://long.test/${first + i}?${filler}`,
      contentType: 'application/http; msgtype=response',
    } as const;
    return Buffer.concat(recordParts(record, http));
  });
}

test('a range is returned in pieces of bounded size, whatever it contains', async () => {
  const count = 400;
  const apart = file(
    'long-heads.warc.gz',
    longHeads(count).map((record) => gzipSync(record)),
  );
  // All records of a file that was compressed as a whole are in one member, and so in one range.
  const shared = file('long-heads-shared.warc.gz', [gzipSync(Buffer.concat(longHeads(count)))]);
  const inner = Buffer.concat(longHeads(count, 1000));
  const holder = { type: 'resource', recordId: '<urn:holder>', date: '2024-03-01T10:00:00Z' } as const;
  // Ranges that begin inside a record first read its contents as records.
  const nested = file('long-heads-nested.warc', [
    ...longHeads(20),
    ...recordParts({ ...holder, targetUri: 'http://long.test/holder' }, inner),
    ...longHeads(200, 2000),
  ]);
  for (const [path, records] of [
    [apart, count],
    [shared, count],
    [nested, 221],
  ] as const) {
    const urls: string[] = [];
    let batches = 0;
    for await (const item of scanFiles([path], { httpHeads: true })) {
      if (item.kind !== 'batch') continue;
      const { columns } = item.batch;
      batches++;
      assert.ok(columns.text.length + columns.httpHeads.length < 4_000_000, path);
      for (let i = 0; i < columns.count; i++) {
        urls.push(item.batch.text(i, 'targetUri'));
        assert.equal(item.batch.httpHead(i).length, columns.httpHeadBytes[i]);
      }
    }
    assert.ok(batches > 3, `${batches} batches of ${path}`);
    assert.deepEqual([urls.length, new Set(urls).size], [records, records], path);
    const alone = await scan([path], {});
    for (const rangeBytes of [2_500_000, 700_000])
      assert.deepEqual(await scan([path], { workers: 2, rangeBytes }), alone, `${path} in ranges of ${rangeBytes}`);
  }
});

test('a scan that is not read to its end leaves nothing waiting', async () => {
  const path = file(
    'left.warc.gz',
    longHeads(600).map((record) => gzipSync(record)),
  );
  for (let round = 0; round < 3; round++) {
    for await (const item of scanFiles([path, path, path], { workers: 2 })) {
      assert.equal(item.kind, 'batch');
      break;
    }
  }
  assert.equal((await scan([path], { workers: 2 })).records.length, 600);
});

/** A worker script that scans as usual, and dies in ranges that begin after `from`: always, or once. */
function deadlyScript(name: string, from: number, isOnce: boolean): URL {
  const path = join(directory, `${name}.ts`);
  const died = join(directory, `${name}.died`);
  writeFileSync(
    path,
    `import { existsSync, writeFileSync } from 'node:fs';
     import { parentPort } from 'node:worker_threads';
     import ${JSON.stringify(import.meta.resolve('./scan-worker.ts'))};
     parentPort.on('message', ({ job }) => {
       if (!job.path.endsWith('deadly.warc.gz') || job.from < ${from} || (${isOnce} && existsSync(${JSON.stringify(died)}))) return;
       writeFileSync(${JSON.stringify(died)}, '');
       process.exit(1);
     });`,
  );
  return pathToFileURL(path);
}

test('the first death of a thread costs nothing, and a second death costs the rest of the file', async () => {
  const { members } = records({ coding: 'gzip' }, 120);
  const names = ['before', 'deadly', 'after'].map((name) => join(directory, `${name}.warc.gz`));
  for (const name of names) writeFileSync(name, Buffer.concat(members));
  const rangeBytes = Math.floor(Buffer.concat(members).length / 5);
  const expected = await scan(names, { workers: 2, rangeBytes });
  const once = { workers: 2, rangeBytes, script: deadlyScript('once', 2 * rangeBytes, true) };
  assert.deepEqual(await scan(names, once), expected);
  const always = { workers: 2, rangeBytes, script: deadlyScript('always', 2 * rangeBytes, false) };
  const { ends, records: found } = await scan(names, always);
  assert.deepEqual(ends, [expected.ends[0], `${names[1]} SCAN_TOO_LARGE`, expected.ends[2]]);
  assert.deepEqual(found.slice(0, 120), expected.records.slice(0, 120));
  assert.deepEqual(found.slice(-120), expected.records.slice(-120));
  const read = found.length - 240;
  assert.ok(read > 0 && read < 120, `${read} records of the deadly file`);
  assert.deepEqual(found.slice(120, -120), expected.records.slice(120, 120 + read));
});

test('a scan can be aborted', async () => {
  const path = file('called-off.warc.gz', records({ coding: 'gzip' }, 20).members);
  const controller = new AbortController();
  const items = scanFiles([path], { rangeBytes: 500, workers: 1, signal: controller.signal });
  await items.next();
  controller.abort();
  await assert.rejects(
    async () => {
      for await (const _ of items);
    },
    { name: 'AbortError' },
  );
});

for (const [name, start] of [
  ['a record', recordStart(150 * 1024 * 1024)],
  ['garbage', Buffer.from('no record\n')],
] as const)
  test(`a scan on the caller's thread can be abandoned in the middle of ${name} that inflates from very few bytes`, async () => {
    const path = file(`${name}.warc.gz`, [gzipSync(Buffer.concat([start, Buffer.alloc(150 * 1024 * 1024)]))]);
    const controller = new AbortController();
    void setImmediate().then(() => controller.abort(new Error('given up')));
    await assert.rejects(scan([path], { signal: controller.signal }), /given up/);
    const whole = await scan([path], {});
    assert.deepEqual(whole, await scan([path], { workers: 1 }));
    assert.deepEqual([whole.ends, whole.bytes], [[`${path} ${name === 'garbage' ? 0 : 1}`], statSync(path).size]);
  });

test('a scan can be abandoned in the middle of a record that is read again for its digest', async () => {
  const length = 150 * 1024 * 1024;
  const start = recordStart(length, `WARC-Block-Digest: sha256:${'0'.repeat(64)}\r\n`);
  const path = file('doubtful.warc.gz', [gzipSync(Buffer.concat([start, Buffer.alloc(length)]))]);
  const pieces = async (judgesDigests: boolean) => {
    const found: string[][] = [];
    for await (const item of scanFiles([path], { judgesDigests }))
      if (item.kind === 'batch') found.push(item.batch.findings.map(({ code }) => code));
    return found;
  };
  const judged = await pieces(true);
  assert.ok(judged.length > (await pieces(false)).length, 'pieces in between');
  assert.equal(judged.flat().filter((code) => code === 'block-digest-mismatch').length, 1);
});

function recordStart(length: number, fields = ''): Buffer {
  return Buffer.from(`WARC/1.1\r\nWARC-Type: resource\r\n${fields}Content-Length: ${length}\r\n\r\n`);
}

for (const coding of ['gzip', 'zstd', 'none'] as const)
  test(`ranges that meet around unreadable bytes give the same facts as a single range: ${coding}`, async (t) => {
    const { start, members } = records({ coding }, 150);
    const file = join(directory, `gap-${coding}.warc`);
    writeFileSync(file, Buffer.concat([start, ...members]));
    const { ino, size } = statSync(file);
    const { readSync } = fs;
    t.after(() => {
      fs.readSync = readSync;
      syncBuiltinESMExports();
    });
    for (const from of [0, 4096, Math.floor(size / 8192) * 4096, Math.floor((size - 1) / 4096) * 4096]) {
      fs.readSync = ((...given: [number, Uint8Array, number, number, number]) => {
        const [descriptor, , , length, position] = given;
        if (position < from + 4096 && position + length > from && fs.fstatSync(descriptor).ino === ino)
          throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' });
        return readSync(...given);
      }) as typeof readSync;
      syncBuiltinESMExports();
      const whole = await scan([file], {});
      assert.ok(whole.records.length > 50 && whole.records.length < 150, `${whole.records.length}`);
      assert.equal(whole.findings.filter((finding) => finding.startsWith(`sector-unreadable ${from} `)).length, 1);
      for (const rangeBytes of [1000, 4096, 5000, 10_000])
        assert.deepEqual(await scan([file], { rangeBytes }), whole, `from ${from}, ranges of ${rangeBytes}`);
    }
  });
