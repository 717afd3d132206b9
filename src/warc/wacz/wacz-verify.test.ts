import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { ZipFile } from 'yazl';
import { digestOf, type Finding, formatDigest, utf8 } from '../../base/index.ts';
import { verifyWacz } from './wacz-verify.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'pinakes-verify-'));
});
after(() => rm(directory, { recursive: true }));

const hashOf = (content: Uint8Array) => formatDigest(digestOf('sha256', content));

const INDEX = utf8(
  'test,example)/a 20240301100000 {"url": "http://www.example.test/a", "length": "4", "offset": "0", "filename": "data.warc"}\n',
);

const FILES: Readonly<Record<string, Uint8Array>> = {
  'archive/data.warc': utf8('WARC/1.1'),
  'indexes/index.cdxj': INDEX,
  'pages/pages.jsonl': utf8(
    '{"format": "json-pages-1.0", "id": "p"}\n{"url": "http://a/", "ts": "2024-03-01T10:00:00Z"}\n',
  ),
};

type Changes = {
  files?: Readonly<Record<string, Uint8Array>>;
  /** False values for files in datapackage.json. */
  resources?: readonly object[];
  datapackage?: object;
  digest?: (datapackage: Uint8Array) => object;
  deflated?: readonly string[];
};

let number = 0;

async function packed({ files = FILES, resources, datapackage, digest, deflated = [] }: Changes = {}): Promise<string> {
  const path = join(directory, `${number++}.wacz`);
  const zip = new ZipFile();
  const truth = Object.entries(files).map(([name, content]) => ({
    name: name.slice(name.lastIndexOf('/') + 1),
    path: name,
    hash: hashOf(content),
    bytes: content.length,
  }));
  const json = utf8(
    JSON.stringify({
      profile: 'data-package',
      wacz_version: '1.1.1',
      created: 'then',
      resources: resources ?? truth,
      ...datapackage,
    }),
  );
  for (const [name, content] of Object.entries(files)) {
    zip.addBuffer(Buffer.from(content), name, { compress: deflated.includes(name) });
  }
  zip.addBuffer(Buffer.from(json), 'datapackage.json');
  if (digest) zip.addBuffer(Buffer.from(JSON.stringify(digest(json))), 'datapackage-digest.json');
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path));
  return path;
}

const codesOf = async (path: string) => (await verifyWacz(path)).findings.map(({ code }) => code);

test('a fault in an inner package is reported with the name that lists use, at its place in that package', async () => {
  const inner = await packed({ files: { ...FILES, 'other.txt': utf8('x') }, resources: [] });
  const path = await packed({ files: { 'inner.wacz': await readFile(inner) }, datapackage: { profile: 'multi-wacz' } });
  const here = ({ file, ...rest }: Finding) => ({ ...rest, file: file.replace(inner, `${path}!inner.wacz`) });
  assert.deepEqual((await verifyWacz(path)).findings, (await verifyWacz(inner)).findings.map(here));
});

test('verifying reports its progress and can be aborted', async () => {
  const path = await packed();
  const ended = new AbortController();
  const signal = ended.signal;
  const seen: number[] = [];
  const { bytes } = await verifyWacz(path, { signal, onBytes: (read) => seen.push(read) });
  assert.deepEqual([seen.at(-1), seen.length > 1], [bytes, true]);
  await assert.rejects(verifyWacz(path, { signal, onBytes: () => ended.abort() }), { name: 'AbortError' });
});

test('a good package has no findings', async () => {
  const result = await verifyWacz(
    await packed({ digest: (json) => ({ path: 'datapackage.json', hash: hashOf(json) }) }),
  );
  assert.deepEqual(result.findings, []);
  assert.equal(result.worst, undefined);
  assert.equal(result.signature, 'none');
  assert.equal(result.files, 5);
});

test('missing, unlisted, wrong and short files are reported', async () => {
  const resources = [
    { path: 'archive/data.warc', hash: `sha256:${'00'.repeat(32)}`, bytes: 8 },
    { path: 'indexes/index.cdxj', hash: hashOf(INDEX), bytes: 5 },
    { path: 'archive/gone.warc', hash: 'sha256:00', bytes: 1 },
  ];
  assert.deepEqual(await codesOf(await packed({ resources })), [
    'wacz-resource-missing',
    'wacz-hash-mismatch',
    'wacz-size-mismatch',
    'wacz-resource-unlisted',
  ]);
});

test('a missing file that every package must have is reported', async () => {
  const { findings } = await verifyWacz(await packed({ files: { 'other.txt': utf8('x') } }));
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['wacz-file-missing', 'wacz-file-missing', 'wacz-file-missing'],
  );
});

test('a compressed WARC file or index is reported', async () => {
  const files = { ...FILES, 'indexes/index.cdx.gz': gzipSync(INDEX) };
  const deflated = ['archive/data.warc', 'indexes/index.cdx.gz', 'pages/pages.jsonl'];
  assert.deepEqual(await codesOf(await packed({ files, deflated })), ['wacz-not-stored', 'wacz-not-stored']);
});

test('an index that points nowhere or is out of order is reported', async () => {
  const lines = [
    'b 20240301100000 {"url": "u", "length": "9", "offset": "0", "filename": "data.warc"}',
    'a 20240301100000 {"url": "u", "offset": "0", "filename": "gone.warc"}',
  ];
  const files = { ...FILES, 'indexes/index.cdxj': utf8(`${lines.join('\n')}\n`) };
  assert.deepEqual(await codesOf(await packed({ files })), [
    'wacz-index-dangling',
    'wacz-index-order',
    'wacz-index-dangling',
  ]);
});

test('a secondary index that does not cover all lines is reported', async () => {
  const block = gzipSync(INDEX);
  const secondary = `!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\ntest 1 {"offset": 0, "length": ${block.length}}\n`;
  const files = {
    'archive/data.warc': FILES['archive/data.warc']!,
    'pages/pages.jsonl': FILES['pages/pages.jsonl']!,
    'indexes/index.cdx.gz': Buffer.concat([block, block]),
    'indexes/index.idx': utf8(secondary),
  };
  assert.deepEqual(await codesOf(await packed({ files })), ['zipnum-incomplete']);
});

test('a changed datapackage.json is detected by its digest', async () => {
  assert.deepEqual(await codesOf(await packed({ digest: () => ({ hash: hashOf(utf8('other')) }) })), [
    'wacz-package-digest-mismatch',
  ]);
  assert.deepEqual(await codesOf(await packed({ digest: () => ({ hash: 'none' }) })), ['wacz-package-digest-invalid']);
});

test('an anonymous signature is checked, and a signature of another package is not accepted', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const signed = (json: Uint8Array, hash: string) => ({
    path: 'datapackage.json',
    hash: hashOf(json),
    signedData: {
      hash,
      created: 'then',
      signature: sign('sha256', utf8(hash), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64'),
      publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    },
  });
  const good = await verifyWacz(await packed({ digest: (json) => signed(json, hashOf(json)) }));
  assert.deepEqual([good.signature, good.findings], ['valid', []]);
  const borrowed = await verifyWacz(await packed({ digest: (json) => signed(json, hashOf(utf8('other'))) }));
  assert.equal(borrowed.signature, 'invalid');
  assert.equal(borrowed.worst, 'error');
});

test('findings beyond the limit are counted and left out', async () => {
  const lines = Array.from(
    { length: 500 },
    (_, i) => `key${String(i).padStart(5, '0')} 20240301100000 {"url": "u", "filename": "gone"}\n`,
  );
  const { findings } = await verifyWacz(
    await packed({ files: { ...FILES, 'indexes/index.cdxj': utf8(lines.join('')) } }),
  );
  assert.equal(findings.length, 101);
  assert.match(findings.at(-1)!.message, /400 of wacz-index-dangling/);
});

test('every flipped bit in a stored WARC file is detected', async () => {
  const path = await packed();
  const bytes = await readFile(path);
  const at = bytes.indexOf('WARC/1.1');
  for (let bit = 0; bit < 64; bit += 5) {
    const broken = Buffer.from(bytes);
    broken[at + (bit >> 3)]! ^= 1 << (bit & 7);
    const copy = join(directory, 'flipped.wacz');
    await writeFile(copy, broken);
    assert.deepEqual(await codesOf(copy), ['wacz-entry-checksum', 'wacz-hash-mismatch']);
  }
});

test('a file that is not a package is refused', async () => {
  const path = join(directory, 'text');
  await writeFile(path, 'no package at all');
  await assert.rejects(verifyWacz(path), { code: 'NOT_WACZ', where: path });
  await assert.rejects(verifyWacz(join(directory, 'absent')), { code: 'FILE_MISSING' });
});

const corpora = fileURLToPath(new URL('../../../../shared/corpora/wacz/', import.meta.url));

test('the packages of the corpora verify as they should', {
  skip: !existsSync(corpora) && 'shared corpora absent',
}, async () => {
  const expected: [path: string, signature: string, codes: string[]][] = [
    ['harvard-lil+scoop/assets__fixtures__example.com.wacz', 'none', ['wacz-index-order']],
    ['webrecorder+py-wacz/fixtures__valid_example_2.wacz', 'none', []],
    ['webrecorder+py-wacz/fixtures__valid_signed_example_1.wacz', 'unverified', ['wacz-signature-unverified']],
    ['webrecorder+py-wacz/fixtures__valid_example_1.wacz', 'none', ['wacz-version-other']],
    [
      'webrecorder+py-wacz/_history__bb505327_valid_example_2.wacz',
      'none',
      ['wacz-version-missing', 'wacz-file-missing', 'wacz-size-mismatch'],
    ],
    ['webrecorder+py-wacz/_history__c580507d_valid_example_0.wacz', 'none', ['wacz-file-missing', 'wacz-file-missing']],
    [
      'webrecorder+py-wacz/fixtures__invalid_example_1.wacz',
      'none',
      [
        'wacz-version-missing',
        'wacz-file-missing',
        'wacz-file-missing',
        'wacz-file-missing',
        'wacz-resource-missing',
        'wacz-resource-unlisted',
      ],
    ],
    ['derived/wacz__multi-py-wacz.wacz', 'none', ['wacz-version-other']],
  ];
  for (const [path, signature, codes] of expected) {
    const result = await verifyWacz(`${corpora}${path}`);
    assert.deepEqual([result.signature, result.findings.map(({ code }) => code)], [signature, codes], path);
  }
});
