/**
 * Bytes: joining, comparing, searching, and the two text forms of digests.
 *
 * `Uint8Array` is the type at every border. Inside this file `Buffer` views are used where the platform is faster with
 * them. A view shares memory; only functions with "copy" in their name copy.
 */

export const CR = 0x0d;
export const LF = 0x0a;
export const SPACE = 0x20;
export const COLON = 0x3a;

export const EMPTY: Uint8Array<ArrayBuffer> = new Uint8Array(0);

/** The same memory as a Buffer. */
export function view(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let total = 0;
  for (const part of parts) total += part.length;
  const joined = new Uint8Array(total);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export function copyOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

export function compare(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

/** Offset of `needle` in `haystack` at or after `from`, or -1. */
export function indexOf(haystack: Uint8Array, needle: Uint8Array | number, from = 0): number {
  return view(haystack).indexOf(needle, from);
}

export function startsWith(bytes: Uint8Array, prefix: Uint8Array, at = 0): boolean {
  if (bytes.length - at < prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) if (bytes[at + i] !== prefix[i]) return false;
  return true;
}

export function ascii(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

export function utf8(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}

export function fromLatin1(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return view(bytes).toString('latin1', start, end);
}

export function fromUtf8(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return view(bytes).toString('utf8', start, end);
}

export function toHex(bytes: Uint8Array): string {
  return view(bytes).toString('hex');
}

/** The bytes of a hexadecimal text; undefined for any other text. */
export function fromHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(text)) return undefined;
  return Buffer.from(text, 'hex');
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

const PADDING = 0x3d;
const NO_VALUE = 255;
/** The value of each letter by its code, in either case. */
const BASE32_VALUES = new Uint8Array(128).fill(NO_VALUE);
for (let value = 0; value < BASE32.length; value++) {
  BASE32_VALUES[BASE32.charCodeAt(value)] = value;
  BASE32_VALUES[BASE32.toLowerCase().charCodeAt(value)] = value;
}

/** RFC 4648 base32, upper case, without padding. */
export function toBase32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += BASE32[(held >>> bits) & 31];
    }
    held &= (1 << bits) - 1;
  }
  if (bits > 0) text += BASE32[(held << (5 - bits)) & 31];
  return text;
}

/**
 * The bytes of a base32 text in any letter case, padded or not; undefined for any other text. A length that does not
 * encode whole bytes, and a last letter with bits beyond the last byte, are refused, so that each value has one
 * spelling except for case and padding.
 */
export function fromBase32(text: string): Uint8Array | undefined {
  let length = text.length;
  while (length > 0 && text.charCodeAt(length - 1) === PADDING) length--;
  if (length % 8 === 1 || length % 8 === 3 || length % 8 === 6) return undefined;
  const bytes = new Uint8Array(Math.floor((length * 5) / 8));
  let at = 0;
  let bits = 0;
  let held = 0;
  for (let index = 0; index < length; index++) {
    const value = BASE32_VALUES[text.charCodeAt(index)] ?? NO_VALUE;
    if (value === NO_VALUE) return undefined;
    held = (held << 5) | value;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (held >>> bits) & 255;
      held &= (1 << bits) - 1;
    }
  }
  return held === 0 ? bytes : undefined;
}
