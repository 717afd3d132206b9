import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type DiffLine, type DiffRow, diffRows } from './diff-rows.ts';

function unfolded(rows: readonly DiffRow[]): Exclude<DiffRow, { kind: 'folded' }>[] {
  return rows.flatMap((row) => (row.kind === 'folded' ? unfolded(row.rows) : [row]));
}

function textOf(line: DiffLine): string {
  return line.parts.map(({ text }) => text).join('');
}

test('the rows contain both texts, line by line and in order', () => {
  const line = fc.constantFrom('a', 'b', 'a b', 'a c', '', '<p>x</p>', 'a longer line of words');
  const text = fc.array(line, { maxLength: 40 }).map((lines) => lines.join('\n'));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const { rows } = diffRows(before, after);
      const all = unfolded(rows);
      for (const [side, source] of [['before', before] as const, ['after', after] as const]) {
        const lines = all.flatMap((row) => (row[side] ? [row[side]] : []));
        const expected = source.endsWith('\n') || source === '' ? source.split('\n').slice(0, -1) : source.split('\n');
        assert.deepEqual(lines.map(textOf), expected);
        assert.deepEqual(
          lines.map(({ number }) => number),
          expected.map((_, index) => index + 1),
        );
      }
      for (const row of all) if (row.kind === 'same') assert.equal(textOf(row.before), textOf(row.after));
    }),
  );
});

test('only the changed words of a changed line are marked', () => {
  const { rows, changes } = diffRows('one\nthe quick brown fox\ntwo', 'one\nthe slow brown fox\ntwo');
  assert.equal(changes, 1);
  const changed = rows.find((row) => row.kind === 'changed');
  assert.ok(changed?.kind === 'changed');
  const marked = (line: DiffLine | undefined) =>
    line?.parts.filter(({ isChanged }) => isChanged).map(({ text }) => text);
  assert.deepEqual(marked(changed.before), ['quick']);
  assert.deepEqual(marked(changed.after), ['slow']);
});

test('long runs of equal lines are folded, except for three lines around each change', () => {
  const lines = Array.from({ length: 50 }, (_, index) => `line ${index}`);
  const after = lines.map((line, index) => (index === 25 ? 'another' : line));
  const { rows } = diffRows(lines.join('\n'), after.join('\n'));
  assert.deepEqual(
    rows.map((row) => (row.kind === 'folded' ? row.rows.length : row.kind)),
    [22, 'same', 'same', 'same', 'changed', 'same', 'same', 'same', 21],
  );
});

test('a page on one long line is split between its tags', () => {
  const items = Array.from({ length: 100 }, (_, index) => `<li>${index}</li>`);
  const before = items.join('');
  const { linesAdded, linesRemoved, changes } = diffRows(before, before.replace('<li>50</li>', '<li>fifty</li>'));
  assert.deepEqual({ linesAdded, linesRemoved, changes }, { linesAdded: 1, linesRemoved: 1, changes: 1 });
});

test('texts that differ too much are compared roughly, without losing a line', () => {
  const text = (seed: string) => Array.from({ length: 3000 }, (_, index) => `${seed} ${index}`).join('\n');
  const limits = { linesTimeoutMs: 0, wordsTimeoutMs: 0 };
  const { rows, isRough, linesAdded, linesRemoved } = diffRows(`head\n${text('a')}`, `head\n${text('b')}`, limits);
  assert.equal(isRough, true);
  assert.deepEqual([linesAdded, linesRemoved], [3000, 3000]);
  assert.equal(unfolded(rows)[0]?.kind, 'same');
});
