import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  CDX_7,
  CDX_9,
  CDX_11,
  CDX_14,
  type CdxFormat,
  cdxFormatOf,
  cdxLineFormatter,
  cdxLineParser,
  formatCdxHeader,
  parseCdxHeader,
} from './cdx.ts';
import type { CdxEntry } from './cdx-entry.ts';
import type { IndexFindingCode } from './cdx-finding.ts';

const refuse = (code: IndexFindingCode, detail?: string) => assert.fail(`${code}: ${detail}`);

const LINE_11 =
  'test,example)/a 20240301100000 http://www.example.test/a text/html 200 SPY26MJKW5H7YED73KP4SKZ3QEA5BN4S - - 409 202 demo.warc.gz';

test('the number of columns decides the format of a line', () => {
  assert.equal(cdxFormatOf(LINE_11), CDX_11);
  assert.equal(cdxFormatOf('k 20240301100000 u m 200 d - 1 f'), CDX_9);
  assert.equal(cdxFormatOf('k 20240301100000 u m 200 d 7'), CDX_7);
  assert.equal(cdxFormatOf(`${LINE_11} 1 2 f`), CDX_14);
  assert.equal(cdxFormatOf('three column line'), undefined);
});

test('all fields of a CDX-11 line are read', () => {
  assert.deepEqual(cdxLineParser(CDX_11)(LINE_11, refuse), {
    urlKey: 'test,example)/a',
    timestamp: '20240301100000',
    url: 'http://www.example.test/a',
    mime: 'text/html',
    status: '200',
    digest: 'SPY26MJKW5H7YED73KP4SKZ3QEA5BN4S',
    redirect: undefined,
    robotFlags: undefined,
    length: 409,
    offset: 202,
    filename: 'demo.warc.gz',
    extra: [],
  });
});

test('a header names the columns in any order, with any delimiter, and unknown letters are kept', () => {
  const format = parseCdxHeader('|CDX|A|b|e|a|V|v|g');
  assert.deepEqual(format, { delimiter: '|', letters: ['A', 'b', 'e', 'a', 'V', 'v', 'g'], original: false });
  const line = 'k x|20240301100000|192.0.2.1|http://a/ b|12|34|f.arc.gz';
  const entry = cdxLineParser(format!)(line, refuse)!;
  assert.equal(entry.urlKey, 'k x');
  assert.equal(entry.url, 'http://a/ b');
  assert.equal(entry.offset, 12);
  assert.deepEqual(entry.extra, [
    ['cdx:e', '192.0.2.1'],
    ['cdx:v', '34'],
  ]);
  assert.equal(formatCdxHeader(format!), '|CDX|A|b|e|a|V|v|g');
});

test('a header without its leading delimiter is understood, and an ordinary line is not a header', () => {
  assert.deepEqual(parseCdxHeader('CDX N b a')?.letters, ['N', 'b', 'a']);
  assert.equal(parseCdxHeader(LINE_11), undefined);
  assert.equal(parseCdxHeader(' CDXX N b a'), undefined);
  assert.equal(formatCdxHeader(CDX_11), ' CDX N b a m s k r M S V g');
  assert.equal(formatCdxHeader(CDX_14), undefined);
});

test('the original of a revisit is read from a line under a CDX-11 header', () => {
  const entry = cdxLineParser(CDX_11)(`${LINE_11} 500 7 first.warc.gz`, refuse)!;
  assert.deepEqual(entry.extra, [
    ['orig.length', '500'],
    ['orig.offset', '7'],
    ['orig.filename', 'first.warc.gz'],
  ]);
  assert.equal(cdxLineFormatter(CDX_14)(entry), `${LINE_11} 500 7 first.warc.gz`);
});

test('columns that unescaped blanks split are joined again, with a warning', () => {
  const codes: string[] = [];
  const parse = cdxLineParser(CDX_9);
  const mime = parse('k 20240301100000 http://a/ text/html; charset=UTF-8 200 - - 17 f', (code) => codes.push(code))!;
  assert.equal(mime.mime, 'text/html; charset=UTF-8');
  assert.equal(mime.offset, 17);
  const url = parse('k 20240301100000 http://a/b c d text/html 200 - - 18 f', (code) => codes.push(code))!;
  assert.equal(url.url, 'http://a/b c d');
  assert.equal(url.offset, 18);
  assert.deepEqual(codes, ['cdx-columns-surplus', 'cdx-columns-surplus']);
});

test('a line with too few columns or no timestamp is left out and reported', () => {
  const codes: string[] = [];
  const parse = cdxLineParser(CDX_9);
  assert.equal(
    parse('k 20240301100000 http://a/', (code) => codes.push(code)),
    undefined,
  );
  assert.equal(
    parse('k yesterday http://a/ m 200 - - 17 f', (code) => codes.push(code)),
    undefined,
  );
  assert.ok(parse('k 202403011000 http://a/ m 200 - - x17 f', (code) => codes.push(code)));
  assert.deepEqual(codes, ['cdx-columns', 'cdx-timestamp-invalid', 'cdx-timestamp-length', 'cdx-number-invalid']);
});

test('a blank or line end inside a field is percent-encoded', () => {
  const entry = { ...cdxLineParser(CDX_11)(LINE_11, refuse)!, url: 'http://a/b c\n' };
  assert.match(cdxLineFormatter(CDX_11)(entry), / http:\/\/a\/b%20c%0A text\/html 200 /);
});

test('digests can be limited to SHA-1 in base32, with a dash for any other digest', () => {
  const format = cdxLineFormatter(CDX_11, { onlySha1: true });
  const digestColumn = (digest: string | undefined) =>
    format({ ...cdxLineParser(CDX_11)(LINE_11, refuse)!, digest }).split(' ')[5];
  const base32 = '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ';
  assert.equal(digestColumn(`sha1:${base32}`), base32);
  assert.equal(digestColumn(`sha-1:${base32.toLowerCase()}`), base32);
  assert.equal(digestColumn('SHA1:DA39A3EE5E6B4B0D3255BFEF95601890AFD80709'), base32);
  for (const other of [
    `sha256:${'0123456789abcdef'.repeat(4)}`,
    'md5:d41d8cd98f00b204e9800998ecf8427e',
    'ABC',
    undefined,
  ])
    assert.equal(digestColumn(other), '-', other);
});

const field = fc.stringMatching(/^[!-~]{1,20}$/).filter((text) => text !== '-');
const accented = fc.constantFrom('é', '日本', '💡').map((text) => `x${text}`);
const optional = fc.option(fc.oneof(field, accented), { nil: undefined });
const count = fc.option(fc.nat(Number.MAX_SAFE_INTEGER), { nil: undefined });
const timestamp = fc.oneof(fc.stringMatching(/^[0-9]{14}$/), fc.stringMatching(/^[0-9]{17}$/));

/** Entries that a format can express: fields without a column are absent. */
function entriesOf(format: CdxFormat): fc.Arbitrary<CdxEntry> {
  const when = <T>(letter: string, values: fc.Arbitrary<T | undefined>) =>
    format.letters.includes(letter) ? values : fc.constant(undefined);
  const original = format.original
    ? fc.record({ length: count, offset: count, file: optional })
    : fc.constant({ length: undefined, offset: undefined, file: undefined });
  return fc.record(
    {
      urlKey: field,
      timestamp,
      url: when('a', optional),
      mime: when('m', optional),
      status: when('s', optional),
      digest: when('k', optional),
      redirect: when('r', optional),
      robotFlags: when('M', optional),
      length: when('S', count),
      offset: when('V', count),
      filename: when('g', optional),
      extra: original.map(({ length, offset, file }) => [
        ...(length === undefined ? [] : [['orig.length', String(length)] as const]),
        ...(offset === undefined ? [] : [['orig.offset', String(offset)] as const]),
        ...(file === undefined ? [] : [['orig.filename', file] as const]),
      ]),
    },
    { noNullPrototype: true },
  );
}

for (const [name, format] of Object.entries({ CDX_7, CDX_9, CDX_11, CDX_14 })) {
  test(`every entry that ${name} can express is the same after writing and reading`, () => {
    const write = cdxLineFormatter(format);
    const read = cdxLineParser(format);
    fc.assert(
      fc.property(entriesOf(format), (entry) => {
        assert.deepEqual(read(write(entry), refuse), entry);
      }),
    );
  });
}
