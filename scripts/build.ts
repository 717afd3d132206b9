/**
 * Builds the published files: JavaScript and type declarations of src/ without its tests, in dist/, the scripts of
 * replayed pages in dist/replay/in-page/, and the UI in dist/ui/.
 *
 * node scripts/build.ts
 *
 * The compiler changes `.ts` in import specifiers to `.js` in code, but not in declarations and in `new
 * URL('./worker.ts', import.meta.url)`. These are changed here, so that the built files only name files that exist.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundleInPage } from '../src/replay/in-page-script.ts';
import { importsOf } from './tidy/import.ts';
import { parseSource } from './tidy/source.ts';

const ROOT = resolve(import.meta.dirname, '..');
const SHEBANG = '#!/usr/bin/env node\n';

/** Builds into `outDir` and replaces its content. Throws an error with the messages of the compiler when it fails. */
export function build(outDir: string): void {
  rmSync(outDir, { recursive: true, force: true });
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  run('the compiler', [compiler, '--project', join(ROOT, 'tsconfig.build.json'), '--outDir', outDir]);
  for (const name of globSync('**/*.{js,d.ts}', { cwd: outDir })) {
    const file = join(outDir, name);
    const text = readFileSync(file, 'utf8');
    const turned = toBuiltSpecifiers(text);
    if (turned !== text) writeFileSync(file, turned);
  }
  const program = join(outDir, 'cli/start.js');
  if (existsSync(program)) {
    const text = readFileSync(program, 'utf8');
    if (!text.startsWith('#!')) writeFileSync(program, SHEBANG + text);
    chmodSync(program, 0o755);
  }
  const scripts = join(outDir, 'replay/in-page');
  mkdirSync(scripts, { recursive: true });
  for (const [name, text] of bundleInPage()) writeFileSync(join(scripts, `${name}.js`), text);
  run('the build of the web pages', [join(ROOT, 'scripts/ui.ts'), join(outDir, 'ui')]);
}

function run(what: string, program: readonly string[]): void {
  const { error, status, stdout, stderr } = spawnSync(process.execPath, program, { cwd: ROOT, encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`${what} failed:\n${stdout}${stderr}`);
}

/** The text with `.ts` changed to `.js` in every relative module name. */
export function toBuiltSpecifiers(text: string): string {
  let turned = '';
  let from = 0;
  for (const { specifier, offset } of importsOf(parseSource(text))) {
    if (specifier === undefined || !/^\.{1,2}\/.*(?<!\.d)\.ts$/.test(specifier)) continue;
    const end = offset + 1 + specifier.length;
    turned += `${text.slice(from, end - 3)}.js`;
    from = end;
  }
  return turned + text.slice(from);
}

if (import.meta.main) {
  try {
    build(join(ROOT, 'dist'));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
