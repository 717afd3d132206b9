import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { pinakesJson } from './pinakes-desk.ts';
import { PAGE, scratch, writeSample, writeSite } from './warc-sample.ts';

const page = readFileSync(resolve(import.meta.dirname, '../../docs/json.md'), 'utf8');

/** The fields that docs/json.md lists for each command, in the order of the page. */
const told = new Map(
  Array.from(page.matchAll(/^\| `(?<command>[^`]+)` +\| (?<fields>(?:`\w+`(?:, )?)+) +\|$/gm), ({ groups }) => [
    groups!.command!,
    Array.from(groups!.fields!.matchAll(/`(\w+)`/g), ([, name]) => name!),
  ]),
);

/** What to type for each of them, in an order in which there is always something to tell. */
const TYPED: Readonly<Record<string, readonly string[]>> = {
  init: ['init'],
  add: ['add', 'a.warc.gz', 'site.warc.gz'],
  get: ['get', 'http://www.example.test/a'],
  put: ['put', 'page.html'],
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
  'compact --dry-run': ['compact', '--dry-run'],
  compact: ['compact'],
  rebuild: ['rebuild'],
  'volume add': ['volume', 'add', 'second', 'second'],
  'volume set': ['volume', 'set', 'second', 'writable'],
  'volume ls': ['volume', 'ls'],
  'volume migrate': ['volume', 'migrate', 'main', 'second'],
  'warc convert': ['warc', 'convert', '--to', 'warc.zst', 'a.warc.gz'],
};

test('docs/json.md lists the fields that commands give', async (t) => {
  const at = scratch(t);
  await writeSample(join(at, 'a.warc.gz'));
  await writeSite(join(at, 'site.warc.gz'), 'site', 20);
  writeFileSync(join(at, 'page.html'), PAGE);
  for (const [command, argv] of Object.entries(TYPED)) {
    const [first] = await pinakesJson(at, ...argv, '--json');
    assert.deepEqual(Object.keys(first!), told.get(command), command);
  }
  assert.deepEqual([...told.keys()].toSorted(), Object.keys(TYPED).toSorted());
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
      assert.ok(row.includes(`\`${kind}\`: ${list.join(', ')}`), `${command}, ${kind}: ${list.join(', ')}`);
      kinds.add(kind);
    }
    assert.equal(kinds.size, row.match(/`: `/g)!.length, command);
  }
});
