/**
 * The form of text in the index, and of words in its queries. Runs of scripts that are written without spaces (Chinese,
 * Japanese, Korean, Thai...) are cut into overlapping pairs of characters, followed by the last character alone. So a
 * run of any length is found within a longer run, as a phrase of pairs; and a single character is found as the
 * beginning of a pair. All other text is left to the tokenizer of FTS5.
 *
 * ```
 *   図書館 online      ->   図書 書館 館 online
 * ```
 * Trigrams, the other common method, cannot find words of two characters. Most Chinese and Japanese words have two.
 */

const UNSEGMENTED_SCRIPTS = 'Han Hiragana Katakana Hangul Bopomofo Thai Lao Khmer Myanmar Tibetan'.split(' ');
const UNSEGMENTED_LETTER = `[${UNSEGMENTED_SCRIPTS.map((script) => `\\p{scx=${script}}`).join('')}]&&[\\p{L}\\p{N}\\p{M}]`;
/**
 * Runs of letters of scripts without spaces. Korean has spaces, but its words carry endings. An accent that such a
 * script shares with Latin can be inside a run, but not at its start. The length is bounded, because an unbounded
 * pattern runs out of stack on millions of letters. Where a longer run is cut, one pair is missing; real text has no
 * runs of that length.
 */
const UNSEGMENTED = new RegExp(`[[${UNSEGMENTED_LETTER}]--[\\u0000-\\u0dff]][${UNSEGMENTED_LETTER}]{0,65535}`, 'gv');
/** Contains every letter of these scripts, or the first half of its surrogate pair. */
const MAY_BE_UNSEGMENTED =
  /[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u9fff\ua000-\uabff\uac00-\ud7ff\ud805\ud81b\ud82b\ud82c\ud834\ud840-\ud8ff\uf900-\ufaff\uff66-\uffdc]/;
const BEYOND_ASCII = /[^\x00-\x7f]/;

/**
 * Letters that people also type as other letters: because their keyboard does not have them, or by rule. ß is ss in
 * capitals, and in Switzerland. FTS5 folds Latin accents; these letters have no accent to remove. In Arabic, writers
 * often omit the hamza on an alif and the dots of the last letter. Persian and Urdu have their own letters for kaf, ya
 * and ha. Apostrophes that are letters are typed as punctuation.
 */
const REPLACEMENTS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ŧ: 't',
  ı: 'i',
  ʼ: "'",
  ʻ: "'",
  '\u0622': '\u0627',
  '\u0623': '\u0627',
  '\u0625': '\u0627',
  '\u0671': '\u0627',
  '\u0649': '\u064a',
  '\u06cc': '\u064a',
  '\u0629': '\u0647',
  '\u06c0': '\u0647',
  '\u06c1': '\u0647',
  '\u06c2': '\u0647',
  '\u06d5': '\u0647',
  '\u06a9': '\u0643',
};

/**
 * Characters that readers omit when they type: Greek accents, the points of Hebrew and Arabic, the dots of the Russian
 * yo. Also the letters of REPLACEMENTS, and Georgian capitals, whose case FTS5 cannot fold.
 */
const FOLDED =
  /[\u0386-\u03ce\u1f00-\u1fff]+|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]+|[\u0401\u0451]|[\u1c90-\u1cbf]+|[ßẞæÆœŒøØłŁđĐðÐþÞħĦŧŦıʼʻ\u0622\u0623\u0625\u0629\u0649\u0671\u06a9\u06c0-\u06c2\u06cc\u06d5]/g;
const HAS_FOLDED =
  /[\u0386-\u03ce\u1f00-\u1fff\u0591-\u05c7\u0610-\u06ed\u0401\u0451\u1c90-\u1cbfßẞæÆœŒøØłŁđĐðÐþÞħĦŧŦıʼʻ]/;

/**
 * Invisible characters: soft hyphens, zero-width spaces and joiners, direction marks, variation selectors. FTS5 would
 * end a word at most of them.
 */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}+/gu;

export function withoutInvisible(text: string): string {
  return BEYOND_ASCII.test(text) ? text.replace(INVISIBLE, '') : text;
}

/** Replaces compatibility forms (full-width letters, ligatures) by plain letters, and folds what readers omit. */
export function plainForm(text: string): string {
  // SQLite ends a text at a zero.
  const whole = text.includes('\0') ? text.replaceAll('\0', ' ') : text;
  if (!BEYOND_ASCII.test(whole)) return whole;
  const normal = whole.replace(INVISIBLE, '').normalize('NFKC');
  return HAS_FOLDED.test(normal) ? normal.replace(FOLDED, folded) : normal;
}

function folded(run: string): string {
  const replacement = REPLACEMENTS[run.toLowerCase()];
  if (replacement !== undefined) return replacement;
  const first = run.charCodeAt(0);
  if (first === 0x0401 || first === 0x0451) return '\u0435';
  if (first >= 0x0591 && first < 0x1000) return '';
  if (first >= 0x1c90 && first <= 0x1cbf) return run.toLowerCase();
  const bare = run.normalize('NFD').replace(/[\u0300-\u036f]/g, '');
  return bare.replaceAll('\u03c2', '\u03c3');
}

/** The form of a text in the index. */
export function indexForm(text: string): string {
  const plain = plainForm(text);
  if (!MAY_BE_UNSEGMENTED.test(plain)) return plain;
  return plain.replace(UNSEGMENTED, (run) => ` ${pairs(run, true).join(' ')} `);
}

/**
 * FTS5 holds all words of a document in memory: about a hundred bytes for each distinct word, and few for each
 * repetition. Pairs of letters are the worst case; this many characters of distinct pairs take about 130 MB.
 */
export const DISTINCT_LENGTH_MAX = 1 * 1024 * 1024;
/**
 * While SQLite indexes a document it uses several times this memory. The bound is four million letters in pairs. The
 * form can be longer than the text, because NFKC turns some characters into whole words.
 */
export const FORM_LENGTH_MAX = 12 * 1024 * 1024;
const CHUNK_LENGTH = 8 * 1024;
const BETWEEN_WORDS = /[\s\p{P}]/u;

/** The form of a text of any length in the index. A text beyond the limits is cut; then `isWhole` is false. */
export function bodyForm(text: string): { readonly form: string; readonly isWhole: boolean } {
  // The words of a shorter text cannot exceed DISTINCT_LENGTH_MAX.
  const words = text.length > DISTINCT_LENGTH_MAX / 4 ? new DistinctWords() : undefined;
  let [form, at] = ['', 0];
  while (at < text.length && form.length < FORM_LENGTH_MAX && (words?.length ?? 0) < DISTINCT_LENGTH_MAX) {
    const end = chunkEnd(text, at);
    const chunk = indexForm(text.slice(at, end));
    words?.add(chunk);
    form += chunk;
    at = end;
  }
  return { form, isWhole: at >= text.length };
}

const SEEN_BITS = 25;

/**
 * Counts the characters of a text in words that occur for the first time. It misses a few percent of these characters.
 */
class DistinctWords {
  readonly #seen = new Uint8Array(2 ** (SEEN_BITS - 3));
  length = 0;

  /** Text without spaces counts as one word, which is an upper bound. */
  add(form: string): void {
    let [hash, start] = [0, 0];
    for (let at = 0; at <= form.length; at++) {
      // A space after the end ends the last word.
      const code = at < form.length ? form.charCodeAt(at) : 0x20;
      if (code > 0x20) {
        hash = Math.imul(hash ^ code, 0x9e3779b1);
        hash ^= hash >>> 15;
        continue;
      }
      const [slot, bit] = [hash >>> (35 - SEEN_BITS), 1 << (hash & 7)];
      if ((this.#seen[slot]! & bit) === 0) this.length += at - start + 1;
      this.#seen[slot]! |= bit;
      [hash, start] = [0, at + 1];
    }
  }
}

/**
 * The end of a chunk: after the last space or punctuation, so that no pair is missing, else after a whole character.
 */
function chunkEnd(text: string, at: number): number {
  const end = at + CHUNK_LENGTH;
  if (end >= text.length) return text.length;
  for (let to = end; to > at; to--) if (BETWEEN_WORDS.test(text[to - 1]!)) return to;
  return text.codePointAt(end - 1)! > 0xffff ? end + 1 : end;
}

/**
 * A word or phrase of a query as one FTS5 phrase. Undefined if it has no letter or digit. With `isPrefix` it matches
 * words that begin with it.
 */
export function matchForm(text: string, isPrefix = false): string | undefined {
  const plain = plainForm(text);
  if (!/[\p{L}\p{N}]/u.test(plain)) return undefined;
  let endsInSingle = false;
  const formed = plain.replace(UNSEGMENTED, (run: string, at: number) => {
    const isLast = !/[\p{L}\p{N}]/u.test(plain.slice(at + run.length));
    const characters = [...run];
    endsInSingle = isLast && characters.length === 1;
    return ` ${pairs(run, !isLast || characters.length === 1).join(' ')} `;
  });
  return `"${formed.trim().replaceAll('"', '""')}"${isPrefix || endsInSingle ? '*' : ''}`;
}

/** The overlapping pairs of a run, and after them its last character alone if `withLast`. */
function pairs(run: string, withLast: boolean): string[] {
  const characters = [...run];
  const found: string[] = [];
  for (let at = 0; at + 1 < characters.length; at++) found.push(characters[at]! + characters[at + 1]!);
  if (withLast) found.push(characters.at(-1)!);
  return found;
}

/** The parts of a text that are written without spaces, in plain form. */
export function unsegmentedRuns(text: string): string[] {
  const plain = plainForm(text);
  return MAY_BE_UNSEGMENTED.test(plain) ? (plain.match(UNSEGMENTED) ?? []) : [];
}

/** A word without case and accents, to find it in a text. */
export function foldedForm(word: string): string {
  return BEYOND_ASCII.test(word)
    ? plainForm(word)
        .normalize('NFD')
        .replace(/[\u0300-\u036f]/g, '')
        .toLowerCase()
        // The lower case of a capital sigma depends on its place in the word.
        .replaceAll('\u03c2', '\u03c3')
    : word.toLowerCase();
}
