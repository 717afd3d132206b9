import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../base/index.ts';
import { bodyForm, DISTINCT_LENGTH_MAX, FORM_LENGTH_MAX, foldedForm, indexForm, matchForm } from './token-form.ts';

test('scripts without spaces become overlapping pairs, followed by the last character', () => {
  assert.equal(indexForm('図書館 online').trim().replace(/ +/g, ' '), '図書 書館 館 online');
  assert.equal(indexForm('iPhone手机,ok').replace(/ +/g, ' '), 'iPhone 手机 机 ,ok');
  assert.equal(indexForm('plain ASCII, untouched'), 'plain ASCII, untouched');
  assert.equal(indexForm('ひ').trim(), 'ひ');
});

test('a run of millions of letters without a space is cut into pairs like a short one', () => {
  for (const letter of ['図', '\u{20000}', 'ก'])
    assert.ok(indexForm(letter.repeat(4 * 1024 * 1024)).includes(` ${letter}${letter} `));
});

test('a long text has the same form in chunks as in one piece', () => {
  const line = `${'An old book, 国会図書館. '.repeat(40)}\n`;
  const text = line.repeat(300);
  assert.deepEqual(bodyForm(text), { form: indexForm(text), isWhole: true });
  const paragraph = '国会図書館は東京にある。An old book; '.repeat(10_000);
  assert.equal(bodyForm(paragraph).form, indexForm(paragraph), 'a text without line ends');
  const astral = `a${'\u{20000}'.repeat(200_000)}`;
  assert.ok(!/[\ud800-\udbff](?![\udc00-\udfff])/.test(bodyForm(astral).form));
});

test('a long text of a script without spaces is indexed completely if its words repeat', () => {
  const text = '国会図書館は東京にある。図書館の本は古い。'.repeat(190_000);
  assert.equal(bodyForm(text).isWhole, true);
});

test('a text whose form would be too long is cut, and reported as not whole', () => {
  const random = seededRandom(5);
  const letters = Array.from({ length: 4_000_000 }, () => String.fromCharCode(0x4e00 + Math.floor(random() * 20_000)));
  const ever = bodyForm(letters.join(''));
  assert.equal(ever.isWhole, false);
  assert.ok(ever.form.length >= DISTINCT_LENGTH_MAX && ever.form.length < 1.2 * DISTINCT_LENGTH_MAX);
  for (const sign of ['ﷺ', '㌖']) {
    const { form, isWhole } = bodyForm(sign.repeat(8_000_000));
    assert.equal(isWhole, false);
    assert.ok(form.length >= FORM_LENGTH_MAX && form.length < 1.2 * FORM_LENGTH_MAX, sign);
  }
});

test('words of a query have the form of the index; a single character is a prefix of a pair', () => {
  assert.equal(matchForm('図書館'), '"図書 書館"');
  assert.equal(matchForm('館'), '"館"*');
  assert.equal(matchForm('図書館 online')?.replace(/ +/g, ' '), '"図書 書館 館 online"');
  assert.equal(matchForm('say "hi"'), '"say ""hi"""');
  assert.equal(matchForm('arch', true), '"arch"*');
  assert.equal(matchForm('?!'), undefined);
});

test('compatibility forms, and marks that readers omit, are folded', () => {
  assert.equal(indexForm('\uff21\uff22\uff23'), 'ABC');
  assert.equal(indexForm('βιβλιοθήκη'), 'βιβλιοθηκη');
  assert.equal(indexForm('שָׁלוֹם'), 'שלום');
  assert.equal(foldedForm('Élève'), 'eleve');
});

test('letters that cannot be split into a base letter and an accent are found by the letters that people type for them', () => {
  assert.equal(indexForm('Straße'), indexForm('Strasse'));
  assert.equal(foldedForm('STRAẞE'), foldedForm('strasse'));
  for (const [word, typed] of [
    ['Łódź', 'lodz'],
    ['Đà Nẵng', 'da nang'],
    ['Øresund', 'oresund'],
    ['Æsir', 'aesir'],
    ['œuvre', 'oeuvre'],
    ['Þingvellir', 'thingvellir'],
    ['Iğdır', 'igdir'],
  ] as const)
    assert.equal(foldedForm(word), typed);
});

test('Arabic words are found without hamza and last dots, and with letters of Persian and Urdu keyboards', () => {
  for (const [written, typed] of [
    ['\u0627\u0644\u0623\u0631\u0634\u064a\u0641', '\u0627\u0644\u0627\u0631\u0634\u064a\u0641'],
    [
      '\u0627\u0644\u0625\u0633\u0643\u0646\u062f\u0631\u064a\u0629',
      '\u0627\u0644\u0627\u0633\u0643\u0646\u062f\u0631\u064a\u0647',
    ],
    ['\u0622\u062b\u0627\u0631', '\u0627\u062b\u0627\u0631'],
    ['\u0645\u0633\u062a\u0634\u0641\u0649', '\u0645\u0633\u062a\u0634\u0641\u064a'],
    ['\u06a9\u062a\u0627\u0628\u06cc', '\u0643\u062a\u0627\u0628\u064a'],
  ] as const)
    assert.equal(indexForm(written), indexForm(typed));
});

test('all apostrophes are punctuation, and a final sigma is a sigma', () => {
  assert.equal(matchForm('\u043e\u0431\u02bc\u0454\u043a\u0442'), `"\u043e\u0431'\u0454\u043a\u0442"`);
  assert.equal(
    foldedForm('\u0395\u039b\u039b\u0386\u0394\u039f\u03a3'),
    foldedForm('\u03b5\u03bb\u03bb\u03ac\u03b4\u03bf\u03c2'),
  );
});

test('a word with soft hyphens is one word, in texts and in queries', () => {
  assert.equal(indexForm('Donau\u00addampf\u00adschiff fährt'), 'Donaudampfschiff fährt');
  assert.equal(matchForm('Donau\u00addampf\u00adschiff'), '"Donaudampfschiff"');
  assert.equal(matchForm('\u00ad'), undefined);
  assert.equal(foldedForm('Donau\u00adDampf'), 'donaudampf');
});

test('every letter and mark has the same form in queries and in the index, whatever else is on the page', () => {
  const spaced = (text: string | undefined) => text?.replaceAll('"', '').replace(/\s+/g, ' ');
  for (let code = 0; code < 0x110000; code++) {
    const letter = String.fromCodePoint(code);
    if (!/[\p{L}\p{N}\p{M}]/u.test(letter)) continue;
    const word = `a${letter}b`;
    assert.equal(spaced(matchForm(word)), spaced(indexForm(word)), `U+${code.toString(16)}`);
    assert.equal(spaced(indexForm(`${word} \u56f3`)), `${spaced(indexForm(word))} \u56f3 `, `U+${code.toString(16)}`);
  }
});

test('an accent that Thai shares with Latin belongs to the Thai run or the Latin word around it', () => {
  assert.equal(matchForm('\u0e23\u0e27\u0331'), '"\u0e23\u0e27 \u0e27\u0331"');
  assert.equal(matchForm('ag\u0303uara'), '"ag\u0303uara"');
});

test('a combining character joins the letter before it across invisible characters', () => {
  for (const [written, typed] of [
    ['\u3072\u034f\u3099', '\u3073'],
    ['\u1112\u200b\u1161', '\ud558'],
  ] as const)
    assert.equal(indexForm(written), indexForm(typed));
});

test('a Hebrew maqaf separates words, and Georgian capitals are folded to lower case', () => {
  assert.equal(
    indexForm('\u05d1\u05b5\u05d9\u05ea\u05be\u05e1\u05e4\u05e8'),
    '\u05d1\u05d9\u05ea\u05be\u05e1\u05e4\u05e8',
  );
  assert.equal(indexForm('\u1c97\u1c91'), '\u10d7\u10d1');
});
