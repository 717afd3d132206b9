/**
 * Rules about whole files: their names and lengths, notes left in them, and traces of the machine they were written on.
 */
import { posix } from 'node:path';
import type { TextFile } from './tree.ts';
import type { Violation } from './violation.ts';

export const FILE_LINES_MAX = 600;
/** Files that a script writes are as long as what they are made of. */
const WRITTEN_FILES: ReadonlySet<string> = new Set(['ui/api/replies.ts']);

const CODE_FOLDERS = /^(?:src|scripts|test|bench|ui)\//;
const CODE_FILE = /\.(?:[cm]?[jt]sx?|css|html)$/;
const NAMELESS = /^(?:utils?|helpers?|common|misc|types?)$/;
const NAME = /^[a-z0-9]+(?:[-.][a-z0-9]+)*$/;

// The bracketed letters keep these patterns from matching themselves.
const NOTE = /\b(?:TO[D]O|FIX[M]E|X[X]X)\b/g;
const REGISTRY_HOST =
  /\bregistry\.(?:[a-z0-9-]+\.)+[a-z]{2,}\b|\bnpm\.pkg\.[a-z0-9.-]+|\b(?:pypi|pythonhosted)\.org\b/gi;
const REGISTRY_SETTING = /^\s*(?:@[^:\s]+:)?registry\s*=.*$/gm;
const MACHINE_PATH = /(?<=^|[\s'"`(=,;<>[{|]|file:\/\/)\/(?:work|root|home)\/(?=[\w.$<{*-])/gm;

export function checkFiles(files: readonly TextFile[]): Violation[] {
  const violations: Violation[] = [];
  for (const file of files) {
    const { path, text } = file;
    const report = (line: number, rule: string, message: string) =>
      violations.push({ file: path, line, rule, message });
    const reportAll = (pattern: RegExp, rule: string, message: string) => {
      for (const match of text.matchAll(pattern)) report(lineAt(text, match.index), rule, message);
    };
    if (CODE_FOLDERS.test(path)) {
      const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
      if (lines > FILE_LINES_MAX && !WRITTEN_FILES.has(path)) {
        report(FILE_LINES_MAX + 1, 'length', `has ${lines} lines; past ${FILE_LINES_MAX} it is two nouns`);
      }
      if (CODE_FILE.test(path)) checkName(path, (message) => report(1, 'name', message));
    }
    if (path === 'package-lock.json') {
      reportAll(
        /"resolved"\s*:/g,
        'lock',
        'names where a package was fetched; install with omit-lockfile-registry-resolved',
      );
    } else reportAll(NOTE, 'note', 'leaves a note to self; do it, or write down why not in a sentence');
    reportAll(REGISTRY_HOST, 'registry', 'names the host of a package registry');
    if (posix.basename(path) === '.npmrc') reportAll(REGISTRY_SETTING, 'registry', 'sets a package registry');
    reportAll(MACHINE_PATH, 'machine-path', 'names a path of one machine');
  }
  return violations;
}

function checkName(path: string, report: (message: string) => void): void {
  const base = posix.basename(path);
  const noun = base.split('.')[0]!;
  if (NAMELESS.test(noun)) report(`${base} names no noun; find the noun, or make it two files`);
  else if (!NAME.test(base)) report(`${base} is not in kebab-case`);
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}
