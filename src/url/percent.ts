/**
 * Percent-escapes over byte strings.
 *
 * A byte string is a JavaScript string whose every character is one byte (0x00 to 0xff). SURT rules are rules about
 * bytes. Byte strings keep the speed of string search, and bytes that are not UTF-8 survive.
 *
 * Every function here is linear in its input and never throws.
 */

const SCRATCH_BYTES = 8192;
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

const HEX_VALUE = new Int8Array(256).fill(-1);
for (let digit = 0; digit < 16; digit++) {
  HEX_VALUE[digit.toString(16).charCodeAt(0)] = digit;
  HEX_VALUE[digit.toString(16).toUpperCase().charCodeAt(0)] = digit;
}

const PERCENT = 0x25;

/** The UTF-8 bytes of a text as a byte string; a lone surrogate becomes U+FFFD. */
export function toByteString(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

export function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}

/**
 * Undoes percent-escapes until none is left: `%2525` becomes `%`.
 *
 * Repeated whole passes cost the square of the length on `%252525...`. Escapes cannot overlap (`%` is no hexadecimal
 * digit), so every order of undoing them ends in the same text; this function undoes each escape when its last digit is
 * written, in a single pass.
 */
export function unescapeRepeatedly(bytes: string): string {
  if (!bytes.includes('%')) return bytes;
  const buffer = bytes.length <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafe(bytes.length);
  const length = buffer.write(bytes, 'latin1');
  let end = 0;
  for (let at = 0; at < length; at++) {
    let byte = buffer[at]!;
    while (end >= 2 && buffer[end - 2] === PERCENT && HEX_VALUE[byte]! >= 0 && HEX_VALUE[buffer[end - 1]!]! >= 0) {
      byte = HEX_VALUE[buffer[end - 1]!]! * 16 + HEX_VALUE[byte]!;
      end -= 2;
    }
    buffer[end++] = byte;
  }
  return buffer.toString('latin1', 0, end);
}

const ESCAPES = Array.from({ length: 256 }, (_, byte) => `%${byte.toString(16).padStart(2, '0')}`);
const NEEDS_ESCAPE = /[\x00-\x20#%\x7f-\xff]/;
const NEEDS_ESCAPE_ALL = /[\x00-\x20#%\x7f-\xff]/g;

/**
 * Escapes all characters but printable ASCII without `#` and `%`, and converts the text to lower case: the alphabet of
 * keys.
 */
export function escapeLower(bytes: string): string {
  const escaped = NEEDS_ESCAPE.test(bytes)
    ? bytes.replace(NEEDS_ESCAPE_ALL, (byte) => ESCAPES[byte.charCodeAt(0)]!)
    : bytes;
  return escaped.toLowerCase();
}

const FORM_SAFE = /[^A-Za-z0-9_.~-]/g;

/** Escapes as HTML forms do, `+` for a space, over the bytes of a byte string. */
export function escapeForm(bytes: string): string {
  return bytes.replace(FORM_SAFE, (byte) => (byte === ' ' ? '+' : ESCAPES[byte.charCodeAt(0)]!.toUpperCase()));
}

/**
 * Undoes form escapes once: `+` is a space. The bytes are then read as UTF-8, with U+FFFD for invalid ones.
 */
export function unescapeForm(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  const buffer = Buffer.from(spaced, 'utf8');
  let end = 0;
  for (let at = 0; at < buffer.length; at++) {
    const byte = buffer[at]!;
    const high = byte === PERCENT && at + 2 < buffer.length ? HEX_VALUE[buffer[at + 1]!]! : -1;
    const low = high >= 0 ? HEX_VALUE[buffer[at + 2]!]! : -1;
    if (low >= 0) at += 2;
    buffer[end++] = low >= 0 ? high * 16 + low : byte;
  }
  return buffer.toString('utf8', 0, end);
}
