import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  AMBIGUOUS_STATEMENT,
  MANIFEST_COLUMNS,
  REFERENCED_STATEMENT,
  RESOLVE_STATEMENT,
  RESOLVED_COLUMNS,
  SLIM_FINDING_CATALOGUE,
} from '../../src/slim/index.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/slim.md'), 'utf8');

test('docs/slim.md shows the SQL statements exactly as they are run', () => {
  for (const statement of [RESOLVE_STATEMENT, REFERENCED_STATEMENT, AMBIGUOUS_STATEMENT]) {
    assert.ok(page.includes(`\`\`\`sql\n${statement}\n\`\`\``), statement);
  }
});

test('docs/slim.md has one row for each finding, in order, with its level and its sentence', () => {
  const rows = page.matchAll(/^\| `(?<code>slim-[^`]+)` +\| (?<level>\w+) +\| (?<says>.*?) +\|$/gm);
  assert.deepEqual(
    Array.from(rows, ({ groups }) => ({ ...groups })),
    Object.entries(SLIM_FINDING_CATALOGUE).map(([code, { level, says }]) => ({ code, level, says })),
  );
  const codes = Object.keys(SLIM_FINDING_CATALOGUE);
  assert.deepEqual(codes, codes.toSorted());
});

test('docs/slim.md names every column of a manifest', () => {
  const added = RESOLVED_COLUMNS.slice(MANIFEST_COLUMNS.length).map(({ name }) =>
    name.replace(/^original(?=_(?!file))/, ''),
  );
  for (const name of [...MANIFEST_COLUMNS.map((column) => column.name), ...added]) {
    assert.ok(page.includes(`\`${name}\``), name);
  }
});
