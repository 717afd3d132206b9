import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { FILE_LINES_MAX } from './tidy/file-rules.ts';
import { PACKAGE_ROOMS, ROOM_IMPORTS } from './tidy/room-map.ts';
import { checkMap } from './tidy/sub-room-rules.ts';
import { formatViolation } from './tidy/violation.ts';
import { tidy } from './tidy.ts';

const REPOSITORY = resolve(import.meta.dirname, '..');

type Files = Readonly<Record<string, string>>;

/** A small repository that follows every rule and has at least one place that each rule checks. */
const CLEAN: Files = {
  '.gitignore': 'node_modules/\ndist/\n*.tgz\n/scratch/\n',
  '.npmrc': 'omit-lockfile-registry-resolved=true\n',
  'package-lock.json': '{ "packages": { "a": { "version": "1.0.0", "integrity": "sha512-abc" } } }\n',
  'README.md': 'See https://example.org/home/page and `./pinakes`.\n',
  'src/index.ts': `export * from './base/index.ts';\nexport * from './warc/index.ts';\n`,
  'src/base/index.ts': `export * from './clock.ts';\nexport { seven } from './seven.ts';\n`,
  'src/base/clock.ts': `/** Never Date.now() or console.log() here. */\nexport type Clock = () => number;\n`,
  'src/base/seven.ts': `export const seven = 7;\nexport const says = 'console.log(Date.now())';\nnew Date(seven);\n`,
  'src/base/seven.test.ts': [
    `import fc from 'fast-check';`,
    `import { seven } from './seven.ts';`,
    `console.log(fc, seven, Date.now());`,
    ``,
  ].join('\n'),
  'src/url/index.ts': `import type { Clock } from '../base/index.ts';\nexport type Key = Clock;\n`,
  'src/warc/index.ts': `export { read } from './reader.ts';\n`,
  'src/warc/reader.ts': [
    `import { createReadStream } from 'node:fs';`,
    `import { open } from 'yauzl';`,
    `import {`,
    `  seven,`,
    `} from '../base/index.ts';`,
    `import type { Key } from '../url/index.ts';`,
    `export const read = (key: Key) => [open, seven, key, createReadStream];`,
    `export const start = () => new Worker(new URL('./worker.ts', import.meta.url));`,
    ``,
  ].join('\n'),
  'src/warc/worker.ts': `import { seven } from '../base/index.ts';\nexport const work = seven;\n`,
  'src/cli/main.ts': [
    `import { Command } from 'commander';`,
    `import { read } from '../warc/index.ts';`,
    `console.log(Command, read, Date.now(), new Date());`,
    `process.exit(0);`,
    ``,
  ].join('\n'),
  'scripts/run.ts': `console.log(Date.now());\nprocess.exit(1);\n`,
  'test/journey.test.ts': [
    `import { seven } from '../src/base/index.ts';`,
    `import * as library from '../src/index.ts';`,
    `import { here } from './here.ts';`,
    `const program = new URL('../src/cli/main.ts', import.meta.url);`,
    `console.log(seven, library, here, program, Math.random());`,
    ``,
  ].join('\n'),
  'test/here.ts': `export const here = 'com,example)/home/page';\n`,
  'bench/main.ts': `import { read } from '../src/warc/index.ts';\nconsole.log(read, performance.now());\n`,
};

function inTree<T>(files: Files, use: (root: string) => T): T {
  const root = mkdtempSync(join(tmpdir(), 'pinakes-tidy-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return use(root);
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** Files to add to the clean tree, and the exact violations to report, as `file:line rule`. */
type Fault = { readonly plant: Files; readonly expect: readonly string[] };

const lines = (...text: string[]) => `${text.join('\n')}\n`;
// The path is written in pieces, because this file has to follow the rules too.
const machinePath = (top: string) => ['', top, 'someone', 'pinakes'].join('/');
const registryHost = ['registry', 'npm', 'example'].join('.');

const FAULTS: Readonly<Record<string, Fault>> = {
  'base imports a room': {
    plant: { 'src/base/bad.ts': lines('', `import { read } from '../warc/index.ts';`) },
    expect: ['src/base/bad.ts:2 room'],
  },
  'warc imports the command line': {
    plant: {
      'src/cli/index.ts': lines('export const a = 1;'),
      'src/warc/bad.ts': lines(`export * from '../cli/index.ts';`),
    },
    expect: ['src/warc/bad.ts:1 room'],
  },
  'a type-only import across rooms': {
    plant: { 'src/url/bad.ts': lines('', '', `import type {`, `  A,`, `} from '../warc/index.ts';`) },
    expect: ['src/url/bad.ts:5 room'],
  },
  'a dynamic import across rooms': {
    plant: { 'src/url/bad.ts': lines('', `export const a = () => import('../warc/index.ts');`) },
    expect: ['src/url/bad.ts:2 room'],
  },
  'a worker of another room': {
    plant: { 'src/url/bad.ts': lines(`new Worker(`, `  new URL('../warc/worker.ts', import.meta.url),`, `);`) },
    expect: ['src/url/bad.ts:2 room'],
  },
  'a worker file that is not there': {
    plant: { 'src/warc/bad.ts': lines(`new Worker(new URL('./gone.ts', import.meta.url));`) },
    expect: ['src/warc/bad.ts:1 missing-file'],
  },
  'browser code that imports from outside of its folder': {
    plant: {
      'src/replay/clean.ts': lines('export const a = 1;'),
      'src/replay/in-page/own.ts': lines('export const a = Date.now();'),
      'src/replay/in-page/bad.ts': lines(
        `import './own.ts';`,
        `import '../clean.ts';`,
        `import 'css-tree';`,
        `export const load = (link: string) => import(link);`,
      ),
    },
    expect: ['src/replay/in-page/bad.ts:2 browser', 'src/replay/in-page/bad.ts:3 browser'],
  },
  'code that imports browser code': {
    plant: {
      'src/replay/in-page/own.ts': lines('export const a = 1;'),
      'src/replay/bad.ts': lines(`export * from './in-page/own.ts';`),
      'test/bad.ts': lines(`export * from '../src/replay/in-page/own.ts';`),
    },
    expect: ['src/replay/bad.ts:1 browser', 'test/bad.ts:1 browser'],
  },
  'a unit test that reaches into a forbidden room': {
    plant: { 'src/base/bad.test.ts': lines(`import { read } from '../warc/index.ts';`) },
    expect: ['src/base/bad.test.ts:1 room'],
  },
  'a room that goes past a front door': {
    plant: { 'src/warc/bad.ts': lines('', `import { seven } from '../base/seven.ts';`) },
    expect: ['src/warc/bad.ts:2 front-door'],
  },
  'the library going past a front door': {
    plant: { 'src/index.ts': lines(`export * from './base/seven.ts';`) },
    expect: ['src/index.ts:1 front-door'],
  },
  'the library speaking for the command line': {
    plant: {
      'src/cli/index.ts': lines('export const a = 1;'),
      'src/index.ts': lines(`export * from './cli/index.ts';`),
    },
    expect: ['src/index.ts:1 room'],
  },
  'a room that imports the library': {
    plant: { 'src/cli/bad.ts': lines(`export * from '../index.ts';`) },
    expect: ['src/cli/bad.ts:1 room'],
  },
  'a room that imports from outside of src': {
    plant: { 'src/base/bad.ts': lines(`export * from '../../test/here.ts';`) },
    expect: ['src/base/bad.ts:1 room'],
  },
  'a room that is not in the map': {
    plant: { 'src/attic/index.ts': lines('export const a = 1;') },
    expect: ['src/attic/index.ts:1 room'],
  },
  'a file of no room': {
    plant: { 'src/loose.ts': lines('export const a = 1;') },
    expect: ['src/loose.ts:1 room'],
  },
  'a test that goes past a front door': {
    plant: { 'test/deep/bad.test.ts': lines('', `import { seven } from '../../src/base/seven.ts';`) },
    expect: ['test/deep/bad.test.ts:2 front-door'],
  },
  'a bench that goes past a front door': {
    plant: { 'bench/bad.ts': lines(`const { read } = await import('../src/warc/reader.ts');`) },
    expect: ['bench/bad.ts:1 front-door'],
  },
  'an import that is computed': {
    plant: { 'src/base/bad.ts': lines('', 'export const load = (name: string) => import(name);') },
    expect: ['src/base/bad.ts:2 computed-import'],
  },
  'a cycle of two files': {
    plant: {
      'src/base/a.ts': lines('', `import { b } from './b.ts';`, 'export const a = b;'),
      'src/base/b.ts': lines(`import type { a } from './a.ts';`, 'export type B = typeof a;'),
    },
    expect: ['src/base/b.ts:1 cycle'],
  },
  'a cycle through a worker and a front door': {
    plant: {
      'src/warc/pool.ts': lines(`new Worker(new URL('./task.ts', import.meta.url));`),
      'src/warc/index.ts': lines(`export * from './pool.ts';`),
      'src/warc/task.ts': lines('', '', `import './index.ts';`),
      'src/index.ts': lines(`export * from './base/index.ts';`),
      'src/cli/main.ts': '',
      'bench/main.ts': '',
    },
    expect: ['src/warc/task.ts:3 cycle'],
  },
  'a file that imports itself': {
    plant: { 'src/base/a.ts': lines(`export * from './a.ts';`) },
    expect: ['src/base/a.ts:1 cycle'],
  },
  'a folder of a room that imports what may not be imported there': {
    plant: {
      'src/warc/record/head.ts': lines('', `import { gzip } from '../member/gzip.ts';`, 'export const head = gzip;'),
      'src/warc/member/gzip.ts': lines('export const gzip = 1;'),
    },
    expect: ['src/warc/record/head.ts:2 sub-room'],
  },
  'a folder that is not in the map': {
    plant: { 'src/warc/attic/old.ts': lines('export const a = 1;') },
    expect: ['src/warc/attic/old.ts:1 sub-room'],
  },
  'a folder of too many files': {
    plant: Object.fromEntries(
      Array.from({ length: 31 }, (_, number) => [
        `src/warc/member/m${number}.ts`,
        lines(`export const m = ${number};`),
      ]),
    ),
    expect: ['src/warc/member:1 folder'],
  },
  'a package in a room that it does not belong to': {
    plant: { 'src/warc/bad.ts': lines('', `import { Command } from 'commander';`) },
    expect: ['src/warc/bad.ts:2 package'],
  },
  'a package of no room': {
    plant: { 'src/warc/bad.ts': lines(`export * from '@scope/unheard-of/deep.js';`) },
    expect: ['src/warc/bad.ts:1 package'],
  },
  'a development package in the product': {
    plant: { 'src/warc/bad.ts': lines(`import fc from 'fast-check';`) },
    expect: ['src/warc/bad.ts:1 package'],
  },
  'printing outside of cli': {
    plant: {
      'src/base/bad.ts': lines('', `console.error('a');`, 'export const log = globalThis.console.log;'),
      'src/index.ts': lines('process.stdout.write(String(process.stderr));'),
      'src/warc/bad.ts': lines(`export const { log } = console;`, `import { log as b } from 'node:console';`),
    },
    expect: [
      'src/base/bad.ts:2 console',
      'src/base/bad.ts:3 console',
      'src/index.ts:1 process-output',
      'src/index.ts:1 process-output',
      'src/warc/bad.ts:1 console',
      'src/warc/bad.ts:2 banned-module',
    ],
  },
  'exiting outside of cli': {
    plant: {
      'src/base/bad.ts': lines('', '', 'process.exit(1);', 'process.exitCode = 1;'),
      'src/warc/bad.ts': lines(`import { exit } from 'node:process';`),
    },
    expect: ['src/base/bad.ts:3 process-exit', 'src/base/bad.ts:4 process-exit', 'src/warc/bad.ts:1 banned-module'],
  },
  'reading the clock outside of cli': {
    plant: {
      'src/base/bad.ts': lines(
        'export const a = Date.now();',
        'export const b = Date\n  .now;',
        'export const c = new Date();',
        'export const d = new Date(/* now */);',
        'export const e = new Date;',
        'export const f = performance.now();',
        `export const g = \`\${new Date()}\`;`,
        'export const h = process.hrtime.bigint();',
      ),
    },
    expect: [1, 2, 4, 5, 6, 7, 8, 9].map((line) => `src/base/bad.ts:${line} clock`),
  },
  'randomness outside of cli': {
    plant: {
      'src/base/bad.ts': lines(
        'export const a = Math.random();',
        'export const b = crypto.randomUUID();',
        `import { randomBytes } from 'node:crypto';`,
      ),
    },
    expect: [1, 2, 3].map((line) => `src/base/bad.ts:${line} random`),
  },
  'a file that is too long': {
    plant: { 'test/long.ts': '\n'.repeat(FILE_LINES_MAX + 1), 'test/long-enough.ts': '\n'.repeat(FILE_LINES_MAX) },
    expect: [`test/long.ts:${FILE_LINES_MAX + 1} length`],
  },
  'files that name no noun': {
    plant: {
      'src/base/utils.ts': '',
      'src/base/helper.ts': '',
      'scripts/common.cjs': '',
      'bench/misc.ts': '',
      'src/warc/types.d.ts': '',
      'test/helpers.test.ts': '',
      'ui/util.js': '',
    },
    expect: [
      'bench/misc.ts:1 name',
      'scripts/common.cjs:1 name',
      'src/base/helper.ts:1 name',
      'src/base/utils.ts:1 name',
      'src/warc/types.d.ts:1 name',
      'test/helpers.test.ts:1 name',
      'ui/util.js:1 name',
    ],
  },
  'files that are not in kebab-case': {
    plant: { 'src/base/badName.ts': '', 'src/base/bad_name.ts': '' },
    expect: ['src/base/badName.ts:1 name', 'src/base/bad_name.ts:1 name'],
  },
  'default exports': {
    plant: {
      'src/base/bad.ts': lines('', 'export default 7;'),
      'test/bad.ts': lines('const a = 1;', 'export {', '  a as default,', '};'),
      'ui/vite.config.ts': lines('export default {};'),
    },
    expect: ['src/base/bad.ts:2 default-export', 'test/bad.ts:2 default-export'],
  },
  'notes to self': {
    plant: {
      'src/base/bad.ts': lines('', `// ${'TO'}${'DO'}: later`),
      'docs/bad.md': lines(`${'FIX'}${'ME'}`),
      'scripts/bad.ts': lines(`/* ${'X'}${'XX'} */`),
    },
    expect: ['docs/bad.md:1 note', 'scripts/bad.ts:1 note', 'src/base/bad.ts:2 note'],
  },
  'hosts of package registries': {
    plant: {
      'docs/bad.md': lines('', `from https://${registryHost}/a.tgz`),
      '.npmrc': lines('fund=false', 'registry=http://10.0.0.1:4873/'),
    },
    expect: ['.npmrc:2 registry', 'docs/bad.md:2 registry'],
  },
  'paths of one machine': {
    plant: {
      'docs/bad.md': lines(`Run ${machinePath('home')}.`, `<file://${machinePath('home')}>`),
      'test/bad.ts': lines('', `const a = '${machinePath('work')}';`),
      pinakes: lines(`cd ${machinePath('root')}`),
    },
    expect: [
      'docs/bad.md:1 machine-path',
      'docs/bad.md:2 machine-path',
      'pinakes:1 machine-path',
      'test/bad.ts:2 machine-path',
    ],
  },
  'a lock file that says where packages came from': {
    plant: { 'package-lock.json': lines('{', `  "resolved": "https://example.org/a.tgz"`, '}') },
    expect: ['package-lock.json:2 lock'],
  },
  'comments past the width, except for a word that cannot be broken': {
    plant: {
      'src/client/bad.ts': lines(`// ${'word '.repeat(30)}`, '/*', ` * ${'word '.repeat(30)}`, ' */'),
      'src/client/good.ts': lines(`// see ${'a'.repeat(130)}`, `const a = '${'word '.repeat(24)}';`),
      'scripts/bad.cjs': lines('', `/** ${'word '.repeat(24)} */`),
      'docs/good.md': lines('word '.repeat(30)),
    },
    expect: ['scripts/bad.cjs:2 line', 'src/client/bad.ts:1 line', 'src/client/bad.ts:3 line'],
  },
  'private words in names, comments and messages': {
    plant: {
      'src/client/bad.ts': lines(
        `const ${'glimp'}ses = '1 ${'Par'}cel';`,
        '/*',
        ` * The bytes at`,
        ` * hand belong to`,
        ` * ${'who'}ever asks.`,
        ' */',
      ),
      'src/client/good.test.ts': lines(`const words = ['${'who'}ever'];`),
      'src/client/good.ts': lines('// A chart at handles.'),
      'test/good.ts': lines(`const words = ['${'who'}ever'];`),
    },
    expect: [
      'src/client/bad.ts:1 word',
      'src/client/bad.ts:1 word',
      'src/client/bad.ts:3 word',
      'src/client/bad.ts:5 word',
    ],
  },
};

const report = (root: string) => tidy(root).map(formatViolation);

test('ARCHITECTURE.md names only files that exist, and every sub-room', () => {
  const text = lines(
    '`base/seven.ts` and `src/base/clock.ts`',
    'and `base/gone.ts`, not `test`',
    '| `warc/read` | reads |',
  );
  inTree({ ...CLEAN, 'ARCHITECTURE.md': text }, (root) => {
    const violations = report(root);
    assert.ok(violations.includes('ARCHITECTURE.md:2 map names base/gone.ts, which does not exist'));
    assert.ok(violations.includes('ARCHITECTURE.md:1 map its map lacks the sub-room warc/write'));
    assert.ok(!violations.some((line) => /seven|clock|warc\/read/.test(line)), violations.join('\n'));
  });
});

test('the repository follows its rules', () => {
  assert.deepEqual(report(REPOSITORY), []);
});

test('a clean tree has no violations', () => {
  inTree(CLEAN, (root) => assert.deepEqual(report(root), []));
});

for (const [name, { plant, expect }] of Object.entries(FAULTS)) {
  test(`it reports ${name}`, () => {
    inTree({ ...CLEAN, ...plant }, (root) => {
      const places = tidy(root).map(({ file, line, rule }) => `${file}:${line} ${rule}`);
      assert.deepEqual(places, expect);
    });
  });
}

test('files that git ignores, binary files and links are not checked', () => {
  const fault = lines('export default Date.now();');
  const ignored = {
    'node_modules/a/index.ts': fault,
    'dist/base/bad.ts': fault,
    'src/base/dist/bad.ts': fault,
    'scratch/note.md': machinePath('home'),
    'a.tgz': machinePath('home'),
    'test/binary.bin': `\0 ${machinePath('home')}`,
  };
  inTree({ ...CLEAN, ...ignored }, (root) => {
    symlinkSync(join(root, 'scratch/note.md'), join(root, 'link.md'));
    assert.deepEqual(report(root), []);
    assert.deepEqual(
      inTree({ ...CLEAN, 'src/base/scratch/bad.ts': fault }, (other) => tidy(other).length > 0),
      true,
      'an ignore rule of the root must not hide a folder further down',
    );
  });
});

test('the program prints each violation with its place and exits with 1, or exits with 0 if there is none', () => {
  const run = (root: string) =>
    spawnSync(process.execPath, [join(REPOSITORY, 'scripts/tidy.ts'), root], { encoding: 'utf8' });
  const good = inTree(CLEAN, run);
  assert.deepEqual([good.status, good.stdout], [0, '']);
  const bad = inTree({ ...CLEAN, 'src/base/bad.ts': lines('', 'process.exit(1);') }, run);
  assert.deepEqual([bad.status, bad.stdout], [1, 'src/base/bad.ts:2 process-exit process.exit: only src/cli exits\n']);
});

test('the map of rooms has no cycle, and names every folder of src and every package in use', () => {
  const order = Object.keys(ROOM_IMPORTS);
  for (const [room, imports] of Object.entries(ROOM_IMPORTS)) {
    for (const other of imports) {
      assert.ok(order.indexOf(other) >= 0 && order.indexOf(other) < order.indexOf(room), `${room} imports ${other}`);
    }
  }
  for (const rooms of Object.values(PACKAGE_ROOMS)) for (const room of rooms) assert.ok(order.includes(room), room);
  for (const entry of readdirSync(join(REPOSITORY, 'src'), { withFileTypes: true })) {
    if (entry.isDirectory()) assert.ok(order.includes(entry.name), entry.name);
  }
});

test('folders that import each other in a cycle are reported', () => {
  const map = { warc: { a: ['b'], b: ['c'], c: ['a'], d: ['a'] } };
  assert.deepEqual(
    checkMap(map).map(({ message }) => message.split(' ')[0]),
    ['warc/a', 'warc/b', 'warc/c'],
  );
});

test('folders of a room may import the files beside them and the folders that the map allows', () => {
  const plant = {
    'src/warc/member/gzip.ts': lines(
      `import { read } from '../reader.ts';`,
      `import { head } from '../record/head.ts';`,
      'export const gzip = [read, head];',
    ),
    'src/warc/record/head.ts': lines('export const head = 1;'),
  };
  inTree({ ...CLEAN, ...plant }, (root) => assert.deepEqual(tidy(root), []));
});
