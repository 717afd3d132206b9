/**
 * The difference between two texts as rows to show: equal lines, changed lines with their changed words, and folded
 * runs of equal lines. The work is bounded: texts that differ too much are compared roughly, by the lines that they
 * have in common at their beginning and end. Does not use the browser.
 */
import { diffLines, diffWordsWithSpace } from 'diff';

export type DiffPart = { readonly text: string; readonly isChanged: boolean };

export type DiffLine = { readonly number: number; readonly parts: readonly DiffPart[] };

export type DiffRow =
  | { readonly kind: 'same'; readonly before: DiffLine; readonly after: DiffLine }
  | {
      readonly kind: 'changed';
      /** The number of the change that the row belongs to, counted from 0. */
      readonly change: number;
      readonly before: DiffLine | undefined;
      readonly after: DiffLine | undefined;
    }
  | { readonly kind: 'folded'; readonly rows: readonly DiffRow[] };

export type DiffResult = {
  readonly rows: readonly DiffRow[];
  readonly changes: number;
  readonly linesAdded: number;
  readonly linesRemoved: number;
  /** The texts differ too much for an exact comparison. */
  readonly isRough: boolean;
};

export type DiffLimits = { readonly linesTimeoutMs: number; readonly wordsTimeoutMs: number };

const LIMITS: DiffLimits = { linesTimeoutMs: 3000, wordsTimeoutMs: 1500 };
const CONTEXT_LINES = 3;
const FOLDED_LINES_MIN = 4;
const LONG_LINE = 400;
const WORD_LINE_MAX = 8000;
const WORD_TIMEOUT_MS = 100;

export function diffRows(before: string, after: string, limits: DiffLimits = LIMITS): DiffResult {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const exact = diffLines(old.join('\n'), fresh.join('\n'), { timeout: limits.linesTimeoutMs });
  const runs = exact
    ? exact.map(({ value, added, removed }) => ({ lines: runLines(value), added, removed }))
    : rough(old, fresh);
  return new RowBuilder(limits).build(runs, exact === undefined);
}

/** Splits a text into lines. Long lines are split between tags, because much HTML is written on one line. */
function linesOf(text: string): string[] {
  return text
    .replace(/\r\n?/g, '\n')
    .split('\n')
    .flatMap((line) => (line.length > LONG_LINE ? line.split(/(?<=>)(?=<)/) : [line]));
}

function runLines(value: string): string[] {
  const lines = value.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

type Run = { readonly lines: readonly string[]; readonly added: boolean; readonly removed: boolean };

function rough(old: readonly string[], fresh: readonly string[]): Run[] {
  const most = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < most && old[head] === fresh[head]) head++;
  let tail = 0;
  while (tail < most - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail++;
  return [
    { lines: old.slice(0, head), added: false, removed: false },
    { lines: old.slice(head, old.length - tail), added: false, removed: true },
    { lines: fresh.slice(head, fresh.length - tail), added: true, removed: false },
    { lines: old.slice(old.length - tail), added: false, removed: false },
  ];
}

class RowBuilder {
  readonly #rows: DiffRow[] = [];
  #oldNumber = 0;
  #freshNumber = 0;
  #changes = 0;
  #linesAdded = 0;
  #linesRemoved = 0;
  #wordsLeftMs: number;

  constructor(limits: DiffLimits) {
    this.#wordsLeftMs = limits.wordsTimeoutMs;
  }

  build(runs: readonly Run[], isRough: boolean): DiffResult {
    let removed: readonly string[] = [];
    for (const run of runs) {
      if (run.removed) removed = run.lines;
      else {
        if (run.added) this.#change(removed, run.lines);
        else {
          this.#change(removed, []);
          for (const line of run.lines) this.#same(line);
        }
        removed = [];
      }
    }
    this.#change(removed, []);
    return {
      rows: folded(this.#rows),
      changes: this.#changes,
      linesAdded: this.#linesAdded,
      linesRemoved: this.#linesRemoved,
      isRough,
    };
  }

  #same(text: string): void {
    const parts = [{ text, isChanged: false }];
    this.#rows.push({
      kind: 'same',
      before: { number: ++this.#oldNumber, parts },
      after: { number: ++this.#freshNumber, parts },
    });
  }

  #change(old: readonly string[], fresh: readonly string[]): void {
    if (old.length === 0 && fresh.length === 0) return;
    const change = this.#changes++;
    this.#linesRemoved += old.length;
    this.#linesAdded += fresh.length;
    for (let index = 0; index < Math.max(old.length, fresh.length); index++) {
      const [a, b] = [old[index], fresh[index]];
      const [before, after] = a !== undefined && b !== undefined ? this.#words(a, b) : [whole(a), whole(b)];
      this.#rows.push({
        kind: 'changed',
        change,
        before: before && { number: ++this.#oldNumber, parts: before },
        after: after && { number: ++this.#freshNumber, parts: after },
      });
    }
  }

  #words(a: string, b: string): [DiffPart[], DiffPart[]] {
    if (this.#wordsLeftMs <= 0 || a.length + b.length > WORD_LINE_MAX) return [whole(a)!, whole(b)!];
    const start = performance.now();
    const words = diffWordsWithSpace(a, b, { timeout: WORD_TIMEOUT_MS });
    this.#wordsLeftMs -= performance.now() - start;
    const kept = words?.filter(({ added, removed }) => !added && !removed);
    // Lines that have little in common are easier to read whole than word by word.
    const common = kept?.reduce((sum, { value }) => sum + value.trim().length, 0) ?? 0;
    if (!words || common < 0.2 * Math.min(a.length, b.length)) return [whole(a)!, whole(b)!];
    const side = (isGone: 'added' | 'removed', isMine: 'added' | 'removed') =>
      words.filter((word) => !word[isGone]).map((word) => ({ text: word.value, isChanged: word[isMine] }));
    return [side('added', 'removed'), side('removed', 'added')];
  }
}

function whole(text: string | undefined): DiffPart[] | undefined {
  return text === undefined ? undefined : [{ text, isChanged: true }];
}

/** Folds long runs of equal lines, except for some lines around every change. */
function folded(rows: readonly DiffRow[]): DiffRow[] {
  const result: DiffRow[] = [];
  let run: DiffRow[] = [];
  const settle = (isLast: boolean) => {
    const head = result.length === 0 ? 0 : CONTEXT_LINES;
    const tail = isLast ? 0 : CONTEXT_LINES;
    if (run.length < head + tail + FOLDED_LINES_MIN) result.push(...run);
    else {
      const end = run.length - tail;
      result.push(...run.slice(0, head), { kind: 'folded', rows: run.slice(head, end) }, ...run.slice(end));
    }
    run = [];
  };
  for (const row of rows) {
    if (row.kind === 'same') run.push(row);
    else {
      settle(false);
      result.push(row);
    }
  }
  settle(true);
  return result;
}
