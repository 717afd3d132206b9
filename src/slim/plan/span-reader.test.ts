import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { digestOf, toHex, utf8 } from '../../base/index.ts';
import { type Coding, WarcFileWriter, type WrittenRecord } from '../../warc/index.ts';
import { comparePayloads } from './payload-comparison.ts';
import { type Span, SpanReader } from './span-reader.ts';

const RECORDS = 60;

function bodyOf(number: number): Uint8Array {
  return utf8(`record ${number} `.repeat(number * 20 + 1));
}

async function withFile(
  coding: Coding,
  body: (path: string, records: WrittenRecord[]) => void | Promise<void>,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-spans-'));
  try {
    const path = join(directory, 'a.warc');
    const writer = await WarcFileWriter.create(path, { coding });
    const records: WrittenRecord[] = [];
    for (let number = 0; number < RECORDS; number++) {
      const record = { type: 'resource', recordId: `<urn:x:${number}>`, date: '2024-01-01T00:00:00Z' } as const;
      records.push(await writer.write({ ...record, targetUri: `http://a.test/${number}` }, bodyOf(number)));
    }
    await writer.finish();
    await body(path, records);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** What a reader finds at the spans: number and digest of each record, or undefined. */
function found(path: string, spans: readonly Span[]): (string | undefined)[] {
  using reader = new SpanReader(path);
  const seen: (string | undefined)[] = [];
  reader.read(spans, {
    wants: () => ({ payload: ['sha256'] }),
    onRecord: (index, record) => {
      assert.equal(index, seen.length);
      seen.push(record && `${record.head.targetUri} ${toHex(record.facts.payloadDigests[0]!.bytes)}`);
    },
  });
  return seen;
}

const expected = (number: number) => `http://a.test/${number} ${toHex(digestOf('sha256', bodyOf(number)).bytes)}`;

for (const coding of ['gzip', 'none', 'zstd'] as const) {
  test(`chosen records are read without the records between them, ${coding}`, async () => {
    await withFile(coding, (path, records) => {
      const chosen = records.flatMap((record, number) => (number % 7 === 3 || number > 50 ? [{ record, number }] : []));
      assert.deepEqual(
        found(
          path,
          chosen.map(({ record }) => record),
        ),
        chosen.map(({ number }) => expected(number)),
      );
      assert.deepEqual(found(path, []), []);
    });
  });

  test(`a damaged record is reported as missing, and the others are read, ${coding}`, async () => {
    await withFile(coding, (path, records) => {
      const image = readFileSync(path);
      const { offset } = records[20]!;
      image.fill(0, offset, offset + 30);
      writeFileSync(path, image);
      const numbers = [5, 20, 21, 40];
      assert.deepEqual(
        found(
          path,
          numbers.map((number) => records[number]!),
        ),
        numbers.map((number) => (number === 20 ? undefined : expected(number))),
      );
    });
  });

  test(`a span after the end of the file is reported as missing, ${coding}`, async () => {
    await withFile(coding, (path, records) => {
      const { size } = { size: readFileSync(path).length };
      assert.deepEqual(found(path, [records[3]!, { offset: size, length: 100 }]), [expected(3), undefined]);
    });
  });

  test(`payloads are compared byte by byte, ${coding}`, async () => {
    await withFile(coding, (path, records) => {
      const place = (number: number) => ({ file: path, ...records[number]! });
      const missing = { file: path, offset: 3, length: 50 };
      for (const payloadBytes of [bodyOf(9).length, null, 17 * 1024 * 1024]) {
        assert.deepEqual(
          comparePayloads({ original: place(9), payloadBytes, duplicates: [place(9), place(8), place(10), missing] }),
          ['same', 'different', 'different', 'unreadable'],
          String(payloadBytes),
        );
      }
      assert.deepEqual(comparePayloads({ original: missing, payloadBytes: 5, duplicates: [place(1)] }), ['unreadable']);
      const gone = { file: `${path}.gone`, offset: 0, length: 1 };
      assert.deepEqual(comparePayloads({ original: gone, payloadBytes: 5, duplicates: [place(1)] }), ['unreadable']);
    });
  });
}
