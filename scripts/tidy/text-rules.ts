/**
 * Rules about readable text: no comment is wider than the formatter's lines, and private words are used neither in
 * names nor in comments and messages.
 */
import { isTest } from './room-map.ts';
import type { TextFile } from './tree.ts';
import type { Violation } from './violation.ts';

/** The line width of biome.json. The formatter keeps it in code, but not in comments. */
export const LINE_LENGTH_MAX = 120;

/** The folders, with their subfolders, for which these rules are checked. */
const FOLDERS = /^(?:bench|scripts|src|test|types|ui)\//;
const CODE_FILE = /\.(?:[cm]?[jt]sx?|css|html)$/;

/** A comment, or a line in one. */
const COMMENT_LINE = /^\s*(?:\/?\*|\/\/)/;
/** A word, such as a URL, that cannot be broken over two lines. */
const UNBREAKABLE = /\S{61,}/;

/** The bracketed letters keep these patterns from matching themselves. */
const PRIVATE_WORDS: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  { pattern: /glimps[e]/gi, instead: 'file identity' },
  { pattern: /parce[l]/gi, instead: 'stream chunk' },
  { pattern: /\bat[\s*/]+han[d]\b/gi, instead: 'current, available' },
  { pattern: /\bwhoeve[r]\b/gi, instead: 'the caller, the client, the person who' },
];

export function checkTexts(files: readonly TextFile[]): Violation[] {
  return files
    .filter(({ path }) => CODE_FILE.test(path) && FOLDERS.test(path))
    .flatMap((file) => [...wideComments(file), ...privateWords(file)]);
}

function wideComments({ path, text }: TextFile): Violation[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.length <= LINE_LENGTH_MAX || !COMMENT_LINE.test(line) || UNBREAKABLE.test(line)) return [];
    const message = `a comment has ${line.length} columns; past ${LINE_LENGTH_MAX} it is two lines`;
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
