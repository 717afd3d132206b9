import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { escapeLower, toByteString, unescapeForm, unescapeRepeatedly } from './percent.ts';

/** The rule as specified: complete passes until nothing changes. */
function unescapeInPasses(bytes: string): string {
  for (;;) {
    const next = bytes.replace(/%([0-9a-fA-F]{2})/g, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
    if (next === bytes) return bytes;
    bytes = next;
  }
}

test('escapes are undone until none is left', () => {
  assert.equal(unescapeRepeatedly('%25%32%35'), '%');
  assert.equal(unescapeRepeatedly('%!A%21%21%25'), '%!A!!%');
  assert.equal(unescapeRepeatedly('%4%31'), 'A');
  assert.equal(unescapeRepeatedly('%zz%4'), '%zz%4');
});

test('one pass over escapes gives the same text as repeated passes', () => {
  const escapes = fc.array(fc.constantFrom('%', '2', '5', '%25', '4', '1', '%31', '%e9', 'z', '\xff'), {
    maxLength: 20,
  });
  fc.assert(
    fc.property(escapes, (pieces) => {
      assert.equal(unescapeRepeatedly(pieces.join('')), unescapeInPasses(pieces.join('')));
    }),
    { numRuns: 5000 },
  );
});

test('texts longer than the scratch space are unescaped like short texts', () => {
  assert.equal(unescapeRepeatedly('%41'.repeat(10_000)), 'A'.repeat(10_000));
});

test('everything is escaped except printable ASCII without # and %', () => {
  assert.equal(escapeLower('A b#%\x00\x7f\xe9"<>\\'), 'a%20b%23%25%00%7f%e9"<>\\');
});

test('text becomes its UTF-8 bytes, and a lone surrogate becomes the bytes of U+FFFD', () => {
  assert.equal(toByteString('\u00e9'), '\xc3\xa9');
  assert.equal(toByteString('\ud800'), '\xef\xbf\xbd');
});

test('form escapes are undone once, and invalid UTF-8 becomes U+FFFD', () => {
  assert.equal(unescapeForm('a+b%20c%2525%C3%A9%E9%'), 'a b c%25\u00e9\ufffd%');
});
