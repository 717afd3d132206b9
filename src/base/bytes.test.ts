import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  ascii,
  compare,
  concat,
  copyOf,
  equal,
  fromBase32,
  fromHex,
  fromLatin1,
  fromUtf8,
  indexOf,
  startsWith,
  toBase32,
  toHex,
  utf8,
  view,
} from './bytes.ts';

const anyBytes = fc.uint8Array({ maxLength: 80 });

test('base32 gives the texts of RFC 4648, without their padding', () => {
  const vectors = ['', 'MY', 'MZXQ', 'MZXW6', 'MZXW6YQ', 'MZXW6YTB', 'MZXW6YTBOI'];
  for (const [length, text] of vectors.entries()) {
    const bytes = ascii('foobar'.slice(0, length));
    assert.equal(toBase32(bytes), text);
    assert.deepEqual(fromBase32(text), new Uint8Array(bytes));
  }
});

test('base32 decodes to the encoded bytes, in any letter case, padded or not', () => {
  fc.assert(
    fc.property(anyBytes, fc.boolean(), fc.boolean(), (bytes, lower, padded) => {
      let text = toBase32(bytes);
      if (lower) text = text.toLowerCase();
      if (padded) text = text.padEnd(Math.ceil(text.length / 8) * 8, '=');
      const back = fromBase32(text);
      assert.ok(back && equal(back, bytes), text);
    }),
  );
});

test('each value has one unpadded upper-case base32 text', () => {
  const letters = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567');
  fc.assert(
    fc.property(fc.string({ unit: letters, maxLength: 24 }), (text) => {
      const bytes = fromBase32(text);
      if (bytes) assert.equal(toBase32(bytes), text);
    }),
  );
});

test('base32 refuses other letters, padding in the middle, impossible lengths, and bits beyond the last byte', () => {
  for (const text of ['M1', 'M0', 'M8', 'MY-Q', 'MY MY', 'MY\n', 'M=Y', '=MY', 'M', 'MZX', 'MZXW6Y', 'MZ']) {
    assert.equal(fromBase32(text), undefined, JSON.stringify(text));
  }
});

test('base32 refuses letters beyond ASCII whose upper case is ASCII', () => {
  for (const letter of ['\u0131', '\u017f', '\u00df', '\ufb00', '\ufb06']) {
    assert.equal(fromBase32(`A${letter}`), undefined);
    assert.equal(fromBase32(`AAAAAAA${letter}`), undefined);
  }
});

test('hexadecimal decodes to the encoded bytes, in any letter case', () => {
  fc.assert(
    fc.property(anyBytes, fc.boolean(), (bytes, upper) => {
      const text = upper ? toHex(bytes).toUpperCase() : toHex(bytes);
      const back = fromHex(text);
      assert.ok(back && equal(back, bytes), text);
    }),
  );
});

test('hexadecimal refuses odd lengths and other letters instead of cutting the text short', () => {
  for (const text of ['a', 'abc', 'ag', '0x', 'ab ', 'ab\n', 'ab=', '\uff11\uff12']) {
    assert.equal(fromHex(text), undefined, JSON.stringify(text));
  }
  assert.deepEqual(fromHex(''), Buffer.alloc(0));
});

test('joining keeps order and length', () => {
  fc.assert(
    fc.property(fc.array(anyBytes, { maxLength: 8 }), (parts) => {
      assert.deepEqual(
        [...concat(parts)],
        parts.flatMap((part) => [...part]),
      );
    }),
  );
});

test('a view shares memory and its bounds, a copy has memory of its own', () => {
  const whole = new Uint8Array([1, 2, 3, 4, 5]);
  const window = whole.subarray(1, 4);
  const seen = view(window);
  const kept = copyOf(window);
  whole[2] = 9;
  assert.deepEqual([...seen], [2, 9, 4]);
  assert.deepEqual([...kept], [2, 3, 4]);
  assert.equal(view(seen), seen);
});

test('bytes are compared as unsigned numbers, a prefix first', () => {
  assert.ok(compare(new Uint8Array([0x7f]), new Uint8Array([0x80])) < 0);
  assert.ok(compare(new Uint8Array([1]), new Uint8Array([1, 0])) < 0);
  fc.assert(
    fc.property(anyBytes, anyBytes, (a, b) => {
      assert.equal(compare(a, b) === 0, equal(a, b));
      assert.equal(Math.sign(compare(a, b)) + Math.sign(compare(b, a)), 0);
    }),
  );
});

test('searching finds what a plain search of the same letters finds', () => {
  const few = fc.string({ unit: fc.constantFrom('a', 'b', '\r', '\n'), maxLength: 30 });
  fc.assert(
    fc.property(
      few,
      fc.string({ unit: fc.constantFrom('a', '\r', '\n'), minLength: 1, maxLength: 3 }),
      (text, part) => {
        assert.equal(indexOf(ascii(text), ascii(part)), text.indexOf(part));
        assert.equal(indexOf(ascii(text), ascii(part), 2), text.indexOf(part, 2));
        assert.equal(startsWith(ascii(text), ascii(part), 1), text.startsWith(part, 1));
      },
    ),
  );
  assert.equal(indexOf(ascii('a\r\nb'), 0x0a), 2);
});

test('a prefix longer than the remaining bytes does not match', () => {
  assert.equal(startsWith(ascii('WARC'), ascii('WARC/')), false);
  assert.equal(startsWith(ascii('WARC/'), ascii('WARC/'), 1), false);
  assert.equal(startsWith(ascii(''), ascii('')), true);
});

test('latin-1 text keeps every byte, and UTF-8 text every character', () => {
  const all = Uint8Array.from({ length: 256 }, (_, value) => value);
  assert.ok(equal(ascii(fromLatin1(all)), all));
  assert.equal(fromLatin1(all, 65, 68), 'ABC');
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), (text) => {
      assert.equal(fromUtf8(utf8(text)), text);
    }),
  );
});
