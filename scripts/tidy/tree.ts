/**
 * The text files of the repository: all files under the root except those that .gitignore names, .git itself, links,
 * and binary files. The check reads .gitignore instead of calling git, so it also runs in an unpacked tarball and
 * inside a git hook.
 *
 * It supports only the syntax that our .gitignore uses: a name or glob for any depth, a leading slash for the root, a
 * trailing slash for directories.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { parseSource, type Source } from './source.ts';

export type TextFile = {
  /** The path from the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** Present for TypeScript and JavaScript. */
  readonly source: Source | undefined;
};

const CODE = /\.[cm]?[jt]sx?$/;

export function readTree(root: string): TextFile[] {
  const ignores = ignoreRules(root);
  const files: TextFile[] = [];
  const walk = (directory: string) => {
    for (const entry of readdirSync(join(root, directory), { withFileTypes: true })) {
      const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
      if (ignores(path, entry.isDirectory())) continue;
      if (entry.isDirectory()) walk(path);
      else if (entry.isFile()) {
        const bytes = readFileSync(join(root, path));
        if (bytes.subarray(0, 8000).includes(0)) continue;
        const text = bytes.toString('utf8');
        files.push({ path, text, source: CODE.test(path) ? parseSource(text) : undefined });
      }
    }
  };
  walk('');
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function ignoreRules(root: string): (path: string, isDirectory: boolean) => boolean {
  const file = join(root, '.gitignore');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  const rules = ['.git', 'node_modules/', ...lines.map((line) => line.trim())]
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({
      directoryOnly: line.endsWith('/'),
      rooted: line.startsWith('/'),
      glob: line.replace(/^\/|\/$/g, ''),
    }));
  return (path, isDirectory) =>
    rules.some(
      ({ directoryOnly, rooted, glob }) =>
        (isDirectory || !directoryOnly) && matchesGlob(rooted ? path : path.slice(path.lastIndexOf('/') + 1), glob),
    );
}
