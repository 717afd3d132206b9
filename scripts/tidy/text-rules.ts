/**
 * Rules about readable text: no line is longer than the width of the formatter, and private words are used neither in
 * names nor in comments and messages.
 */
import { isTest } from './room-map.ts';
import type { TextFile } from './tree.ts';
import type { Violation } from './violation.ts';

/** The line width of biome.json, which the formatter keeps in code but not in comments and strings. */
export const LINE_LENGTH_MAX = 120;

/** The folders, with their subfolders, for which these rules are checked so far. */
export const PLAIN_FOLDERS: readonly string[] = [
  // One per line, in order.
  'scripts',
  'src/archive/revisit',
  'src/client',
  'src/replay/choose',
  'src/replay/in-page',
  'types',
  'ui/style',
];

const CODE_FILE = /\.(?:[cm]?[jt]sx?|css|html)$/;

/** A literal that cannot be broken over two lines. */
const UNBREAKABLE = /['"`/]\S{61,}/;

/** The bracketed letters keep these patterns from matching themselves. */
const PRIVATE_WORDS: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  { pattern: /glimps[e]/gi, instead: 'file identity' },
  { pattern: /parce[l]/gi, instead: 'stream chunk' },
  { pattern: /\bat[\s*/]+han[d]\b/gi, instead: 'current, available' },
  { pattern: /\bwhoeve[r]\b/gi, instead: 'the caller, the client, the person who' },
];

export function checkTexts(files: readonly TextFile[], folders: readonly string[] = PLAIN_FOLDERS): Violation[] {
  return files
    .filter(({ path }) => CODE_FILE.test(path) && folders.some((folder) => path.startsWith(`${folder}/`)))
    .flatMap((file) => [...longLines(file), ...privateWords(file)]);
}

function longLines({ path, text }: TextFile): Violation[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.length <= LINE_LENGTH_MAX || UNBREAKABLE.test(line)) return [];
    const message = `has ${line.length} columns; past ${LINE_LENGTH_MAX} it is two lines`;
    return [{ file: path, line: index + 1, rule: 'line', message }];
  });
}

/** Tests may use any word as data. */
function privateWords({ path, text }: TextFile): Violation[] {
  if (!/^(?:src|ui)\//.test(path) || isTest(path)) return [];
  return PRIVATE_WORDS.flatMap(({ pattern, instead }) =>
    [...text.matchAll(pattern)].map((match) => ({
      file: path,
      line: text.slice(0, match.index).split('\n').length,
      rule: 'word',
      message: `'${match[0].replace(/[\s*/]+/g, ' ')}' is a private word; write: ${instead}`,
    })),
  );
}
