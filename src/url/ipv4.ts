/**
 * IPv4 addresses in odd spellings: one integer, fewer than four parts, octal parts.
 *
 * The rules of the Internet Archive's keys apply, which are narrower than a browser's rules: a host of digits alone is
 * a decimal number modulo 2^32 even with leading zeros, octal counts only in dotted forms, and hexadecimal is an
 * ordinary name.
 */

const DECIMAL_FIRST = /^[1-9][0-9]*(?:\.[0-9]+){1,3}$/;
const OCTAL_FIRST = /^0[0-7]*(?:\.[0-7]+){1,3}$/;
const DIGITS = /^[0-9]+$/;

/** The longest text whose parts can all be in range, with a leading zero or two. A longer text is not an address. */
const DOTTED_LENGTH_MAX = 256;

/** The dotted form of a host that means an IPv4 address, or undefined. */
export function ipv4Of(host: string): string | undefined {
  const first = host.charCodeAt(0);
  if (!(first >= 0x30 && first <= 0x39)) return undefined;
  if (DIGITS.test(host)) return dotted(integerModulo32(host));
  if (host.length > DOTTED_LENGTH_MAX || !(DECIMAL_FIRST.test(host) || OCTAL_FIRST.test(host))) return undefined;
  return fromParts(host.split('.'));
}

function integerModulo32(digits: string): number {
  let value = 0;
  for (let at = 0; at < digits.length; at++) value = (value * 10 + digits.charCodeAt(at) - 0x30) % 2 ** 32;
  return value;
}

/** Reads parts as `inet_aton` does: a leading zero means octal, and the last part fills all remaining bytes. */
function fromParts(parts: string[]): string | undefined {
  let address = 0;
  for (const [index, part] of parts.entries()) {
    const isOctal = part.length > 1 && part.startsWith('0');
    if (isOctal && /[89]/.test(part)) return undefined;
    const value = Number.parseInt(part, isOctal ? 8 : 10);
    const isLast = index === parts.length - 1;
    const bytesLeft = isLast ? 4 - index : 1;
    if (value >= 256 ** bytesLeft) return undefined;
    address += value * 256 ** (isLast ? 0 : 3 - index);
  }
  return dotted(address);
}

function dotted(address: number): string {
  return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`;
}
