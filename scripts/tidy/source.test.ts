// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are sources to scan.
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { importsOf, packageOf } from './import.ts';
import { parseSource } from './source.ts';
import { readTree } from './tree.ts';

const specifiers = (text: string) => importsOf(parseSource(text)).map((found) => found.specifier);

test('comments, strings, templates and regular expressions are blanked; code and offsets stay', () => {
  const cases: [text: string, code: string][] = [
    ['a // b\nc', 'a     \nc'],
    ['a /* b\nc */ d', 'a     \n     d'],
    [`a = 'b\\'c';`, `a = '    ';`],
    [`a = "b'c";`, `a = "   ";`],
    [`a = '//';`, `a = '  ';`],
    ['a = `b${c + `d${e}`}f`;', 'a = ` ${c + ` ${e}`} `;'],
    ['a = `${{ b: { c } }}d`;', 'a = `${{ b: { c } }} `;'],
    ['a = `\\`${b}\\${c`;', 'a = `  ${b}    `;'],
    ['a = /b[/"]c/g;', 'a = /      /g;'],
    [`if (/'/.test(a)) b;`, `if (/ /.test(a)) b;`],
    [`return !/'/.test(a)`, `return !/ /.test(a)`],
    ['a = b / c / d;', 'a = b / c / d;'],
    [`a = b[0]! / c; d = '/';`, `a = b[0]! / c; d = ' ';`],
    [`a = b++ / c; d = '/';`, `a = b++ / c; d = ' ';`],
    [`a = (b) / c; d = '/';`, `a = (b) / c; d = ' ';`],
    [`a = b.of / c; d = '/';`, `a = b.of / c; d = ' ';`],
    [`#!/usr/bin/env node\na`, `                   \na`],
    [`a = 'open`, `a = '    `],
    ['a = `open', 'a = `    '],
    ['a /* open', 'a        '],
  ];
  for (const [text, code] of cases) {
    const source = parseSource(text);
    assert.equal(source.code, code, text);
    assert.equal(source.code.length, text.length);
  }
});

test('lines are counted from 1', () => {
  const source = parseSource('a\n\nb\n');
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((offset) => source.lineAt(offset)),
    [1, 1, 2, 3, 3],
  );
});

test('every form of import is found', () => {
  const cases: [text: string, specifiers: (string | undefined)[]][] = [
    [`import './a.ts';`, ['./a.ts']],
    [`import a from "./a.ts";`, ['./a.ts']],
    [`import * as a from './a.ts';`, ['./a.ts']],
    [`import a, { b as c, type D } from './a.ts';`, ['./a.ts']],
    [`import type { A } from './a.ts';`, ['./a.ts']],
    [`import{a}from'./a.ts';`, ['./a.ts']],
    [`import {\n  a, // from './no.ts'\n  b,\n} from\n  './a.ts';`, ['./a.ts']],
    [`import a from './a.json' with { type: 'json' };`, ['./a.json']],
    [`export * from './a.ts';`, ['./a.ts']],
    [`export * as a from './a.ts';`, ['./a.ts']],
    [`export { a, type B } from './a.ts';`, ['./a.ts']],
    [`export type { A } from './a.ts';`, ['./a.ts']],
    [`const a = await import('./a.ts');`, ['./a.ts']],
    [`const a = await import(\n  /* why */ './a.ts'\n);`, ['./a.ts']],
    ['const a = await import(`./a.ts`);', ['./a.ts']],
    ['const a = await import(`./${b}.ts`);', [undefined]],
    [`const a = await import(b);`, [undefined]],
    [`type A = import('./a.ts').A;`, ['./a.ts']],
    [`const a = import.meta.resolve('a/b.js');`, ['a/b.js']],
    [`new Worker(new URL('./a.ts', import.meta.url));`, ['./a.ts']],
    [`new Worker(\n  new URL(\n    './a.ts',\n    import.meta.url,\n  ),\n);`, ['./a.ts']],
    [`import a from './a.ts';\nimport b from './b.ts';\nexport * from './c.ts';`, ['./a.ts', './b.ts', './c.ts']],
  ];
  for (const [text, expected] of cases) assert.deepEqual(specifiers(text), expected, text);
});

test('text that only looks like an import is not reported', () => {
  for (const text of [
    `// import a from './a.ts';`,
    `/* import('./a.ts') */`,
    `const a = "import a from './a.ts'";`,
    'const a = `import a from "./a.ts"`;',
    `const a = /import '.\\/a.ts'/;`,
    `export const from = './a.ts';`,
    `export function a() { return from('./a.ts'); }`,
    `this.import('./a.ts');`,
    `reimport('./a.ts');`,
    `const a = import.meta.url;`,
    `new URL('../shared/', import.meta.url);`,
    `new URL('./page.html', import.meta.url);`,
    `new URL('./a.ts', base);`,
  ]) {
    assert.deepEqual(specifiers(text), [], text);
  }
});

test('an import is reported with the line of its specifier', () => {
  const [found] = importsOf(parseSource(`\nimport {\n  a,\n} from './a.ts';\n`));
  assert.equal(found?.line, 4);
});

test('the name of a package is the first part of a specifier, or the first two parts when it has a scope', () => {
  assert.equal(packageOf('yauzl'), 'yauzl');
  assert.equal(packageOf('yauzl/lib/a.js'), 'yauzl');
  assert.equal(packageOf('@duckdb/node-api/a.js'), '@duckdb/node-api');
  for (const specifier of ['node:fs', './a.ts', '../a.ts', '#a', 'data:text/javascript,1']) {
    assert.equal(packageOf(specifier), undefined, specifier);
  }
});

test('the brackets in the scanned code of every file of the repository balance', () => {
  const opens: Record<string, string> = { ')': '(', ']': '[', '}': '{' };
  for (const { path, source } of readTree(resolve(import.meta.dirname, '../..'))) {
    if (!source || /\.[jt]sx$/.test(path)) continue;
    const open: string[] = [];
    for (const [letter] of source.code.matchAll(/[()[\]{}]/g)) {
      if (letter in opens) assert.equal(open.pop(), opens[letter], path);
      else open.push(letter);
    }
    assert.deepEqual(open, [], path);
  }
});
