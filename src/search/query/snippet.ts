/**
 * The piece of a text that best shows why the text was found, with the places of the found words. Words are compared by
 * their folded form; in scripts without spaces the characters themselves are compared.
 */
import { foldedForm, plainForm, unsegmentedRuns } from '../token-form.ts';

export type Snippet = {
  readonly text: string;
  /** The start and end of each found word, in order. */
  readonly marks: readonly (readonly [number, number])[];
};

const LENGTH = 240;
/** A text is searched in chunks of this length, up to the first chunk with a match. */
const CHUNK_LENGTH = 400_000;
/** Chunks overlap by this length, so that no word is cut. */
const OVERLAP_LENGTH = 200;
const HITS_MAX = 2000;
/** A word with its invisible characters, but without apostrophes, some of which are letters in Unicode. */
const WORD = /[[\p{L}\p{N}\p{M}]--[ʼʻ]][[\p{L}\p{N}\p{M}\p{Default_Ignorable_Code_Point}]--[ʼʻ]]*/gv;
/** A letter with everything that joins it: marks, half-width Japanese marks, and later parts of a Korean syllable. */
const UNIT = /\P{M}[\p{M}\p{Default_Ignorable_Code_Point}\u1160-\u11ff\uff9e\uff9f]*/gu;

type Hit = { readonly start: number; readonly end: number; readonly word: number };

/** A star at the end of a phrase makes its last word a prefix. */
export function snippetOf(text: string, phrases: readonly string[], length: number = LENGTH): Snippet {
  const hits = firstHits(text, phrases);
  const best = bestWindow(hits, length);
  const from = best === undefined ? 0 : wordStart(text, Math.max(0, best.start - Math.floor(length / 4)));
  const to = wordEnd(text, Math.min(text.length, from + length));
  const lead = from > 0 ? '\u2026 ' : '';
  const body = text.slice(from, to).replaceAll('\n', ' ');
  const marks = joined(hits.filter(({ start, end }) => start >= from && end <= to)).map(
    ({ start, end }) => [start - from + lead.length, end - from + lead.length] as const,
  );
  return { text: `${lead}${body}${to < text.length ? ' \u2026' : ''}`, marks };
}

/** The places in order. Overlapping ones are merged, because words of scripts without spaces can overlap. */
function joined(hits: readonly Hit[]): { start: number; end: number }[] {
  const places: { start: number; end: number }[] = [];
  for (const { start, end } of hits) {
    const last = places.at(-1);
    if (last && start < last.end) last.end = Math.max(last.end, end);
    else places.push({ start, end });
  }
  return places;
}

/** The places of the words, in order, in the first chunk of the text that has any of them. */
function firstHits(text: string, phrases: readonly string[]): Hit[] {
  const wanted = searchedWords(phrases);
  if (wanted.words.size + wanted.prefixes.length + wanted.runs.length === 0) return [];
  for (let from = 0; from < text.length; from += CHUNK_LENGTH) {
    const hits = hitsIn(text.slice(from, from + CHUNK_LENGTH + OVERLAP_LENGTH), wanted);
    if (hits.length > 0) return hits.map(({ start, end, word }) => ({ start: start + from, end: end + from, word }));
  }
  return [];
}

/** Words and prefixes by their folded form, and runs of scripts without spaces. Each has a number. */
type Wanted = {
  readonly words: ReadonlyMap<string, number>;
  readonly prefixes: readonly { readonly text: string; readonly word: number }[];
  readonly runs: readonly { readonly text: string; readonly word: number }[];
};

function searchedWords(phrases: readonly string[]): Wanted {
  const words = new Map<string, number>();
  const prefixes: { text: string; word: number }[] = [];
  const runs: { text: string; word: number }[] = [];
  for (const phrase of phrases) {
    for (const { 0: word, index } of phrase.matchAll(WORD)) {
      const number = words.size + prefixes.length + runs.length;
      const parts = unsegmentedRuns(word);
      // In a word of two scripts the other letters may have another case or other accents on the page.
      if (parts.length > 0) for (const text of new Set([plainForm(word), ...parts])) runs.push({ text, word: number });
      else if (phrase[index + word.length] === '*') prefixes.push({ text: foldedForm(word), word: number });
      else if (!words.has(foldedForm(word))) words.set(foldedForm(word), number);
    }
  }
  return { words, prefixes, runs };
}

function hitsIn(text: string, { words, prefixes, runs }: Wanted): Hit[] {
  const hits: Hit[] = [];
  const plain = runs.length === 0 ? text : plainForm(text);
  let letters: PlainLetters | undefined;
  for (const run of runs) {
    const isOnlyPlain = plain !== text && !text.includes(run.text) && plain.includes(run.text);
    if (isOnlyPlain) letters ??= plainLetters(text);
    for (const { start, end } of isOnlyPlain ? plainPlaces(letters!, run.text) : places(text, run.text)) {
      if (hits.length >= HITS_MAX) break;
      hits.push({ start, end, word: run.word });
    }
  }
  if (containsAny(text, [...words.keys(), ...prefixes.map((prefix) => prefix.text)])) {
    for (const match of text.matchAll(WORD)) {
      const folded = foldedForm(match[0]);
      const number = words.get(folded) ?? prefixes.find((prefix) => folded.startsWith(prefix.text))?.word;
      if (number === undefined) continue;
      hits.push({ start: match.index, end: match.index + match[0].length, word: number });
      if (hits.length >= HITS_MAX) break;
    }
  }
  return hits.sort((a, b) => a.start - b.start);
}

/** True if the text contains one of the words anywhere, also within another word. Faster than finding the places. */
function containsAny(text: string, words: readonly string[]): boolean {
  if (words.length === 0) return false;
  const folded = foldedForm(text);
  return words.some((word) => folded.includes(word));
}

type Span = { readonly start: number; readonly end: number };

function* places(text: string, run: string): Generator<Span> {
  for (let at = text.indexOf(run); at >= 0; at = text.indexOf(run, at + 1)) yield { start: at, end: at + run.length };
}

/** A text in the form of the index, without invisible characters, with the offset of each code unit in the text. */
type PlainLetters = { readonly plain: string; readonly origins: readonly number[] };

function plainLetters(text: string): PlainLetters {
  let plain = '';
  const origins: number[] = [];
  for (const { 0: unit, index } of text.matchAll(UNIT)) {
    const form = plainForm(unit);
    for (let at = 0; at < form.length; at++) origins.push(index);
    plain += form;
  }
  origins.push(text.length);
  return { plain, origins };
}

function* plainPlaces({ plain, origins }: PlainLetters, run: string): Generator<Span> {
  for (const { start, end } of places(plain, run)) {
    let next = end;
    while (origins[next] === origins[end - 1]) next++;
    yield { start: origins[start]!, end: origins[next]! };
  }
}

/** The window with the most different words; among equal windows the one with the most words, then the first. */
function bestWindow(hits: readonly Hit[], length: number): Hit | undefined {
  const counts = new Map<number, number>();
  let best: { hit: Hit; different: number; all: number } | undefined;
  let end = 0;
  for (const [start, hit] of hits.entries()) {
    while (end < hits.length && hits[end]!.end - hit.start <= (length * 3) / 4) {
      counts.set(hits[end]!.word, (counts.get(hits[end]!.word) ?? 0) + 1);
      end++;
    }
    const all = end - start;
    if (!best || counts.size > best.different || (counts.size === best.different && all > best.all)) {
      best = { hit, different: counts.size, all };
    }
    const left = (counts.get(hit.word) ?? 1) - 1;
    if (left === 0) counts.delete(hit.word);
    else counts.set(hit.word, left);
  }
  return best?.hit;
}

function wordStart(text: string, at: number): number {
  if (at === 0) return 0;
  const blank = text.slice(at, at + 40).search(/\s/);
  return blank < 0 ? outsidePair(text, at) : at + blank + 1;
}

function wordEnd(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const blank = /\s\S*$/.exec(text.slice(Math.max(0, at - 40), at));
  return blank ? at - blank[0].length : outsidePair(text, at);
}

/** Moves an offset that is inside a surrogate pair to its start. */
function outsidePair(text: string, at: number): number {
  return text.codePointAt(at - 1)! > 0xffff ? at - 1 : at;
}
