/**
 * The form in which text goes into the index, and words into its queries. Scripts that are written without blanks
 * (Chinese, Japanese, Korean, Thai...) are cut into overlapping pairs of characters, and the last character of a run
 * stands once more alone: so a run of any length is found inside of any longer one, as a phrase of pairs, and one
 * character as the beginning of a pair. Everything else is left to FTS5's own tokenizer.
 *
 * ```
 *   図書館 online      ->   図書 書館 館 online
 * ```
 * Trigrams, the other usual way, cannot find words of two characters, which most words of Chinese and Japanese are.
 */

const UNSEGMENTED_SCRIPTS = 'Han Hiragana Katakana Hangul Bopomofo Thai Lao Khmer Myanmar Tibetan'.split(' ');
const UNSEGMENTED_LETTER = `[${UNSEGMENTED_SCRIPTS.map((script) => `\\p{scx=${script}}`).join('')}]&&[\\p{L}\\p{N}\\p{M}]`;
/**
 * Runs of letters of scripts without blanks. Korean has blanks, but its words carry endings. Accents that such a script
 * shares with Latin belong to a run, but begin none. Bounded, because a pattern without a bound runs out of stack over
 * millions of letters; across a cut one pair is missing, and no writing has such runs.
 */
const UNSEGMENTED = new RegExp(`[[${UNSEGMENTED_LETTER}]--[\\u0000-\\u0dff]][${UNSEGMENTED_LETTER}]{0,65535}`, 'gv');
/** Has every one of these letters, or the first half of it. */
const MAY_BE_UNSEGMENTED =
  /[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u9fff\ua000-\uabff\uac00-\ud7ff\ud805\ud81b\ud82b\ud82c\ud834\ud840-\ud8ff\uf900-\ufaff\uff66-\uffdc]/;
const BEYOND_ASCII = /[^\x00-\x7f]/;

/**
 * Letters that are typed with others where a keyboard has them not, or by rule: the sharp s in capitals, and in
 * Switzerland, is ss. Latin accents are FTS5's to fold; these letters have none that could be taken off. In Arabic the
 * hamza on an alif and the dots of the last letter are left out as often as not, Persian and Urdu have letters of their
 * own for kaf, ya and ha, and apostrophes that are letters are typed as signs.
 */
const OTHERWISE: Readonly<Record<string, string>> = {
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
 * What readers leave out when they type: Greek accents, the points of Hebrew and Arabic, the dots of the Russian yo;
 * and what they type otherwise, as Georgian capitals, which FTS5 does not know.
 */
const LEFT_OUT =
  /[\u0386-\u03ce\u1f00-\u1fff]+|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]+|[\u0401\u0451]|[\u1c90-\u1cbf]+|[ßẞæÆœŒøØłŁđĐðÐþÞħĦŧŦıʼʻ\u0622\u0623\u0625\u0629\u0649\u0671\u06a9\u06c0-\u06c2\u06cc\u06d5]/g;
const HAS_LEFT_OUT =
  /[\u0386-\u03ce\u1f00-\u1fff\u0591-\u05c7\u0610-\u06ed\u0401\u0451\u1c90-\u1cbfßẞæÆœŒøØłŁđĐðÐþÞħĦŧŦıʼʻ]/;

/**
 * What nobody sees: soft hyphens, spaces and joiners without a width, directions of writing, variants of a letter's
 * form. To FTS5 most would be the end of a word.
 */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}+/gu;

export function withoutInvisible(text: string): string {
  return BEYOND_ASCII.test(text) ? text.replace(INVISIBLE, '') : text;
}

/**
 * Compatibility forms (full-width letters, ligatures) are put into their plain form, and signs that readers leave out
 * are left out.
 */
export function plainForm(text: string): string {
  // To SQLite a zero is the end of a text.
  const whole = text.includes('\0') ? text.replaceAll('\0', ' ') : text;
  if (!BEYOND_ASCII.test(whole)) return whole;
  const normal = whole.replace(INVISIBLE, '').normalize('NFKC');
  return HAS_LEFT_OUT.test(normal) ? normal.replace(LEFT_OUT, withoutSigns) : normal;
}

function withoutSigns(run: string): string {
  const otherwise = OTHERWISE[run.toLowerCase()];
  if (otherwise !== undefined) return otherwise;
  const first = run.charCodeAt(0);
  if (first === 0x0401 || first === 0x0451) return '\u0435';
  if (first >= 0x0591 && first < 0x1000) return '';
  if (first >= 0x1c90 && first <= 0x1cbf) return run.toLowerCase();
  const bare = run.normalize('NFD').replace(/[\u0300-\u036f]/g, '');
  return bare.replaceAll('\u03c2', '\u03c3');
}

/** Text as it goes into the index. */
export function indexForm(text: string): string {
  const plain = plainForm(text);
  if (!MAY_BE_UNSEGMENTED.test(plain)) return plain;
  return plain.replace(UNSEGMENTED, (run) => ` ${pairs(run, true).join(' ')} `);
}

/**
 * FTS5 holds all words of a document in memory, some hundred bytes for each that is new and few for each that comes
 * again: worst are pairs of letters, of which so many characters that are new make some 130 MB.
 */
export const NEW_LENGTH_MAX = 1 * 1024 * 1024;
/**
 * SQLite takes several times as much while it takes a document in. Four million letters in pairs; some signs stand for
 * whole words.
 */
export const FORM_LENGTH_MAX = 12 * 1024 * 1024;
const PIECE_LENGTH = 8 * 1024;
const BETWEEN_WORDS = /[\s\p{P}]/u;

/** A text of any length as it goes into the index, as far as there is room. */
export function bodyForm(text: string): { readonly form: string; readonly isWhole: boolean } {
  // A shorter one cannot have too many words.
  const words = text.length > NEW_LENGTH_MAX / 4 ? new NewWords() : undefined;
  let [form, at] = ['', 0];
  while (at < text.length && form.length < FORM_LENGTH_MAX && (words?.length ?? 0) < NEW_LENGTH_MAX) {
    const end = pieceEnd(text, at);
    const piece = indexForm(text.slice(at, end));
    words?.add(piece);
    form += piece;
    at = end;
  }
  return { form, isWhole: at >= text.length };
}

const SEEN_BITS = 25;

/** How many characters of a text are in words that stand nowhere before; a few in a hundred are missed. */
class NewWords {
  readonly #seen = new Uint8Array(2 ** (SEEN_BITS - 3));
  length = 0;

  /** What has no blank in it counts as one word: no part of it makes less room than its length. */
  add(form: string): void {
    let [hash, start] = [0, 0];
    for (let at = 0; at <= form.length; at++) {
      // Behind the end there is a blank.
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

/** Behind the last sign between words where there is one, so that no pair is missing, else behind a whole character. */
function pieceEnd(text: string, at: number): number {
  const end = at + PIECE_LENGTH;
  if (end >= text.length) return text.length;
  for (let to = end; to > at; to--) if (BETWEEN_WORDS.test(text[to - 1]!)) return to;
  return text.codePointAt(end - 1)! > 0xffff ? end + 1 : end;
}

/**
 * A word or phrase as an FTS5 string with everything in it one phrase; undefined when it has no letter or digit.
 * `isPrefix` asks for words that begin so.
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

/** Overlapping pairs of a run; with the last character alone behind them. */
function pairs(run: string, withLast: boolean): string[] {
  const characters = [...run];
  const found: string[] = [];
  for (let at = 0; at + 1 < characters.length; at++) found.push(characters[at]! + characters[at + 1]!);
  if (withLast) found.push(characters.at(-1)!);
  return found;
}

/** The parts of a text that are written without blanks, in plain form. */
export function unsegmentedRuns(text: string): string[] {
  const plain = plainForm(text);
  return MAY_BE_UNSEGMENTED.test(plain) ? (plain.match(UNSEGMENTED) ?? []) : [];
}

/** A word without case and accents, for finding it again in a text. */
export function foldedForm(word: string): string {
  return BEYOND_ASCII.test(word)
    ? plainForm(word)
        .normalize('NFD')
        .replace(/[\u0300-\u036f]/g, '')
        .toLowerCase()
        // Of a capital at the end of a word the small form is another than inside of it.
        .replaceAll('\u03c2', '\u03c3')
    : word.toLowerCase();
}
