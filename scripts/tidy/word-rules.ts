/**
 * Rules about words in the code. Only the command line may print, exit, and read the clock and random numbers. The
 * other rooms get these as parameters, so that a run can be repeated. Default exports are forbidden. Unit tests are
 * exempt, because they are callers.
 */
import { importsOf } from './import.ts';
import { isBrowserCode, isTest, PRINTING_ROOM, roomOf } from './room-map.ts';
import type { TextFile } from './tree.ts';
import type { Violation } from './violation.ts';

type Ban = { readonly pattern: RegExp; readonly rule: string; readonly message: string };

const HAND_IN_CLOCK = 'the present is handed in as a Clock';
const HAND_IN_RANDOM = 'randomness is handed in as a Random or IdSource';
const PRINTING = 'only src/cli prints';

const BANS: readonly Ban[] = [
  { pattern: /(?<![\w$.])(?:globalThis\s*\.\s*)?console\s*[.[,;)]/g, rule: 'console', message: PRINTING },
  { pattern: /\bprocess\s*\.\s*std(?:out|err)\b/g, rule: 'process-output', message: PRINTING },
  { pattern: /\bprocess\s*\.\s*(?:exit|exitCode|abort)\b/g, rule: 'process-exit', message: 'only src/cli exits' },
  { pattern: /(?<![\w$.])Date\s*\.\s*now\b/g, rule: 'clock', message: HAND_IN_CLOCK },
  { pattern: /(?<![\w$.])Date\s*\(\s*\)/g, rule: 'clock', message: HAND_IN_CLOCK },
  { pattern: /(?<![\w$.])new\s+Date\b(?!\s*\()/g, rule: 'clock', message: HAND_IN_CLOCK },
  { pattern: /\bperformance\s*\.\s*(?:now|timeOrigin)\b/g, rule: 'clock', message: HAND_IN_CLOCK },
  { pattern: /\bprocess\s*\.\s*(?:hrtime|uptime)\b/g, rule: 'clock', message: HAND_IN_CLOCK },
  { pattern: /(?<![\w$.])Math\s*\.\s*random\b/g, rule: 'random', message: HAND_IN_RANDOM },
  {
    pattern: /(?<![\w$])(?:randomUUID|randomBytes|randomInt|randomFill(?:Sync)?|getRandomValues)\b/g,
    rule: 'random',
    message: HAND_IN_RANDOM,
  },
];

/** Modules that offer the same functions. */
const BANNED_MODULES: Readonly<Record<string, string>> = {
  'node:console': PRINTING,
  'node:process': 'the process belongs to src/cli',
};

const DEFAULT_EXPORT = /(?<![\w$.])export\s+default\b|(?<![\w$.])export\s*\{[^}]*\bas\s+default\b[^}]*\}/g;

export function checkWords(files: readonly TextFile[]): Violation[] {
  const violations: Violation[] = [];
  for (const { path, source } of files) {
    if (!source) continue;
    const report = (offset: number, rule: string, message: string) =>
      violations.push({ file: path, line: source.lineAt(offset), rule, message });
    if (/^(?:src|scripts|test|bench|ui)\//.test(path) && !/\.config\.[cm]?[jt]s$/.test(path)) {
      for (const match of source.code.matchAll(DEFAULT_EXPORT))
        report(match.index, 'default-export', 'exports a default');
    }
    const room = roomOf(path);
    if (room === undefined || room === PRINTING_ROOM || isTest(path)) continue;
    for (const { pattern, rule, message } of BANS) {
      // Browser code may read the clock, because a page has no other one.
      if (rule === 'clock' && isBrowserCode(path)) continue;
      for (const match of source.code.matchAll(pattern)) {
        report(match.index, rule, `${match[0].replace(/\s+|[.[,;)]$/g, '')}: ${message}`);
      }
    }
    for (const { specifier, offset } of importsOf(source)) {
      if (specifier !== undefined && Object.hasOwn(BANNED_MODULES, specifier)) {
        report(offset, 'banned-module', `${specifier}: ${BANNED_MODULES[specifier]}`);
      }
    }
  }
  return violations;
}
