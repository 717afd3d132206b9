import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { pinakesJson } from './pinakes-runner.ts';
import { PAGE, scratch, writeSample, writeSite } from './warc-sample.ts';

/** Replaced by the URL of a site with one page. */
const SEED = 'SEED';

const page = readFileSync(resolve(import.meta.dirname, '../../docs/json.md'), 'utf8');

/** The fields that docs/json.md lists for each command, in the order of its row. */
const told = new Map(
  Array.from(page.matchAll(/^\| `(?<command>[^`]+)` +\| (?<fields>(?:`\w+`(?:, )?)+) +\|$/gm), ({ groups }) => [
    groups!.command!,
    Array.from(groups!.fields!.matchAll(/`(\w+)`/g), ([, name]) => name!),
  ]),
);

/** The command line for each command, in an order in which every command has something to report. */
const TYPED: Readonly<Record<string, readonly string[]>> = {
  init: ['init'],
  add: ['add', 'a.warc.gz', 'site.warc.gz'],
  get: ['get', 'http://www.example.test/a'],
  put: ['put', 'page.html'],
  'token add': ['token', 'add', 'bob', '--rights', 'read'],
  'token ls': ['token', 'ls'],
  'token revoke': ['token', 'revoke', 'bob'],
  audit: ['audit', '--limit', '1'],
  'export FILE.warc.gz': ['export', 'out.warc.gz'],
  'export FILE.parquet': ['export', 'out.parquet'],
  'export FILE.cdxj': ['export', 'out.cdxj'],
  index: ['index'],
  rank: ['rank'],
  'snapshot create': ['snapshot', 'create', 'now'],
  'snapshot ls': ['snapshot', 'ls'],
  'snapshot rm': ['snapshot', 'rm', 'now'],
  'delete --dry-run': ['delete', '--prefix', 'http://site.test/1', '--dry-run'],
  'delete --yes': ['delete', '--prefix', 'http://site.test/1', '--yes'],
  'takedown --dry-run': ['takedown', '--url', 'http://site.test/2', '--dry-run'],
  'takedown --yes': ['takedown', '--url', 'http://site.test/2', '--yes', '--reason', 'asked'],
  'takedown --list': ['takedown', '--list'],
  takedowns: ['takedowns'],
  'takedowns --check': ['takedowns', '--check'],
  'mirror add': ['mirror', 'add', 'attic', 'attic'],
  'mirror sync': ['mirror', 'sync'],
  'mirror ls': ['mirror', 'ls'],
  'mirror check': ['mirror', 'check'],
  'mirror restore': ['mirror', 'restore', 'attic', 'restored'],
  'mirror rm': ['mirror', 'rm', 'attic'],
  'compact --dry-run': ['compact', '--dry-run'],
  compact: ['compact'],
  rebuild: ['rebuild'],
  upgrade: ['upgrade'],
  'volume add': ['volume', 'add', 'second', 'second', '--create'],
  'volume set': ['volume', 'set', 'second', 'writable'],
  'volume ls': ['volume', 'ls'],
  'node ls': ['node', 'ls'],
  'volume migrate': ['volume', 'migrate', 'main', 'second'],
  'volume rebalance': ['volume', 'rebalance'],
  'volume copies': ['volume', 'copies'],
  'volume remove': ['volume', 'remove', 'main'],
  'warc convert': ['warc', 'convert', '--to', 'warc.zst', 'a.warc.gz'],
  stats: ['stats'],
  crawl: ['crawl', SEED, '--allow-private', '--delay', '0'],
  'crawl --every never': ['crawl', '--every', 'never'],
  'slim assess': ['slim', 'assess', 'files'],
  'slim sum': ['slim', 'sum', 'files', '--out', 'sums.parquet'],
  'slim split': ['slim', 'split', '2', 'sums.parquet', '--out', 'parts'],
  'slim resolve': ['slim', 'resolve', 'sums.parquet', '--out', 'resolved.parquet'],
  'slim refs': ['slim', 'refs', 'files', '--manifest', 'resolved.parquet', '--to', 'referring'],
  'slim compare': ['slim', 'compare', 'sums.parquet', 'sums.parquet'],
  'slim run': ['slim', 'run', 'files', '--in-place', '--keep-originals', 'kept'],
  'slim sync': ['slim', 'sync', 'referring', 'files', '--dry-run'],
  'slim undo': ['slim', 'undo', 'files'],
};

test('docs/json.md lists the fields that commands print', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  await writeSite(join(at, 'site.warc.gz'), 'site', 20);
  writeFileSync(join(at, 'page.html'), PAGE);
  mkdirSync(join(at, 'files'));
  await writeSite(join(at, 'files', 'site.warc.gz'), 'site', 3);
  const site = createServer((_, response) => response.end(PAGE)).listen(0, '127.0.0.1');
  t.after(() => site.close());
  await once(site, 'listening');
  const seed = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
  assert.deepEqual([...told.keys()].toSorted(), Object.keys(TYPED).toSorted(), 'rows of docs/json.md, and TYPED here');
  for (const [command, argv] of Object.entries(TYPED)) {
    const words = argv.map((word) => (word === SEED ? seed : word));
    const last = (await pinakesJson(at, ...words, '--json')).at(-1);
    assert.ok(last, `pinakes ${words.join(' ')} --json prints nothing`);
    assert.deepEqual(Object.keys(last), told.get(command), `give the row of \`${command}\` in docs/json.md its fields`);
  }
});

test('docs/json.md lists the fields of every kind of line', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  const bytes = readFileSync(join(at, 'a.warc.gz'));
  bytes[bytes.length - 6]! ^= 1;
  writeFileSync(join(at, 'bad.warc.gz'), bytes);
  await pinakesJson(at, 'init', '--json');
  await pinakesJson(at, 'add', 'bad.warc.gz', '--json');
  for (const [command, argv] of [
    ['warc check', ['warc', 'check', 'bad.warc.gz']],
    ['verify', ['verify']],
  ] as const) {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${command}\` `))!;
    const kinds = new Set<unknown>();
    for (const { kind, ...fields } of await pinakesJson(at, ...argv, '--json')) {
      const list = Object.keys(fields).map((name) => `\`${name}\``);
      const wanted = `\`${kind}\`: ${list.join(', ')}`;
      assert.ok(row.includes(wanted), `the row of \`${command}\` in docs/json.md has to say ${wanted}`);
      kinds.add(kind);
    }
    assert.equal(kinds.size, row.match(/`: `/g)!.length, `kinds of lines that the row of \`${command}\` has`);
  }
});
