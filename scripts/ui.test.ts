import assert from 'node:assert/strict';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { buildUi, type UiReport } from './ui.ts';

const ROOT = resolve(import.meta.dirname, '..');
const FIRST_BYTES_MAX = 60_000;
const ALL_BYTES_MAX = 90_000;

let parent: string;
let report: UiReport;

before(async () => {
  parent = mkdtempSync(join(tmpdir(), 'pinakes-ui-'));
  report = await buildUi(join(parent, 'ui'));
});

after(() => rmSync(parent, { recursive: true, force: true }));

const read = (path: string) => readFileSync(join(report.directory, path), 'utf8');

test('the UI stays below its size limit', () => {
  assert.ok(report.firstBytes < FIRST_BYTES_MAX, `${report.firstBytes} bytes for the first screen`);
  assert.ok(report.allBytes < ALL_BYTES_MAX, `${report.allBytes} bytes in all`);
});

test('every file that the page names exists, with a hash in its name', () => {
  const named = [...read('index.html').matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
  assert.equal(named.length, 4);
  for (const path of named) {
    assert.match(path, /^\/assets\/[a-z]+-\w{8}\.(?:js|css|svg)$/);
    assert.ok(existsSync(join(report.directory, path)), path);
  }
});

test('the page passes a strict content security policy: no inline scripts or styles, no files from other hosts', () => {
  const html = read('index.html');
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:/i);
  for (const name of globSync('assets/*.css', { cwd: report.directory })) {
    assert.doesNotMatch(read(name), /@import|url\(/);
  }
  for (const name of globSync('assets/*.js', { cwd: report.directory })) {
    assert.ok(!/\beval\(|new Function\(|document\.write/.test(read(name)), name);
  }
});

test('the UI never parses text as markup', () => {
  const sources = globSync('ui/**/*.{ts,tsx}', { cwd: ROOT });
  assert.ok(sources.length > 20);
  for (const name of sources) {
    const text = readFileSync(join(ROOT, name), 'utf8');
    assert.ok(!/innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|srcdoc/i.test(text), name);
  }
});

test('the licences of the bundled packages are included', () => {
  const licences = read('assets/licences.txt');
  for (const name of ['preact', 'uplot', 'diff']) assert.match(licences, new RegExp(`^${name} \\d`, 'm'));
  assert.match(licences, /Permission is hereby granted/);
});

test('a second build gives the same names, and leaves no other files', async () => {
  const names = globSync('**/*', { cwd: report.directory }).sort();
  await buildUi(report.directory);
  assert.deepEqual(globSync('**/*', { cwd: report.directory }).sort(), names);
  assert.deepEqual(globSync('*', { cwd: parent }), ['ui']);
});
