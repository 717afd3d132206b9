import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf, fromUtf8, utf8 } from '../../base/index.ts';
import { INDEX_FINDING_CATALOGUE } from '../cdx/cdx-finding.ts';
import {
  formatWaczPackage,
  formatWaczPackageDigest,
  parseWaczPackage,
  parseWaczPackageDigest,
} from './wacz-package.ts';

const read = (json: unknown) => {
  const codes: string[] = [];
  const found = parseWaczPackage(utf8(JSON.stringify(json)), (code) => codes.push(code));
  return { found, codes };
};

test('the hash and size of a package of version 1.0.0 are read', () => {
  const { found, codes } = read({
    profile: 'data-package',
    wacz_version: '1.0.0',
    metadata: { title: 'Old' },
    resources: [
      { path: 'archive/a.warc', stats: { hash: 'ab12', bytes: 3 }, hashing: 'md5' },
      { name: 'no path' },
      null,
    ],
  });
  assert.equal(found?.title, 'Old');
  assert.deepEqual(found?.resources, [{ name: undefined, path: 'archive/a.warc', hash: 'md5:ab12', bytes: 3 }]);
  assert.deepEqual(codes, ['wacz-version-other', 'wacz-package-resource', 'wacz-package-resource']);
});

test('the draft of version 1.2 and both spellings of the main page are understood', () => {
  const draft = read({ profile: 'wacz', home: { url: 'http://a/', ts: '2024' }, resources: [] });
  assert.deepEqual([draft.found?.mainPageUrl, draft.found?.mainPageDate, draft.codes], ['http://a/', '2024', []]);
  const pyWacz = read({ profile: 'data-package', wacz_version: '1.1.1', mainPageURL: 'http://b/', resources: [] });
  assert.deepEqual([pyWacz.found?.mainPageUrl, pyWacz.codes], ['http://b/', []]);
});

test('a list of packages is understood', () => {
  const resources = [{ path: 'a.wacz', bytes: 1 }, { url: 'https://x/b.wacz' }];
  const { found, codes } = read({ profile: 'multi-wacz', resources });
  const paths = found?.resources.map(({ path }) => path);
  assert.deepEqual([found?.isMulti, paths, codes], [true, ['a.wacz', 'https://x/b.wacz'], []]);
});

test('a file that is not a package is reported', () => {
  assert.deepEqual(read({ profile: 'x' }).codes, ['wacz-profile', 'wacz-version-missing', 'wacz-package-resources']);
  assert.deepEqual(read([]).codes, ['wacz-json']);
  const codes: string[] = [];
  assert.equal(
    parseWaczPackage(utf8('{'), (code) => codes.push(code)),
    undefined,
  );
  assert.deepEqual(codes, ['wacz-json']);
});

test('a written package is read again, with names that Frictionless accepts', () => {
  const digest = digestOf('sha256', utf8('x'));
  const paths = ['archive/A b.WARC.gz', 'archive/a-b.warc.gz', 'pages/pages.jsonl'];
  const bytes = formatWaczPackage({
    title: 'T',
    software: 's',
    createdMs: 0,
    resources: paths.map((path) => ({ path, digest, bytes: 1 })),
  });
  const { found, codes } = read(JSON.parse(fromUtf8(bytes)));
  assert.deepEqual(codes, []);
  assert.deepEqual(
    found?.resources.map(({ path }) => path),
    paths,
  );
  assert.deepEqual(
    found?.resources.map(({ name }) => name),
    ['a-b.warc.gz', '2-a-b.warc.gz', 'pages.jsonl'],
  );
  assert.equal(found?.created, '1970-01-01T00:00:00Z');
  const packageDigest = parseWaczPackageDigest(formatWaczPackageDigest(digest), (code) => assert.fail(code));
  assert.deepEqual(packageDigest?.digest?.bytes, digest.bytes);
});

test('the catalogue of findings is sorted', () => {
  const codes = Object.keys(INDEX_FINDING_CATALOGUE);
  assert.deepEqual(codes, codes.toSorted());
});
