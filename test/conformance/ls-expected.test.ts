/**
 * Compares `pinakes warc ls --json` with the reference listings of the shared corpora, field by field, for all files in
 * one process. Differences are listed here and explained in docs/conformance-ls.md. A listed difference that no longer
 * occurs fails too, so that the list stays true.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const CORPORA = fileURLToPath(new URL('../../../shared/corpora', import.meta.url));
const EXPECTED = join(CORPORA, '_expected');
const LAUNCHER = resolve(import.meta.dirname, '../../pinakes');

/** Fields that the reference listings do not have. */
const OURS_ALONE = new Set(['file', 'inner_offset', 'length', 'url']);

const BODY_FIELDS = ['block_digest_ok', 'block_sha1', 'compressed_length', 'error', 'payload_digest_matches'];

/** The differing fields of a record, by `file:offset`. */
const DIFFERENCES: Readonly<Record<string, readonly string[]>> = {
  'gzip/derived/gzip-handover__bad-isize-member-2.warc.gz:1023': [...BODY_FIELDS, 'payload_sha1_raw'],
  'gzip/derived/gzip-handover__two-members-per-record.warc.gz:0': BODY_FIELDS.slice(0, 4),
  'gzip/derived/gzip-handover__two-members-per-record.warc.gz:1175': [...BODY_FIELDS, 'payload_sha1_raw'],
  'warc-http-bodies/webrecorder+warcio/data__example-wrong-chunks.warc.gz:0': [...BODY_FIELDS, 'payload_sha1_raw'],
  'warc-http-bodies/webrecorder+warcio/data__example-wrong-chunks.warc.gz:1130': ['compressed_length'],
  'warc-malformed/netarchivesuite+jwat/jwat-warc__src__invalid-warcfile-segment-number-response.warc:0': [
    'payload_digest_matches',
  ],
  'warc-malformed/netarchivesuite+jwat/jwat-warc__src__invalid-warcfile-segment-number-response.warc:1059': [
    'payload_digest_matches',
  ],
  'warc-revisit/webrecorder+warcio/data__example-digest.warc:2758': ['block_digest_ok'],
  'warc-valid/helgeho+Web2Warc/crawls__out__Example-20160128144235__Example-20160128144235.warc.gz:322': [
    'payload_digest_matches',
  ],
};

type Listed = Record<string, unknown>;

function parseLines(text: string): Listed[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Listed);
}

function expectedFiles(): string[] {
  const entries = readdirSync(EXPECTED, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => relative(EXPECTED, join(entry.parentPath, entry.name)));
  return paths.map((path) => path.replace(/\.jsonl$/, '')).sort();
}

/**
 * Removes the matching record from our list: the one at the same offset, and with the same id when there are several.
 */
function take(ours: Listed[], expected: Listed): Listed | undefined {
  const isThere = (one: Listed) => one.offset === expected.offset;
  const exact = ours.findIndex((one) => isThere(one) && one.id === expected.id);
  const index = exact >= 0 ? exact : ours.findIndex(isThere);
  return index < 0 ? undefined : ours.splice(index, 1)[0];
}

function differingFields(expected: Listed, ours: Listed, isShared: boolean): string[] {
  // The reference stops reading a record without a length.
  const isShort = expected.error === 'bad content-length';
  const names = isShort ? Object.keys(expected) : [...new Set([...Object.keys(expected), ...Object.keys(ours)])];
  const compared = names.filter((name) => !OURS_ALONE.has(name) && !(isShared && name === 'compressed_length'));
  return compared.filter((name) => !Object.is(expected[name], ours[name])).sort();
}

test('ls --json agrees with the reference listings in every field, except for the known differences', {
  skip: !existsSync(EXPECTED) && 'shared corpora absent',
}, () => {
  const files = expectedFiles();
  const args = ['warc', 'ls', '--json', ...files];
  const run = spawnSync(LAUNCHER, args, { cwd: CORPORA, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  assert.equal(run.status, 0, run.stderr);
  const byFile = Map.groupBy(parseLines(run.stdout), (record) => record.file as string);
  const differences: Record<string, string[]> = {};
  let compared = 0;
  for (const file of files) {
    const reference = parseLines(readFileSync(join(EXPECTED, `${file}.jsonl`), 'utf8'));
    const ours = [...(byFile.get(file) ?? [])];
    const offsets = Map.groupBy(ours, (record) => record.offset);
    // Entries without a type are about a place where the reference stopped or skipped bytes. We have findings for those
    // places.
    for (const expected of reference.filter((entry) => entry.type !== undefined)) {
      const isShared = (offsets.get(expected.offset)?.length ?? 0) > 1;
      const record = take(ours, expected);
      assert.ok(record, `${file}:${expected.offset} is missing`);
      const fields = differingFields(expected, record, isShared);
      if (fields.length > 0) differences[`${file}:${expected.offset}`] = fields;
      compared++;
    }
    const isWhole = reference.every((entry) => entry.type !== undefined && entry.error === undefined);
    if (isWhole) assert.deepEqual(ours, [], `${file}: records that the reference does not have`);
  }
  assert.deepEqual(differences, DIFFERENCES);
  assert.ok(compared > 1000, `${compared} records compared`);
});
