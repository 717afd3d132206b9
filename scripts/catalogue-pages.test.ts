import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { ERROR_CATALOGUE, type ErrorEntry } from '../src/base/index.ts';
import { FINDING_CATALOGUE, INDEX_FINDING_CATALOGUE } from '../src/warc/index.ts';

const DOCS = resolve(import.meta.dirname, '../docs');

const errors: Readonly<Record<string, ErrorEntry>> = ERROR_CATALOGUE;
/** The finding catalogues, by the heading of their table in docs/findings.md. */
const findings: Readonly<Record<string, Readonly<Record<string, { level: string; says: string }>>>> = {
  'WARC and ARC files': FINDING_CATALOGUE,
  'Index files and WACZ packages': INDEX_FINDING_CATALOGUE,
};

/** The sections of docs/errors.md whose heading is an error code, in the order of the page. */
function errorSections(): Map<string, string> {
  const page = readFileSync(join(DOCS, 'errors.md'), 'utf8');
  const parts = page.split(/^### /m).slice(1);
  return new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')).trim(), part.slice(part.indexOf('\n') + 1)]));
}

/** The rows of the table under a heading of docs/findings.md. */
function findingRows(heading: string): { code: string; level: string; says: string }[] {
  const page = readFileSync(join(DOCS, 'findings.md'), 'utf8');
  const section = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  const rows = section.matchAll(/^\| `(?<code>[^`]+)` +\| (?<level>\w+) +\| (?<says>.*?) +\|$/gm);
  return Array.from(rows, ({ groups }) => ({ code: groups!.code!, level: groups!.level!, says: groups!.says! }));
}

test('the error catalogue is sorted by code, and its codes are upper-case words', () => {
  const codes = Object.keys(errors);
  assert.deepEqual(codes, codes.toSorted());
  for (const code of codes) assert.match(code, /^[A-Z]+(?:_[A-Z]+)*$/);
});

test('every error says what happened without a full stop, and advises in whole sentences', () => {
  for (const [code, { says, advice }] of Object.entries(errors)) {
    assert.match(says, /^[a-z].*[^.!]$/, code);
    assert.match(advice, /^[A-Z`].*\.$/, code);
  }
});

test('docs/errors.md has exactly one section for each code of the catalogue, in the same order', () => {
  assert.deepEqual([...errorSections().keys()], Object.keys(errors));
});

test('every section of docs/errors.md has the sentence of the error, advice, and whether trying again can help', () => {
  for (const [code, section] of errorSections()) {
    const { says, retryable } = errors[code]!;
    assert.ok(section.startsWith(`\n> ${says}\n`), `${code} does not begin with its sentence`);
    assert.match(section, /^\*\*What happened\.\*\* \S.{20}/m, code);
    assert.match(section, /^\*\*What to do\.\*\* \S.{20}/m, code);
    assert.match(
      section,
      retryable ? /^\*\*Trying again\*\* can help\b/m : /^\*\*Trying again\*\* does not help\b/m,
      code,
    );
  }
});

for (const [heading, catalogue] of Object.entries(findings)) {
  test(`the finding catalogue of ${heading} is sorted by code, and its codes are words joined by hyphens`, () => {
    const codes = Object.keys(catalogue);
    assert.deepEqual(codes, codes.toSorted());
    for (const code of codes) assert.match(code, /^[a-z0-9]+(?:-[a-z0-9]+)*$/);
  });

  test(`docs/findings.md has one row for each code of ${heading}, in order, with its level and its sentence`, () => {
    const expected = Object.entries(catalogue).map(([code, { level, says }]) => ({ code, level, says }));
    assert.deepEqual(findingRows(heading), expected);
  });
}

test('no code is in two finding catalogues', () => {
  const codes = Object.values(findings).flatMap((catalogue) => Object.keys(catalogue));
  assert.equal(new Set(codes).size, codes.length);
});
