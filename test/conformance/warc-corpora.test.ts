/**
 * Every WARC and ARC file of the shared corpora is read to its end, and the records agree with the reference lists. A
 * simple reader made these lists. It stops at the first bytes that it cannot read. The differences are listed here and,
 * with the reasons, in docs/conformance.md.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BlockScanner, judgeDigests, readRecords, verdictScanOptions } from '../../src/warc/index.ts';

const CORPORA = fileURLToPath(new URL('../../../shared/corpora/', import.meta.url));
const EXPECTED = join(CORPORA, '_expected');
const skip = !existsSync(CORPORA) && 'shared corpora absent';

/**
 * Files whose list ends early or has lines that are not records. `errors` is the number of lines that are not records,
 * and `more` the number of records that the list lacks.
 */
const DIFFERENCES: Readonly<Record<string, { readonly errors: number; readonly more: number }>> = {
  'gzip-handover__bad-crc32-member-3.warc.gz': { errors: 1, more: 1 },
  'gzip-handover__bad-isize-member-2.warc.gz': { errors: 1, more: 1 },
  'gzip-handover__reserved-flag-bits.warc.gz': { errors: 1, more: 3 },
  'gzip-handover__trailing-garbage.warc.gz': { errors: 1, more: 0 },
  'gzip-handover__trailing-zeros.warc.gz': { errors: 1, more: 0 },
  'gzip-handover__truncated-in-deflate.warc.gz': { errors: 1, more: 0 },
  'gzip-handover__truncated-in-trailer.warc.gz': { errors: 1, more: 0 },
  'gzip-handover__two-members-per-record.warc.gz': { errors: 6, more: 2 },
  'gzip-handover__zero-padding-between.warc.gz': { errors: 1, more: 3 },
  'data__example-wrong-chunks.warc.gz': { errors: 1, more: 0 },
  'testdata__warcs__corrupted-mid-record.warc.gz.open': { errors: 1, more: 0 },
  'testdata__warcs__corrupted-trailing-bytes.warc.gz.open': { errors: 1, more: 0 },
  'jwat-warc__src__invalid-warcfile-fields-empty.warc': { errors: 1, more: 1 },
  'jwat-warc__src__invalid-warcfile-fields-invalidformat.warc': { errors: 1, more: 1 },
  'jwat-warc__src__invalid-warcfile-fields-missing.warc': { errors: 1, more: 1 },
  'jwat-warc__src__invalid-warcfile-lonely-continuation.warc': { errors: 1, more: 1 },
  'jwat-warc__src__invalid-warcfile-lonely-request-response-resource-conversion.warc': { errors: 1, more: 4 },
  'jwat-warc__src__invalid-warcfile-lonely-revisit.warc': { errors: 1, more: 1 },
  'jwat-warc__src__invalid-warcfile-lonely-warcinfo-metadata.warc': { errors: 1, more: 2 },
  'jwat-warc__src__invalid-warcfile-record-then-garbage.warc': { errors: 1, more: 0 },
  'warcs__broken.warc': { errors: 1, more: 0 },
  'Data__Invalid__malformed_header.warc': { errors: 1, more: 20 },
  'Data__Invalid__multiline_header_values.warc': { errors: 1, more: 1 },
  'data__example-bad-length.warc': { errors: 1, more: 3 },
  'data__example-trunc.warc': { errors: 1, more: 1 },
  'jwat-warc__src__valid-warcfile-upper-lower-case.warc': { errors: 1, more: 4 },
  'warcs__HTTP204.warc': { errors: 1, more: 2 },
};

/** The minimum share of listed records that are found as listed. */
const AGREEMENT_MIN = 0.99;

type Listed = {
  readonly offset: number;
  readonly type?: string;
  readonly uri?: string | null;
  readonly date?: string | null;
  readonly id?: string | null;
};

type Found = { records: string[]; findings: number; bytes: number; mismatches: number };

async function read(path: string): Promise<Found> {
  const records: string[] = [];
  let findings = 0;
  let bytes = 0;
  let mismatches = 0;
  for await (const record of readRecords(path, { onFinding: () => findings++ })) {
    const { head } = record;
    const scanner = new BlockScanner(head, verdictScanOptions(head, ['sha256']));
    for await (const piece of record.body()) scanner.push(piece);
    const facts = scanner.end();
    bytes += facts.blockBytes;
    if (judgeDigests(head, facts, record.tail!.isComplete).payload === 'none') mismatches++;
    // The field as written: the list also has the brackets that some writers add.
    records.push(keyOf(head.offset, head.get('warc-type'), head.get('warc-target-uri'), head.date, head.recordId));
  }
  return { records, findings, bytes, mismatches };
}

function keyOf(offset: number, ...texts: readonly (string | null | undefined)[]): string {
  return [offset, ...texts.map((text) => text ?? '-')].join(' ');
}

test('every WARC and ARC file is read to its end', { skip }, async (context) => {
  const files = globSync('**/*.{warc,arc,warc.gz,arc.gz,warc.zst,warc.open,warc.gz.open}', { cwd: CORPORA });
  assert.ok(files.length > 100, `only ${files.length} files were found`);
  let [records, findings, bytes, mismatches] = [0, 0, 0, 0];
  for (const file of files) {
    const found = await read(join(CORPORA, file));
    records += found.records.length;
    findings += found.findings;
    bytes += found.bytes;
    mismatches += found.mismatches;
  }
  context.diagnostic(`${files.length} files, ${records} records, ${bytes} bytes of blocks, ${findings} findings`);
  context.diagnostic(`${mismatches} payload digests that match nothing`);
});

test('records are found at the offsets of the reference lists', { skip }, async (context) => {
  const lists = globSync('**/*.jsonl', { cwd: EXPECTED }).sort();
  assert.ok(lists.length > 50, `only ${lists.length} lists were found`);
  const differences: Record<string, { errors: number; more: number }> = {};
  const missing: string[] = [];
  let listed = 0;
  let more = 0;
  for (const list of lists) {
    const lines = readFileSync(join(EXPECTED, list), 'utf8').split('\n').filter(Boolean);
    const expected = lines.map((line) => JSON.parse(line) as Listed);
    const wanted = expected.filter(({ id }) => id !== undefined);
    const found = await read(join(CORPORA, list.replace(/\.jsonl$/, '')));
    const rest = [...found.records];
    for (const { offset, type, uri, date, id } of wanted) {
      const at = rest.indexOf(keyOf(offset, type, uri, date, id));
      if (at < 0) missing.push(`${list}: ${keyOf(offset, type, uri, date, id)}`);
      else rest.splice(at, 1);
    }
    listed += wanted.length;
    more += rest.length;
    const errors = expected.length - wanted.length;
    if (errors > 0 || rest.length > 0) {
      differences[list.replace(/^.*\//, '').replace(/\.jsonl$/, '')] = { errors, more: rest.length };
      // There must be a finding where the reference reader failed, unless the bytes there are sound.
      const isFault = !/upper-lower-case/.test(list);
      assert.ok(found.findings > 0 || !isFault, `${list}: a difference without a finding`);
    }
  }
  const agreement = (listed - missing.length) / listed;
  context.diagnostic(`${lists.length} lists, ${listed} records listed, ${listed - missing.length} found as listed`);
  context.diagnostic(`${more} further records found in ${Object.keys(differences).length} files`);
  assert.ok(agreement >= AGREEMENT_MIN, `only ${agreement} were found:\n${missing.join('\n')}`);
  assert.deepEqual(missing, [], 'every listed record is found as listed');
  assert.deepEqual(differences, DIFFERENCES);
});

test('every difference is explained in docs/conformance.md', () => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/conformance.md', import.meta.url)), 'utf8');
  for (const name of Object.keys(DIFFERENCES)) {
    const short = name.replace(/^(gzip-handover|jwat-warc__src|data|testdata__warcs|warcs|Data__Invalid)__/, '');
    assert.ok(page.includes(`\`${short}\``), `${short} is not mentioned`);
  }
});
