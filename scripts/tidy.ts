/**
 * The house rules as a program. It prints each violation as `file:line rule message` and exits with 1; without a
 * violation it prints nothing and exits with 0.
 *
 *     node scripts/tidy.ts [ROOT]
 */
import { resolve } from 'node:path';
import { checkFiles } from './tidy/file-rules.ts';
import { checkArchitecture } from './tidy/map-rules.ts';
import { checkRooms } from './tidy/room-rules.ts';
import { checkSubRooms } from './tidy/sub-room-rules.ts';
import { checkTexts } from './tidy/text-rules.ts';
import { readTree } from './tidy/tree.ts';
import { compareViolations, formatViolation, type Violation } from './tidy/violation.ts';
import { checkWords } from './tidy/word-rules.ts';

export function tidy(root: string): Violation[] {
  const files = readTree(root);
  return [checkRooms, checkSubRooms, checkWords, checkTexts, checkFiles, checkArchitecture]
    .flatMap((check) => check(files))
    .sort(compareViolations);
}

if (import.meta.main) {
  const violations = tidy(resolve(process.argv[2] ?? resolve(import.meta.dirname, '..')));
  for (const violation of violations) console.log(formatViolation(violation));
  process.exitCode = violations.length > 0 ? 1 : 0;
}
