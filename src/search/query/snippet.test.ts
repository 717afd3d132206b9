import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snippetOf } from './snippet.ts';

const filler = 'nothing of interest stands here. '.repeat(30);

test('the snippet is the piece with most of the words, and the words are marked', () => {
  const text = `${filler}An archive alone. ${filler}The Archive of the caf\u00e9 is a library. ${filler}`;
  const { text: piece, marks } = snippetOf(text, ['archive', 'CAFE', 'library']);
  assert.deepEqual(
    marks.map(([start, end]) => piece.slice(start, end)),
    ['Archive', 'caf\u00e9', 'library'],
  );
  assert.ok(piece.length < 260 && piece.startsWith('\u2026 ') && piece.endsWith(' \u2026'));
});

test('words in scripts without spaces are marked within longer runs', () => {
  const { text, marks } = snippetOf('国立国会図書館はインターネット資料を収集しています', ['図書館']);
  assert.deepEqual(
    marks.map(([start, end]) => text.slice(start, end)),
    ['図書館'],
  );
});

test('a marked word includes its soft hyphens', () => {
  const { text, marks } = snippetOf('Der Donau\u00addampfer f\u00e4hrt \u00ad.', ['Donaudampfer', 'f\u00e4hrt']);
  assert.deepEqual(
    marks.map(([start, end]) => text.slice(start, end)),
    ['Donau\u00addampfer', 'f\u00e4hrt'],
  );
});

test('without a match the snippet is the beginning of the text', () => {
  assert.deepEqual(snippetOf('short text', ['absent']), { text: 'short text', marks: [] });
  assert.deepEqual(snippetOf('', ['x']), { text: '', marks: [] });
});

test('overlapping marks are merged, and no surrogate pair is cut', () => {
  assert.deepEqual(snippetOf('国会図書館は日本の図書館です', ['図書', '図書館']).marks, [
    [2, 5],
    [9, 12],
  ]);
  assert.deepEqual(snippetOf('ああああ', ['ああ']).marks, [[0, 4]]);
  for (const before of ['', 'a', 'ab'])
    for (const word of ['図', 'nowhere']) {
      const text = `${before}${'\u{1f600}'.repeat(400)}図${'\u{1f600}'.repeat(400)}`;
      assert.ok(snippetOf(text, [word]).text.isWellFormed());
    }
});

test('a word near the end of a long text is found', () => {
  for (const word of ['zebra', '図書館']) {
    const filling = 'ordinary words '.repeat(60_000);
    const text = `${filling}${word} in the middle ${filling}`;
    const { text: shown, marks } = snippetOf(text, [word, 'lion']);
    assert.deepEqual(
      marks.map(([from, to]) => shown.slice(from, to)),
      [word],
    );
    assert.match(shown, /^\u2026 .* \u2026$/);
  }
});

test('words that begin with a searched prefix are marked', () => {
  const { text, marks } = snippetOf('The Archivist keeps Web Archives; the arch is another.', [
    'archiv*',
    'web archiv*',
  ]);
  assert.deepEqual(
    marks.map(([from, to]) => text.slice(from, to)),
    ['Archivist', 'Web', 'Archives'],
  );
});

test('words that the index normalizes are marked as they are in the text', () => {
  const filling = 'ordinary words '.repeat(40);
  for (const [word, written] of [
    ['แม่น้ำ', 'แม่น้ำ'],
    ['แม่น้ํา', 'แม่น้ำ'],
    ['ページ', 'ﾍﾟｰｼﾞ'],
    ['ﾍﾟｰｼﾞ', 'ページ'],
    ['도서관', '도서관'.normalize('NFD')],
  ] as const) {
    const { text, marks } = snippetOf(`${filling}${written} ${filling}`, [word]);
    assert.deepEqual(
      marks.map(([from, to]) => text.slice(from, to)),
      [written],
      word,
    );
  }
});

test('a word with an apostrophe is marked, whichever apostrophe is typed', () => {
  const written = [
    '\u043e\u0431\u02bc\u0454\u043a\u0442',
    '\u043e\u0431\u2019\u0454\u043a\u0442',
    "\u043e\u0431'\u0454\u043a\u0442",
  ];
  for (const word of written)
    for (const typed of written)
      assert.deepEqual(
        snippetOf(`x ${word} y`, [typed]).marks,
        [
          [2, 4],
          [5, 8],
        ],
        `${typed} in ${word}`,
      );
});

test('in a word of two scripts the part without spaces is marked even if the case of the other part differs', () => {
  assert.deepEqual(snippetOf('x HTML入門 y', ['html入門']).marks, [[6, 8]]);
  assert.deepEqual(snippetOf('x HTML入門 y', ['HTML入門']).marks, [[2, 8]]);
});
