/**
 * All shared test files in one archive. Other tools read every segment to its end and find every record that they found
 * in the originals, and a rebuild changes no answer.
 *
 * The files are in `../shared/corpora`, or where `CORPORA` says. A representative part is used; `CORPORA_ALL=1` uses
 * all. `PYTHON` names the interpreter that has warcio, FastWARC and pywb, `JWARC_JAR` the program file of jwarc. A
 * missing tool is skipped.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, test } from 'node:test';
import { type Archive, createArchive, openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { readRecords } from '../../src/warc/index.ts';

const CORPORA = process.env.CORPORA ?? join(import.meta.dirname, '../../../shared/corpora');
const PYTHON = process.env.PYTHON ?? 'python3';
const JWARC = process.env.JWARC_JAR;
const WARC_FILE = /\.(w?arc(\.gz|\.zst)?(\.open)?|wacz)$/i;
/** Every kind of file, and all malformed ones. */
const PART =
  /^(warc-malformed|warc-lf-only|gzip|zstd|wacz|warc-post|formats-examples)\/|^arc\/webrecorder|^arc\/.*test-arc/;

const isMissing = !existsSync(CORPORA) && 'the shared test files are absent';
const absent = (module: string) =>
  isMissing || (spawnSync(PYTHON, ['-c', `import ${module}`]).status !== 0 && `the Python package ${module} is absent`);

let directory: string;
let archive: Archive;
let files: string[];
/** The segments as files, without odd segments. */
let segments: string[];

before(async () => {
  directory = mkdtempSync(join(tmpdir(), 'pinakes-corpora-'));
  if (isMissing) return;
  files = readdirSync(CORPORA, { recursive: true, encoding: 'utf8' })
    .filter((name) => WARC_FILE.test(name) && !name.startsWith('_expected'))
    .filter((name) => process.env.CORPORA_ALL === '1' || PART.test(name))
    .sort();
  await createArchive(join(directory, 'archive'), {});
  let now = Date.UTC(2026, 0, 1);
  archive = await openArchive(join(directory, 'archive'), {
    clock: () => (now += 1000),
    newId: seededIds(seededRandom(1)),
  });
  const report = await archive.add(
    files.map((name) => join(CORPORA, name)),
    { workers: 0 },
  );
  const refused = report.failures.map(({ where }) => where && relative(CORPORA, where));
  assert.deepEqual(refused, ['wacz/webrecorder+py-wacz/fixtures__invalid_example_1.wacz']);
  mkdirSync(join(directory, 'segments'));
  segments = [];
  for (const { name } of await archive.segments()) {
    const [, file] = name.split('/') as [string, string];
    if (file.startsWith('odd-')) continue;
    const pieces: Uint8Array[] = [];
    for await (const piece of archive.segmentBytes(name)) pieces.push(Buffer.from(piece));
    segments.push(join(directory, 'segments', file));
    writeFileSync(segments.at(-1)!, Buffer.concat(pieces));
  }
});
after(async () => {
  await archive?.close();
  rmSync(directory, { recursive: true, force: true });
});

async function answers(): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of archive.exportCdxj({})) lines.push(line);
  const { catalogBytes: _, ...stats } = await archive.stats();
  return [...lines, JSON.stringify(stats)];
}

test('a rebuild gives the same index and the same statistics, byte for byte', { skip: isMissing }, async () => {
  const earlier = await answers();
  await archive.rebuild();
  const later = await answers();
  assert.deepEqual(
    later.filter((line) => !earlier.includes(line)),
    [],
  );
  assert.deepEqual(later.length, earlier.length);
});

test('no record of an ordinary segment is odd or loose', { skip: isMissing }, async () => {
  for (const path of segments) {
    for await (const record of readRecords(path)) {
      for await (const _ of record.body());
      const where = `${path}:${record.head.offset}`;
      const { isTrailerSound, spansMembers } = record.tail!;
      assert.deepEqual([record.head.form, isTrailerSound, spansMembers], ['sound', true, false], where);
    }
  }
});

async function gzipSegments(): Promise<{ path: string; records: number }[]> {
  const found: { path: string; records: number }[] = [];
  for (const path of segments.filter((name) => name.endsWith('.gz'))) {
    let records = 0;
    for await (const _ of readRecords(path)) records++;
    found.push({ path, records });
  }
  return found;
}

const WARCIO_COUNT = `
import sys
from warcio.archiveiterator import ArchiveIterator
count = 0
with open(sys.argv[1], 'rb') as stream:
    for record in ArchiveIterator(stream):
        record.raw_stream.read()
        count += 1
print(count)
`;

test('warcio reads every segment to its end', { skip: absent('warcio') }, async () => {
  for (const { path, records } of await gzipSegments()) {
    const { stdout, stderr } = spawnSync(PYTHON, ['-c', WARCIO_COUNT, path], { encoding: 'utf8' });
    assert.equal(stdout.trim(), String(records), stderr);
  }
});

/** Reads each member alone, so that a record at which a tool stops does not hide the others. */
const MEMBERS = `
import io, re, sys, zlib
def members(data):
    at = 0
    while at < len(data):
        decoder = zlib.decompressobj(31)
        record = decoder.decompress(data[at:])
        end = len(data) - len(decoder.unused_data)
        yield data[at:end], record
        at = end
def report(record, why):
    head = record.split(b'\\r\\n\\r\\n', 1)[0].decode('utf-8', 'replace')
    lines = head.split('\\r\\n')
    print(why + '\\t' + ' / '.join(lines[1:3]).replace('\\t', '<TAB>'))
`;
const FASTWARC_MEMBERS = `${MEMBERS}
from fastwarc.warc import ArchiveIterator, WarcRecordType
sound = []
for member, record in members(open(sys.argv[1], 'rb').read()):
    try:
        found = list(ArchiveIterator(io.BytesIO(member), record_types=WarcRecordType.any_type, parse_http=False))
        if len(found) == 1: sound.append(member)
        else: report(record, 'nothing')
    except Exception as error: report(record, str(error))
count = 0
for item in ArchiveIterator(io.BytesIO(b''.join(sound)), record_types=WarcRecordType.any_type, parse_http=False):
    item.reader.read()
    count += 1
assert count == len(sound), (count, len(sound))
`;

/**
 * FastWARC stops at field names with unusual case, and at a value that begins on the next line. The standard allows
 * both.
 */
const FASTWARC_FAULT = /^Invalid WARC header\tWARC-(TYPE: |Type: {2}\/ (<TAB>| ))/;

test('FastWARC reads every segment to its end, except for records that the standard allows', {
  skip: absent('fastwarc'),
}, async () => {
  for (const { path } of await gzipSegments()) {
    const { status, stdout, stderr } = spawnSync(PYTHON, ['-c', FASTWARC_MEMBERS, path], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    for (const line of stdout.trim().split('\n')) if (line) assert.match(line, FASTWARC_FAULT);
  }
});

const PYWB_INDEX = `${MEMBERS}
import logging, os, subprocess
logging.disable(logging.WARNING)
from pywb.indexer.archiveindexer import DefaultRecordParser
def is_capture(entry):
    if not entry.get('url') or entry.record.rec_type == 'warcinfo': return False
    return entry.record.rec_type != 'metadata' or entry['mime'] not in ('application/warc-fields', 'text/anvl')
sound, captures = [], 0
for member, record in members(open(sys.argv[1], 'rb').read()):
    try:
        entries = DefaultRecordParser(sort=False)(io.BytesIO(member))
        captures += sum(1 for entry in entries if is_capture(entry))
        sound.append(member)
    except Exception as error: report(record, type(error).__name__)
os.chdir(sys.argv[2])
open('sound.warc.gz', 'wb').write(b''.join(sound))
manager = os.path.join(os.path.dirname(sys.executable), 'wb-manager')
subprocess.run([manager, 'init', 'all'], check=True, capture_output=True)
added = subprocess.run([manager, 'add', 'all', 'sound.warc.gz'], capture_output=True, text=True)
index = sum(1 for _ in open('collections/all/indexes/index.cdxj'))
print('indexed %d of %d' % (index, captures))
`;

/**
 * pywb does not accept a value that begins on the next line, which the standard allows: its index fails at the date.
 */
const PYWB_FAULT = /^ValueError\tWARC-Type: {2}\/ (<TAB>| )/;
const PYWB_FAULTS_MAX = 5;

test('pywb indexes every capture of every segment, except for a few records that the standard allows', {
  skip: absent('pywb'),
}, async () => {
  for (const { path } of await gzipSegments()) {
    const place = mkdtempSync(join(directory, 'pywb-'));
    const { status, stdout, stderr } = spawnSync(PYTHON, ['-c', PYWB_INDEX, path, place], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    const lines = stdout.trim().split('\n');
    const [, indexed, captures] = /^indexed (\d+) of (\d+)$/.exec(lines.pop()!)!;
    assert.equal(indexed, captures);
    for (const line of lines) assert.match(line, PYWB_FAULT);
    assert.ok(lines.length <= PYWB_FAULTS_MAX, stdout);
  }
});

test('jwarc reads every segment to its end', {
  skip: isMissing || (!JWARC && 'JWARC_JAR does not name the program'),
}, async () => {
  for (const { path, records } of await gzipSegments()) {
    const { status, stdout, stderr } = spawnSync('java', ['-jar', JWARC!, 'ls', path], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.equal(stdout.trim().split('\n').length, records);
  }
});

const WARCIO_OFFSETS = `
import json, sys
from warcio.archiveiterator import ArchiveIterator
for path in sys.argv[1:]:
    try:
        with open(path, 'rb') as stream:
            records = ArchiveIterator(stream)
            for record in records:
                head = record.rec_headers
                line = ' '.join([head.protocol or ''] + [value for _, value in head.headers])
                name = head.get_header('WARC-Record-ID') or str(records.get_record_offset())
                print(json.dumps([path, records.get_record_offset(), name, line[:200]]))
                records.read_to_end(record)
    except Exception: pass
`;

/**
 * Places in the originals that warcio reads as records although the bytes there are not records: file, offset, and what
 * the bytes are.
 */
const NO_RECORDS: readonly (readonly [file: string, offset: number, what: string])[] = [];

test('every record that warcio reads in the originals is in the archive', { skip: absent('warcio') }, async () => {
  const plain = files.filter((name) => !/\.(wacz|zst)$/.test(name)).map((name) => join(CORPORA, name));
  const { stdout } = spawnSync(PYTHON, ['-c', WARCIO_OFFSETS, ...plain], { encoding: 'utf8', maxBuffer: 100_000_000 });
  /** By record id, or by offset where there is no id. warcio reports other offsets for records that share a member. */
  const own = new Map<string, Set<string>>();
  for (const path of plain) {
    const names = new Set<string>();
    for await (const { head } of readRecords(path)) names.add(head.recordId ?? '').add(String(head.offset));
    own.set(path, names);
  }
  const isNone = (file: string, offset: number) =>
    NO_RECORDS.some(([name, at]) => file.endsWith(name) && at === offset);
  const lost: string[] = [];
  let read = 0;
  for (const line of stdout.trim().split('\n')) {
    const [path, offset, name, head] = JSON.parse(line) as [string, number, string, string];
    read++;
    const isRead = own.get(path)!.has(name) || own.get(path)!.has(String(offset));
    if (!isRead && !isNone(path, offset)) lost.push(`${relative(CORPORA, path)}:${offset} ${head}`);
  }
  assert.ok(read > 0);
  assert.deepEqual(lost, []);
});
